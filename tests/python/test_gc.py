"""`headrace gc`: what killed writers have left goes, and nothing else does."""

import http.server
import json
import os
import random
import subprocess
import threading
import time
import urllib.parse
from typing import ClassVar

import boto3
import kill_support
import pytest

SEED = int(os.environ.get("HEADRACE_SOAK_SEED", "44"))
PART_BYTES = 8 << 20
KILLS = [pytest.param(15, id="15"), pytest.param(300, id="300", marks=pytest.mark.soak)]


def start_upload(url: str, part: bytes) -> None:
    """An upload with one part, as a killed process leaves it."""
    place = urllib.parse.urlsplit(url)
    target = {"Bucket": place.netloc, "Key": place.path[1:]}
    client = boto3.Session().client("s3")  # the default session keeps the keys of the first server
    upload = client.create_multipart_upload(**target)["UploadId"]
    client.upload_part(**target, UploadId=upload, PartNumber=1, Body=part)


def pending_uploads(url: str) -> list[str]:
    """Keys, below the URL, of uploads that the server has; of a bucket, the only folder that MinIO lists. If
    a client dies while its upload is completed, MinIO may go on listing the upload, which is gone."""
    place = urllib.parse.urlsplit(url)
    client = boto3.client("s3")
    answer = client.list_multipart_uploads(Bucket=place.netloc)
    assert not answer["IsTruncated"]
    prefix = place.path[1:]

    def exists(upload: dict) -> bool:
        try:
            client.list_parts(Bucket=place.netloc, Key=upload["Key"], UploadId=upload["UploadId"])
        except client.exceptions.ClientError as error:
            assert error.response["Error"]["Code"] == "NoSuchUpload"
            return False
        return True

    return sorted(
        upload["Key"].removeprefix(prefix)
        for upload in answer.get("Uploads", [])
        if upload["Key"].startswith(prefix) and exists(upload)
    )


def collected(headrace, *arguments: str) -> dict:
    return json.loads(headrace("gc", *arguments, "--json").stdout)


def test_old_uploads_of_a_folder_are_aborted_and_others_are_not(headrace, s3_url):
    for name in ("folder/a b", "folder/deeper/c", "folder", "folder-too"):
        start_upload(f"{s3_url}/{name}", b"x" * 1000)
    everything = ["/folder", "/folder-too", "/folder/a b", "/folder/deeper/c"]
    young = collected(headrace, f"{s3_url}/folder")
    assert (young["removed"], young["kept_too_young"]) == (0, 3)
    only_said = headrace("gc", "--dry-run", "--older-than", "0s", f"{s3_url}/folder")
    assert only_said.stdout.count("would remove ") == 3
    assert "3 unfinished writes (3.0 kB)" in only_said.stderr
    assert pending_uploads(s3_url) == everything
    done = collected(headrace, "--older-than", "0s", f"{s3_url}/folder")
    assert (done["removed"], done["removed_bytes"], done["of_unknown_size"]) == (3, 3000, 0)
    assert pending_uploads(s3_url) == ["/folder-too"]
    assert collected(headrace, "--older-than", "0s", f"{s3_url}/folder-too")["removed"] == 1
    assert pending_uploads(s3_url) == []


def test_hidden_files_that_killed_writers_left_go_when_they_are_old(headrace, tmp_path):
    (tmp_path / "local").write_bytes(b"content")
    headrace("cp", tmp_path / "local", tmp_path / "data" / "object")
    old = tmp_path / "data" / ".headrace-write-0123456789abcdef"
    new = tmp_path / "data" / ".headrace-write-fedcba9876543210"
    foreign = tmp_path / "data" / ".headrace-write-ups"
    for path in (old, new, foreign):
        path.write_bytes(b"x" * 70)
    os.utime(old, (time.time() - 90_000,) * 2)
    os.utime(foreign, (0, 0))
    done = collected(headrace, tmp_path)
    assert (done["removed"], done["removed_bytes"], done["kept_too_young"]) == (1, 70, 1)
    left = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert left == [new.name, foreign.name, "object"]
    assert collected(headrace, "--older-than", "2h", tmp_path)["removed"] == 0
    assert collected(headrace, "--older-than", "0s", tmp_path)["removed"] == 1


@pytest.mark.exhaustive
def test_what_minio_forgets_to_list_when_it_restarts_goes_by_its_name(headrace, root, tmp_path):
    script = [root / "tools/servers/minio.sh"]

    def restart() -> dict[str, str]:
        subprocess.run([*script, "stop", tmp_path], check=True)
        started = subprocess.run(
            [*script, "start", tmp_path, "--bucket", "bucket"], check=True, capture_output=True, text=True
        )
        exports = [line for line in started.stdout.splitlines() if line.startswith("export ")]
        return dict(pair.split("=", 1) for line in exports for pair in line.split()[1:])

    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in restart().items():
                patch.setenv(name, value)
            start_upload("s3://bucket/folder/object", b"x" * 1000)
            for name, value in restart().items():
                patch.setenv(name, value)
            options = ("--older-than", "0s")
            assert collected(headrace, *options, "s3://bucket/folder")["removed"] == 0, "MinIO lists it again"
            assert collected(headrace, *options, "s3://bucket/folder/object")["removed_bytes"] == 1000
            assert collected(headrace, *options, "s3://bucket/folder/object")["removed"] == 0
    finally:
        subprocess.run([*script, "stop", tmp_path], check=True)


