"""Tars in the way of WebDataset, read by the loader, beside what Python's tarfile reads from them."""

import io
import pathlib
import random
import re
import tarfile
from collections.abc import Iterable

import numpy as np
import pytest
import tfrecords

import headrace as hr

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
COLUMNS = {"__key__": hr.bytes_, "jpg": hr.bytes_, "cls": hr.int64, "seg.png": hr.bytes_}
SAMPLES = 200
SHARD_SAMPLES = 50


def write_tar(path: pathlib.Path, files: Iterable[tuple[str, bytes]], format: int = tarfile.PAX_FORMAT):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=format) as tar:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def sample_files(number: int, key: str = "{:06}") -> list[tuple[str, bytes]]:
    image = random.Random(number).randbytes(number * 37 % 3000)
    key = key.format(number)
    return [(f"{key}.jpg", image), (f"{key}.cls", b"%d\n" % number), (f"{key}.SEG.png", image[::-1])]


def read_with_tarfile(path: pathlib.Path) -> list[dict[str, bytes]]:
    """Groups files by the rule of webdataset's `base_plus_ext`."""
    samples = []
    with tarfile.open(path) as tar:
        for member in tar:
            match = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", member.name)
            if not member.isreg() or not match:
                continue
            key, field = match[1].encode(errors="surrogateescape"), match[2].lower()
            if not samples or samples[-1]["__key__"] != key:
                samples.append({"__key__": key})
            samples[-1][field] = tar.extractfile(member).read()
    return samples


def rows(loader: Iterable) -> list[dict[str, bytes]]:
    found = []
    for batch in loader:
        for row in range(len(batch["cls"])):
            sample = {name: batch[name][row] for name in COLUMNS if name in batch}
            found.append({**sample, "cls": b"%d\n" % sample["cls"]})
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("webdataset")
    for first in range(0, SAMPLES, SHARD_SAMPLES):
        numbers = range(first, first + SHARD_SAMPLES)
        write_tar(folder / f"train-{first:06}.tar", [file for n in numbers for file in sample_files(n)])
    return folder


@pytest.fixture(scope="module")
def expected(folder):
    return [sample for path in sorted(folder.glob("*.tar")) for sample in read_with_tarfile(path)]


