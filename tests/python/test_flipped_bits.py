"""A bit of what is read flips between the store and the reader: what is read is right, or refused by name.

S3 tells no checksum of a part of an object. So these tests read whole objects, and formats with checksums of
their own: archives, records, manifests.
"""

import os
import pathlib
import random

import fault_support
import kill_support
import pytest
import tfrecords

import headrace as hr
from headrace import errors

LARGE_BYTES = 20_000_000
RECORDS = 400


def flipping(path: str, **options):
    """A proxy that flips a bit of each answer to who reads what has `path` in its name."""
    return fault_support.proxy_of_the_server(**{"rate": 1, "kinds": ["flipped_bit"], "path": path, **options})


def expect_refusal(done, account, name: str) -> None:
    assert account.faults > 0
    assert done.returncode == 1, account.log
    assert name.encode() in done.stdout + done.stderr


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> pathlib.Path:
    return kill_support.write_archive(
        tmp_path_factory.mktemp("raw") / "raw.tar.gz", kill_support.reviews(300)
    )


@pytest.fixture
def large(headrace, s3_url, tmp_path) -> tuple[str, bytes]:
    """An object that is read in ranges, and its content."""
    (tmp_path / "original").write_bytes(os.urandom(LARGE_BYTES))
    headrace("cp", tmp_path / "original", f"{s3_url}/large")
    return f"{s3_url}/large", (tmp_path / "original").read_bytes()


def test_a_damaged_copy_does_not_appear(headrace, large, tmp_path):
    url, _ = large
    done, account = fault_support.run_through(flipping("/large"), headrace, "cp", url, tmp_path / "copy")
    expect_refusal(done, account, url)
    assert not (tmp_path / "copy").exists()
    done, account = fault_support.run_through(flipping("/large"), headrace, "cat", url)
    expect_refusal(done, account, url)


@pytest.mark.parametrize("size", [5_000, 3_000_000])
def test_a_whole_object_read_from_python_is_got_right(s3_url, size):
    data = random.Random(size).randbytes(size)
    hr.store(s3_url).write("object", data)
    with flipping("/object", most=1) as proxy:
        assert hr.store(s3_url, endpoint_url=proxy.url).read("object") == data
    assert proxy.account.faults == 1


@pytest.mark.parametrize("size", [5_000, 3_000_000, 20_000_000])
def test_a_whole_object_that_stays_damaged_is_refused_in_python(s3_url, size):
    hr.store(s3_url).write("object", random.Random(size).randbytes(size))
    with flipping("/object") as proxy, pytest.raises(errors.DataLossError, match="object.*CRC32C"):
        hr.store(s3_url, endpoint_url=proxy.url).read("object")
    assert proxy.account.faults > 0


@pytest.mark.parametrize("command", ["cp", "cat"])
def test_one_flipped_bit_is_got_over_or_reported(headrace, large, tmp_path, command):
    url, content = large
    flipped = 0
    for number in range(4):  # of the request that is damaged: one may not be a read
        copy = tmp_path / f"copy-{number}"
        once = flipping("/large", most=1, spare=number, seed=number)
        target = [copy] if command == "cp" else []
        done, account = fault_support.run_through(once, headrace, command, url, *target)
        flipped += account.faults
        if done.returncode == 0:
            assert (copy.read_bytes() if target else done.stdout) == content
        else:
            expect_refusal(done, account, url)
            assert not copy.exists()
    assert flipped >= 2


def test_verify_names_each_object_that_comes_damaged(headrace, archive, s3_url):
    data = f"{s3_url}/data"
    headrace("prepare", archive, data, "--encoder", "hash:64", "--shard-records", "100", "--track", s3_url)
    objects = kill_support.s3_objects(data)
    unpublished = ("_headrace/work/", "_headrace/runs/", "_headrace/manifest-00000001")
    published = [name for name in objects if not name.startswith(unpublished)]
    assert len(published) > 8
    for name in published:
        done, account = fault_support.run_through(flipping(f"/data/{name}"), headrace, "verify", data)
        expect_refusal(done, account, f"{data}/{name}")


def test_an_archive_that_comes_damaged_is_not_prepared_wrongly(headrace, archive, s3_url):
    raw = f"{s3_url}/raw.tar.gz"
    headrace("cp", archive, raw)

    def prepare(output: str) -> list[str]:
        return ["prepare", raw, output, "--encoder", "hash:64", "--track", s3_url]

    headrace(*prepare(f"{s3_url}/undisturbed"))
    undisturbed = kill_support.s3_objects(f"{s3_url}/undisturbed")
    for seed in range(5):
        data = f"{s3_url}/{seed}"
        done, account = fault_support.run_through(
            flipping("/raw.tar.gz", seed=seed), headrace, *prepare(data)
        )
        if done.returncode == 0:  # of the header of gzip not each bit has a meaning
            kill_support.assert_same(kill_support.s3_objects(data), undisturbed)
        else:
            expect_refusal(done, account, raw)
            assert not any("manifest" in name for name in kill_support.s3_objects(data))


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("shuffle", [True, "exact"])
def test_the_loader_gives_no_damaged_record(headrace, s3_url, tmp_path, monkeypatch, compress, shuffle):
    shard = f"{s3_url}/data/part-00001.tfrecord"
    folder = tfrecords.write_numbered(tmp_path / "data", RECORDS, compress=compress)
    headrace("cp", "-r", folder, f"{s3_url}/data")
    refused = 0
    for seed in range(5):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache-{seed}"))  # of indexes
        with flipping("/part-00001", seed=seed, spare=seed) as proxy, monkeypatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
            try:
                assert all_records(f"{s3_url}/data", shuffle) == [b"record %d" % i for i in range(RECORDS)]
            except hr.errors.Error as error:
                assert shard in str(error)
                refused += 1
        assert proxy.account.faults > 0
    assert refused >= 3


def all_records(url: str, shuffle) -> list[bytes]:
    columns = {"number": hr.int64, "id": hr.bytes_}
    found = {}
    for batch in hr.open(url).loader(batch_size=50, seed=5, shuffle=shuffle, columns=columns):
        found |= dict(zip(batch["number"].tolist(), batch["id"].tolist(), strict=True))
    return [found[number] for number in sorted(found)]


def test_texts_that_come_back_damaged_are_not_prepared(headrace, s3_url, tmp_path):
    raw = kill_support.write_archive(tmp_path / "raw.tar.gz", kill_support.reviews(4_000))
    options = ["--encoder", "hash:64", "--memory", "1MiB", "--track", s3_url]
    headrace("prepare", raw, f"{s3_url}/undisturbed", *options)
    undisturbed = kill_support.s3_objects(f"{s3_url}/undisturbed")
    flipped = 0
    for seed in range(4):
        data = f"{s3_url}/{seed}"
        once = flipping("/_headrace/work/", most=1, seed=seed)
        done, account = fault_support.run_through(once, headrace, "prepare", raw, data, *options)
        flipped += account.faults
        if done.returncode == 0:
            kill_support.assert_same(kill_support.s3_objects(data), undisturbed)
        else:
            expect_refusal(done, account, f"{data}/_headrace/work/")
    assert flipped > 0
