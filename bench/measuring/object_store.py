"""A real MinIO for the programs of bench/ that measure stores, and helpers that use boto3."""

import concurrent.futures
import contextlib
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator
from unittest import mock

from . import ROOT, WORK, cores, peers

BUCKET = "headrace-bench"
_EXPIRES_S = 6 * 3600
_THREADS = 8
_IN_THE_PROJECT = ("headrace", "boto3", "boto3, readinto")  # others are in the peers' environment


@contextlib.contextmanager
def minio(tls: bool = False) -> Iterator[None]:
    """Inside the block, the environment names the server and its keys, for this process and its children."""
    script = ROOT / "tools" / "servers" / "minio.sh"
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK, prefix="minio-") as folder:
        command = [script, "start", folder, "--bucket", BUCKET, *(["--tls"] if tls else [])]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        try:
            exported = subprocess.run(
                ["bash", "-c", f"{lines}\nenv -0"], check=True, capture_output=True, text=True
            )
            pairs = (line.split("=", 1) for line in exported.stdout.split("\0") if line)
            with mock.patch.dict(os.environ, dict(pairs), clear=True):
                yield
        finally:
            subprocess.run([script, "stop", folder], check=True)


def client():
    """A boto3 client, with signatures that every server accepts."""
    import boto3
    from botocore.config import Config

    style = {"addressing_style": "path"}
    # A new session, because the default one would keep the keys of the first server.
    return boto3.session.Session().client(
        "s3", config=Config(signature_version="s3v4", s3=style, max_pool_connections=_THREADS)
    )


def host() -> str:
    """host:port of the server."""
    return os.environ["AWS_ENDPOINT_URL_S3"].split("://", 1)[1]


def library(what: str, name: str, key: str, *more: int) -> dict | str:
    """The measurement of bench/peers/move_objects.py for one library, or why it failed."""
    run = peers.run_project if name in _IN_THE_PROJECT else peers.run_own
    return run("move_objects", what, name, BUCKET, key, *more, on=cores())


def readable_target(key: str) -> str:
    """The target of a presigned request to read the object, also in ranges."""
    parameters = {"Bucket": BUCKET, "Key": key}
    url = client().generate_presigned_url("get_object", Params=parameters, ExpiresIn=_EXPIRES_S)
    return url.removeprefix(os.environ["AWS_ENDPOINT_URL_S3"])


def part_targets(key: str, parts: int, uploads: int, file: pathlib.Path) -> None:
    """Writes one target per line, for each part of the given number of new uploads."""
    s3 = client()
    with file.open("w") as out:
        for number in range(uploads):
            name = f"{key}-{number}"
            upload = s3.create_multipart_upload(Bucket=BUCKET, Key=name)["UploadId"]
            for part in range(1, parts + 1):
                parameters = {"Bucket": BUCKET, "Key": name, "UploadId": upload, "PartNumber": part}
                url = s3.generate_presigned_url("upload_part", Params=parameters, ExpiresIn=_EXPIRES_S)
                out.write(url.removeprefix(os.environ["AWS_ENDPOINT_URL_S3"]) + "\n")


def abort_uploads(key: str, uploads: int) -> None:
    """Aborts the uploads that part_targets has begun."""
    s3 = client()
    for number in range(uploads):
        found = s3.list_multipart_uploads(Bucket=BUCKET, Prefix=f"{key}-{number}")
        for upload in found.get("Uploads", []):
            s3.abort_multipart_upload(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])


def write_small(prefix: str, count: int, size_bytes: int) -> None:
    """Objects prefix00000, prefix00001, … of random bytes."""
    s3 = client()

    def write(number: int) -> None:
        s3.put_object(Bucket=BUCKET, Key=f"{prefix}{number:05}", Body=os.urandom(size_bytes))

    with concurrent.futures.ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(write, range(count)))