# Names that fit a header, that need a field of their own, and that only pax and GNU can write.
KEYS = {
    "short": "{:06}",
    "folders": "v1.0/a b/{:06}",
    "long": "d" * 90 + "/" + "f" * 60 + "{:06}",
    "longer": "d" * 90 + "/" + "f" * 150 + "{:06}",
    "unicode": "größe/{:06}-é",
    "bytes": "\udcff{:06}",
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("key", KEYS)
def test_samples_are_what_tarfile_reads(tmp_path, format, key):
    if (format, key) == ("ustar", "longer"):
        return
    files = [file for number in range(30) for file in sample_files(number, KEYS[key])]
    path = write_tar(tmp_path / "a.tar", files, FORMATS[format])
    data = hr.open(path)
    assert len(data) == 30
    found = rows(data.loader(batch_size=7, shuffle=False, columns=COLUMNS))
    assert found == read_with_tarfile(path)
    assert found[5]["seg.png"] == found[5]["jpg"][::-1] != b""


def test_a_data_set_of_tars_tells_what_is_in_it(folder):
    data = hr.open(f"{folder}/*.tar")
    assert len(data) == SAMPLES
    assert [shard.records for shard in data.shards] == [SHARD_SAMPLES] * 4
    assert data.schema == COLUMNS
    batch = next(data.loader(batch_size=10, shuffle=False))
    assert set(batch) == set(COLUMNS)
    assert batch["cls"].tolist() == list(range(10))


@pytest.mark.parametrize("shuffle", [True, "exact"])
def test_every_order_gives_each_sample_once(folder, expected, shuffle):
    loader = hr.open(folder).loader(batch_size=40, seed=3, shuffle=shuffle, columns=COLUMNS)
    found = rows(loader)
    assert found != expected
    assert sorted(found, key=lambda sample: sample["__key__"]) == expected


def test_the_wanted_type_decides_what_a_file_is_read_as(tmp_path):
    files = [(f"{n}.{field}", b"%d" % n) for n in range(5) for field in ("id", "count", "txt")]
    data = hr.open(write_tar(tmp_path / "a.tar", files))
    columns = {"id": hr.bytes_, "count": hr.int64, "txt": hr.bytes_}
    batch = next(data.loader(batch_size=5, shuffle=False, columns=columns))
    assert batch["id"].tolist() == batch["txt"].tolist() == [b"%d" % n for n in range(5)]
    assert batch["count"].tolist() == list(range(5))
    assert data.schema["id"] == hr.int64
    bad = hr.open(write_tar(tmp_path / "b.tar", [*files, ("5.id", b"x"), ("5.count", b"five")]))
    with pytest.raises(hr.errors.InvalidArgumentError, match="record 5, .*count"):
        list(bad.loader(batch_size=5, columns={"count": hr.int64}))


def test_a_loader_of_tars_resumes_at_any_step_on_any_number_of_ranks(folder):
    data = hr.open(folder)
    options = {"batch_size": 16, "seed": 2, "epochs": 2, "columns": COLUMNS}
    loader = data.loader(**options)
    states, batches = [], []
    for batch in loader:
        states.append(loader.state())
        batches.append(batch["cls"].tolist())
    for step in (0, 11, 12, 20):
        ranks = [data.loader(state=states[step], rank=rank, world_size=3, **options) for rank in range(3)]
        parts = zip(*ranks, strict=True)
        assert [[n for part in parts for n in part["cls"]] for parts in parts] == batches[step + 1 :]


def test_where_finds_the_sample_in_its_tar(folder, expected):
    loader = hr.open(folder).loader(batch_size=20, seed=1, columns=COLUMNS)
    batch = next(loader)
    for place, key in zip(loader.where(0, look_up=True), batch["__key__"].tolist(), strict=True):
        assert place.id == key == expected[int(key)]["__key__"]
        tar = pathlib.Path(place.url.removeprefix("file://")).read_bytes()
        with tarfile.open(fileobj=io.BytesIO(tar[place.offset_bytes :])) as rest:
            assert rest.next().name == f"{key.decode()}.jpg"


def test_tars_and_tfrecord_files_mix(folder, tmp_path):
    examples = [{"cls": [1000 + n], "jpg": [b"%d" % n]} for n in range(100)]
    tfrecords.write(tmp_path / "a.tfrecord", examples)
    tars, records = hr.open(folder), hr.open(tmp_path)
    columns = {"cls": hr.int64, "jpg": hr.bytes_}
    batch = next(hr.mix({tars: 0.75, records: 0.25}, batch_size=40, seed=1, columns=columns))
    assert sum(number >= 1000 for number in batch["cls"].tolist()) == 10
    together = hr.open([folder, tmp_path])
    numbers = [number for batch in together.loader(batch_size=50, columns=columns) for number in batch["cls"]]
    assert sorted(numbers) == [*range(SAMPLES), *range(1000, 1100)]


@pytest.mark.usefixtures("journals")
def test_tars_in_s3_are_read_in_place(headrace, folder, expected, s3_url):
    headrace("cp", "-r", folder, s3_url)
    data = hr.open(f"{s3_url}/train-*.tar")
    assert rows(data.loader(batch_size=30, shuffle=False, columns=COLUMNS)) == expected
    exact = data.loader(batch_size=30, shuffle="exact", seed=4, columns=COLUMNS)
    local = hr.open(folder).loader(batch_size=30, shuffle="exact", seed=4, columns=COLUMNS)
    assert rows(exact) == rows(local)


def test_the_code_of_the_how_to_page_runs(folder, root):
    text = (root / "docs" / "how-to" / "from-webdataset.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    exec(code.replace("s3://datasets/images", str(folder)), names)
    assert (names["loader"].step, len(names["labels"])) == (2, SAMPLES - 128)


def test_inspect_shows_the_samples(headrace, folder):
    shown = headrace("inspect", f"{folder}/train-000000.tar").stdout
    assert "WebDataset tars" in shown
    assert re.search(r"cls: +int64", shown)
    assert '"__key__": "000000", "cls": 0' in shown
    assert "all right" in shown


# ---- what cannot be read


def test_a_cut_tar_is_an_error_or_read_up_to_the_cut(headrace, folder, expected, tmp_path):
    whole = (folder / "train-000000.tar").read_bytes()
    path = tmp_path / "a.tar"
    path.write_bytes(whole[: whole.index(b"000030.jpg") + 700])
    with pytest.raises(hr.errors.DataLossError, match=r"a\.tar: the tar is cut within 000030\.jpg"):
        hr.open(path)
    assert "the tar is cut" in headrace("inspect", path, check=False).stdout
    data = hr.open(path, on_corrupt="skip-record")
    assert len(data.remarks) == 1
    loader = data.loader(batch_size=len(data), shuffle=False, on_corrupt="skip-record", columns=COLUMNS)
    (batch,) = loader
    assert rows([batch]) == expected[:29], "sample 29 may have had more files"


def test_a_damaged_header_fails_or_leaves_holes(folder, tmp_path):
    content = bytearray((folder / "train-000000.tar").read_bytes())
    offset = content.index(b"000020.cls")
    content[offset + 2] ^= 1
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(hr.errors.DataLossError, match=f"a damaged tar header at byte {offset}"):
        hr.open(tmp_path / "a.tar")
    data = hr.open(tmp_path / "a.tar", on_corrupt="skip-record")
    options = {"batch_size": 50, "shuffle": False, "on_corrupt": "skip-record", "columns": COLUMNS}
    (batch,) = data.loader(**options)
    assert batch["cls"].tolist() == [number for number in range(50) if number != 20]
    (padded,) = data.loader(drop_remainder="pad", **options)
    assert np.flatnonzero(padded["weight"] == 0).tolist() == [20]


def test_a_tar_in_gzip_is_refused_with_advice(folder, tmp_path, headrace):
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder / "train-000000.tar", "x.jpg")
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"a\.tgz is a gzip-compressed tar.*gunzip"):
        hr.open(path)
    assert "gunzip" in headrace("inspect", path, check=False).stderr


def test_links_are_not_followed(tmp_path):
    path = write_tar(tmp_path / "a.tar", sample_files(0))
    with tarfile.open(path, "a") as tar:
        for name, kind in (("000000.txt", tarfile.SYMTYPE), ("000000.png", tarfile.LNKTYPE)):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = kind, "/etc/passwd"
            tar.addfile(link)
    data = hr.open(path)
    assert "2 links or special files" in data.remarks[0]
    assert set(data.schema) == set(COLUMNS)
