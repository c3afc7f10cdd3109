"""Objects that Headrace writes to S3 can be read by boto3, and the other way round."""

import hashlib
import random
import urllib.parse

import boto3
import botocore.exceptions
import pytest

PART_BYTES = 8 << 20  # of Headrace's uploads; boto3's own are as long
ODD_KEYS = ["a b+c%2F&=?#.bin", "grüße/日本語/ключ", "x/~tilde!*'();:@$,[]", "k" * 255 + "/leaf"]


def content(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@pytest.fixture
def folder(s3_url):
    """boto3's view of `s3_url`: (client, bucket, prefix that ends in '/')."""
    url = urllib.parse.urlsplit(s3_url)
    return boto3.client("s3"), url.netloc, url.path.lstrip("/") + "/"


def cat(headrace, url: str) -> bytes:
    return headrace("cat", url, text=False, encoding=None).stdout


@pytest.mark.parametrize("size", [0, 1, 70_000, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES + 7])
def test_boto3_reads_what_headrace_wrote(headrace, s3_url, folder, tmp_path, size):
    client, bucket, prefix = folder
    (tmp_path / "local").write_bytes(content(size))
    headrace("cp", tmp_path / "local", f"{s3_url}/object")
    answer = client.get_object(Bucket=bucket, Key=prefix + "object")
    assert answer["ContentLength"] == size
    assert hashlib.sha256(answer["Body"].read()).digest() == hashlib.sha256(content(size)).digest()
    head = client.head_object(Bucket=bucket, Key=prefix + "object", ChecksumMode="ENABLED")
    assert head["ChecksumCRC32C"], "the server keeps the checksum that came with the object"


@pytest.mark.parametrize("size", [0, 1, 70_000, 3 * PART_BYTES + 7])
def test_headrace_reads_what_boto3_wrote(headrace, s3_url, folder, tmp_path, size):
    client, bucket, prefix = folder
    (tmp_path / "local").write_bytes(content(size))
    client.upload_file(str(tmp_path / "local"), bucket, prefix + "object")
    assert cat(headrace, f"{s3_url}/object") == content(size)
    headrace("cp", f"{s3_url}/object", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == content(size)


def test_keys_mean_the_same_to_both(headrace, s3_url, folder, tmp_path):
    client, bucket, prefix = folder
    (tmp_path / "local").write_bytes(b"ours")
    for key in ODD_KEYS:
        headrace("cp", tmp_path / "local", f"{s3_url}/ours/{key}")
        client.put_object(Bucket=bucket, Key=f"{prefix}theirs/{key}", Body=key.encode())
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix + "ours/")
    listed = [entry["Key"].removeprefix(prefix + "ours/") for page in pages for entry in page["Contents"]]
    assert sorted(listed) == sorted(ODD_KEYS)
    for key in ODD_KEYS:
        assert cat(headrace, f"{s3_url}/theirs/{key}") == key.encode()


def test_a_name_that_one_has_taken_is_refused_to_the_other(headrace, s3_url, folder, tmp_path):
    client, bucket, prefix = folder
    (tmp_path / "local").write_bytes(b"ours")
    client.put_object(Bucket=bucket, Key=prefix + "theirs", Body=b"theirs", IfNoneMatch="*")
    refused = headrace("cp", "--no-replace", tmp_path / "local", f"{s3_url}/theirs", check=False)
    assert refused.returncode != 0
    assert f"{s3_url}/theirs" in refused.stderr
    headrace("cp", "--no-replace", tmp_path / "local", f"{s3_url}/ours")
    with pytest.raises(botocore.exceptions.ClientError, match="PreconditionFailed"):
        client.put_object(Bucket=bucket, Key=prefix + "ours", Body=b"theirs", IfNoneMatch="*")
    assert cat(headrace, f"{s3_url}/theirs") == b"theirs"
    assert cat(headrace, f"{s3_url}/ours") == b"ours"


def test_removing_a_folder_removes_what_boto3_sees_there(headrace, s3_url, folder):
    client, bucket, prefix = folder
    for key in ["gone/a", "gone/b/c", "gone-not/d"]:
        client.put_object(Bucket=bucket, Key=prefix + key, Body=b"x")
    headrace("rm", "-r", "--yes", f"{s3_url}/gone")
    left = client.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]
    assert [entry["Key"] for entry in left] == [prefix + "gone-not/d"]


def test_wrong_credentials_end_in_words_that_help(headrace, s3_url):
    refused = headrace("ls", s3_url, env={"AWS_SECRET_ACCESS_KEY": "canary-wrong-secret"}, check=False)
    assert refused.returncode != 0
    assert "AWS_SECRET_ACCESS_KEY" in refused.stderr
    assert "canary" not in refused.stderr + refused.stdout


def counters(text: str) -> dict[str, int]:
    """By name, of Prometheus' text without labels."""
    samples = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name.removeprefix("headrace_store_"): int(value) for name, value in samples}


def test_a_command_tells_what_it_asked_of_stores(headrace, s3_url, tmp_path):
    (tmp_path / "local").write_bytes(content(3 * PART_BYTES))
    asked = tmp_path / "asked"
    headrace("cp", tmp_path / "local", f"{s3_url}/object", "--metrics", asked)
    told = counters(asked.read_text())
    assert told["requests_total"] >= 5, "three parts between a beginning and an end"
    assert told["moved_bytes_total"] >= 3 * PART_BYTES
    assert told["faults_total"] == 0
    done = headrace("cat", f"{s3_url}/none", "--metrics", f"{s3_url}/asked", check=False)
    assert done.returncode == 1
    assert counters(cat(headrace, f"{s3_url}/asked").decode())["requests_total"] > 0
