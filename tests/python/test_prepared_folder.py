"""The layout of a published dataset's folder: a listing shows shards; all else lies below _headrace/."""

import json
import pathlib

import published_support
import pytest
from prepared_support import report
from test_cli import sealed

RECORDS = 300


@pytest.fixture(scope="module")
def data(headrace, tmp_path_factory) -> pathlib.Path:
    """A dataset with indexes, inputs and reports."""
    folder = tmp_path_factory.mktemp("prepared")
    lines = [f"{number},{'ab'[number % 2]},{number}\n" for number in range(RECORDS)]
    (folder / "table.csv").write_text("id,label,x\n" + "".join(lines) + "bad,a,1,2,3\n")
    options = ("--shard-records", "100", "--split", "train=0.8,test=0.2", "--max-rejects", "1")
    headrace("prepare", folder / "table.csv", folder / "data", *options, "--report", "all")
    return folder / "data"


def numbers(files: list[str]) -> list[int]:
    """The features of all records, as a script reads them that knows nothing of Headrace."""
    import tensorflow as tf

    out = []
    for record in tf.data.TFRecordDataset(files, compression_type="GZIP"):
        features = tf.train.Example.FromString(record.numpy()).features.feature
        out.append(features["x"].int64_list.value[0])
    return sorted(out)


def test_a_pattern_finds_records_and_nothing_else(data):
    import tensorflow as tf

    train, test = (tf.io.gfile.glob(f"{data}/{split}-*") for split in ("train", "test"))
    assert len(train) >= 2 and len(test) >= 1
    assert sorted(numbers(train) + numbers(test)) == list(range(RECORDS))
    assert sorted(tf.io.gfile.glob(f"{data}/*")) == sorted([*train, *test, f"{data}/_headrace"])
    assert len(report(data)) == RECORDS + 1


def test_a_listing_by_prefix_finds_records_and_nothing_else(headrace, data, s3_url, tmp_path):
    import boto3

    headrace("cp", "-r", data, f"{s3_url}/data")
    bucket, _, folder = s3_url.removeprefix("s3://").partition("/")
    client = boto3.client("s3")
    files = []
    for number, found in enumerate(
        client.list_objects_v2(Bucket=bucket, Prefix=f"{folder}/data/t")["Contents"]
    ):
        client.download_file(bucket, found["Key"], str(tmp_path / str(number)))
        files.append(str(tmp_path / str(number)))
    assert numbers(files) == list(range(RECORDS))


@pytest.fixture
def old(data, tmp_path) -> pathlib.Path:
    """The same as plan 4 laid it out: indexes, inputs and reports beside the shards."""
    folder = tmp_path / "data"
    (folder / "_headrace").mkdir(parents=True)
    plan = published_support.configuration(data)
    (folder / "_headrace/plan").write_text(json.dumps(plan, sort_keys=True, separators=(",", ":")) + "\n")
    manifest = json.loads(published_support.manifest(data).read_bytes())
    keys = {}
    for part in manifest["parts"]:
        name = part["key"].rpartition("/")[2]
        keys[part["key"]] = name if part["role"] in ("shard", "index") else f"{part['role']}-{name}"
        (folder / keys[part["key"]]).write_bytes((data / part["key"]).read_bytes())
    for part in manifest["parts"]:
        part["key"] = keys[part["key"]]
        if "index" in part:
            part["index"] = keys[part["index"]]
    del manifest["zz_crc32c"], manifest["entry"]
    (folder / "_headrace/manifest-00000001").write_bytes(sealed(manifest))
    assert len(list(folder.glob("*.index"))) >= 3 and len(list(folder.glob("inputs-*"))) == 1
    return folder


def test_data_sets_of_the_old_layout_are_read_verified_and_continued(headrace, data, old):
    headrace("verify", old)
    counts = [
        json.loads(headrace("inspect", folder, "--statistics", "--json").stdout)["counts"]
        for folder in (old, data)
    ]
    assert counts[0] == counts[1]
    table = data.parent / "table.csv"
    unchanged = json.loads(headrace("prepare", table, old, "--append", "--json").stdout)
    assert unchanged["manifest"] == 1, "its inputs name the table"
    retried = headrace("prepare", table, old, "--retry-failed", "--max-rejects", "1", "--json")
    assert json.loads(retried.stdout)["manifest"] == 1, "its reports name the row, which is still bad"


def test_overwriting_leaves_nothing_of_the_old_layout(headrace, data, old):
    plan = json.loads((old / "_headrace/manifest-00000001").read_bytes())["plan"]
    leftover = old / f"train-{plan[:8]}-00000-of-00099.tfrecord.gz.index"
    leftover.write_bytes(b"of a killed process")
    headrace("prepare", data.parent / "table.csv", old, "--overwrite", "--max-rejects", "1")
    assert {path.suffixes[-2] for path in old.iterdir() if path.is_file()} == {".tfrecord"}