class ServerOfOneUpload(http.server.BaseHTTPRequestHandler):
    """A stand-in for S3's answers to gc: an upload that has grown when its parts are listed a second time."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        if "list-type" in self.path:
            self.answer("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
            return
        is_listing = "uploads" in self.path
        if not is_listing:
            self.asked.append("parts")
        year = 2020 if self.asked.count("parts") < 2 else 2199
        self.answer(
            "<ListMultipartUploadsResult><Upload><Key>a</Key><UploadId>1</UploadId></Upload>"
            "</ListMultipartUploadsResult>"
            if is_listing
            else "<ListPartsResult><Part><PartNumber>1</PartNumber><Size>5</Size>"
            f"<LastModified>{year}-01-01T00:00:00.000Z</LastModified></Part></ListPartsResult>"
        )

    def do_DELETE(self) -> None:
        self.asked.append("abort")
        self.answer("")

    def answer(self, body: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


def test_an_upload_that_grows_while_the_store_is_looked_through_stays(headrace):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ServerOfOneUpload) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.server_port}",
            "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }
        done = json.loads(headrace("gc", "s3://bucket/a", "--json", env=environment).stdout)
        server.shutdown()
    assert (done["removed"], done["kept_too_young"]) == (0, 1)
    assert ServerOfOneUpload.asked == ["parts", "parts"]


@pytest.mark.parametrize("duration", ["", "7", "d", "-1d", "1.5h", "1w", "99999999999999d"])
def test_a_duration_that_is_none_is_a_wrong_command_line(headrace, tmp_path, duration):
    done = headrace("gc", "--older-than", duration, tmp_path, check=False)
    assert done.returncode == 2
    assert "90s, 15m, 12h or 7d" in done.stderr


def test_all_files_of_the_machine_are_refused(headrace):
    done = headrace("gc", "file:///", check=False)
    assert done.returncode == 1
    assert "name a folder" in done.stderr


def collect_all(headrace, url: str) -> int:
    """Runs gc until no upload is left, and counts the removed ones. The server may still execute the last
    requests of a killed process, also the one that begins an upload: then there is more to remove."""
    limit = time.monotonic() + 60
    removed = collected(headrace, "--older-than", "0s", url)["removed"]
    while pending := pending_uploads(url):
        assert time.monotonic() < limit, f"gc leaves {pending}"
        time.sleep(0.05)
        removed += collected(headrace, "--older-than", "0s", url)["removed"]
    return removed


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.exhaustive
def test_a_killed_upload_leaves_all_or_nothing_and_after_gc_nothing_else(
    build, headrace, s3_url, tmp_path, kills
):
    local = tmp_path / "object"
    content = random.Random(1).randbytes(5 * PART_BYTES + 7)
    local.write_bytes(content)
    command = [str(build / "bin" / "headrace"), "cp", str(local), f"{s3_url}/object"]
    seconds = kill_support.seconds_of(command)
    headrace("rm", "--yes", f"{s3_url}/object")
    left = whole = 0
    killer = kill_support.Killer(command, SEED, seconds, {}, lambda: len(pending_uploads(s3_url)))
    for was_killed in killer.kill(kills):
        left += collect_all(headrace, s3_url)
        objects = kill_support.s3_objects(s3_url)
        assert objects in ({}, {"object": content})
        assert was_killed or objects, "who ended by himself has written it"
        whole += bool(objects)
        headrace("rm", "-r", "--yes", s3_url, check=False)
    assert left > 0, "the kills hit uploads"
    assert whole > 0


def test_what_a_plan_that_was_given_up_has_left_goes_and_the_dataset_stays(build, headrace, tmp_path):
    archive = kill_support.write_archive(tmp_path / "reviews.tar.gz", kill_support.reviews(300))
    data = tmp_path / "data"
    words = ["prepare", archive, data, "--encoder", "hash:16", "--shard-records", "5", "--runner", "store"]
    process = subprocess.Popen([build / "bin/headrace", *map(str, words), "--quiet"])
    while not list(data.glob("*.tfrecord.gz")) and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -9
    given_up = set(kill_support.names_below(data))
    assert collected(headrace, "--older-than", "0s", data)["removed_objects"] == 0, "it can still go on"
    headrace(*words[:-4], "--shard-records", "50", "--overwrite")
    (data / "train-00000000-00000-of-00009.tfrecord.gz").write_bytes(b"of a process that was stalled")
    assert collected(headrace, data)["kept_too_young"] == 1
    done = collected(headrace, "--older-than", "0s", data)
    assert (done["removed_objects"], done["removed_object_bytes"]) == (1, 29)
    assert collected(headrace, "--older-than", "0s", data)["removed_objects"] == 0
    headrace("verify", data)
    parts = [name for name in kill_support.names_below(data) if name.endswith(".tfrecord.gz")]
    assert not given_up.intersection(parts)
