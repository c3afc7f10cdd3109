"""For tests that disturb the command: small archives, killing after a delay, what a folder holds."""

import io
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator

import boto3
from tensorboard.compat.proto import event_pb2

WORDS = [f"word{i}" for i in range(400)]
# docs/formats/run-layout.md, "Where the time went"
SHARES_OF_TIME = {f"epoch_{part}_percent" for part in ("input", "hand_over", "compute")}


def reviews(count: int, seed: int = 1) -> dict[str, bytes]:
    """Names and texts of an archive of the aclImdb layout: one in five is of the test split."""
    draw = random.Random(seed)
    entries = {}
    for i in range(count):
        label, word, rating = ("pos", "great", 8) if i % 2 else ("neg", "awful", 2)
        split = "test" if i % 5 == 0 else "train"
        text = " ".join([*draw.choices(WORDS, k=60), word])
        entries[f"aclImdb/{split}/{label}/{i}_{rating}.txt"] = text.encode()
    return entries


def write_archive(path: pathlib.Path, entries: dict[str, bytes]) -> pathlib.Path:
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, data in entries.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def names_below(folder: pathlib.Path) -> list[str]:
    """Keys of the objects that a file store has there. The rest of a killed write is not an object."""
    paths = (path for path in folder.rglob("*") if not path.name.startswith(".headrace-write-"))
    return [str(path.relative_to(folder)) for path in paths if path.is_file()]


def objects_below(folder: pathlib.Path, part: str = "") -> dict[str, bytes]:
    """Key and content of each whose key contains `part`."""
    return {name: (folder / name).read_bytes() for name in names_below(folder) if part in name}


def s3_names(url: str) -> list[str]:
    """Keys of the objects in a folder of the S3 server that the environment names. A process that is killed
    while it finds out whether the server keeps conditions leaves what it tried that with."""
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    pages = boto3.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix + "/")
    keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
    return [key.removeprefix(prefix + "/") for key in keys if "/.headrace-probe-" not in key]


def s3_objects(url: str, part: str = "") -> dict[str, bytes]:
    """Key and content of each whose key contains `part`. Once its client was killed, a server may undo a
    write that it has not acknowledged, though it was listed (MinIO does): then the object is not there."""
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    client = boto3.client("s3")
    objects, undone = {}, set()
    for name in filter(lambda name: part in name, s3_names(url)):
        try:
            objects[name] = client.get_object(Bucket=bucket, Key=f"{prefix}/{name}")["Body"].read()
        except client.exceptions.NoSuchKey:
            undone.add(name)
    assert not undone.intersection(s3_names(url) if undone else ()), "listed, and cannot be read"
    return objects


class Place:
    """A folder in a store: its URL, and what lies there."""

    def __init__(self, url: str):
        self.url = url

    def objects(self, part: str = "") -> dict[str, bytes]:
        if self.url.startswith("s3://"):
            return s3_objects(self.url, part)
        return objects_below(pathlib.Path(self.url.removeprefix("file://")), part)

    def names(self) -> list[str]:
        if self.url.startswith("s3://"):
            return s3_names(self.url)
        return names_below(pathlib.Path(self.url.removeprefix("file://")))


def events_in(segment: bytes) -> list[bytes]:
    """The events of a file, without the time at which they were written, and those that say how long
    something took."""
    events, offset = [], 0
    while offset < len(segment):
        (length,) = struct.unpack_from("<Q", segment, offset)
        event = event_pb2.Event.FromString(segment[offset + 12 : offset + 12 + length])
        event.ClearField("wall_time")
        if not any(value.tag in SHARES_OF_TIME for value in event.summary.value):
            events.append(event.SerializeToString(deterministic=True))
        offset += 16 + length
    assert offset == len(segment)
    return events


def of_run(objects: dict[str, bytes]) -> dict[str, object]:
    """The objects below a run; for event files, their events."""
    return {name: events_in(data) if name.startswith("events/") else data for name, data in objects.items()}


def without_owner(text: str) -> str:
    """Names but for the part that tells which owner wrote them (docs/formats/ownership.md)."""
    plain = re.sub(r"-o[0-9]+(?=[./\"]|$)", "", re.sub(r"(?<![^/\"])o[0-9]+/", "", text))
    return plain.replace("tfevents.headrace.000000", "tfevents.headrace")


def without_run(manifest: bytes) -> dict:
    """A manifest but for the run that made it."""
    document = json.loads(without_owner(manifest.decode()))
    own = ("created_by", "entry", "zz_crc32c")
    return {name: value for name, value in document.items() if name not in own}


def comparable(objects: dict[str, bytes]) -> dict[str, object]:
    """The common part of two folders that were made the same way: all but who made it. Manifests are numbered
    anew, without the entries between them."""
    out: dict[str, object] = {}
    counts: dict[str, int] = {}
    for name in sorted(objects):
        folder, mark, _ = name.partition("_headrace/manifest-")
        if not mark:
            out[without_owner(name)] = objects[name]
        elif json.loads(objects[name])["format"] != "headrace.ownership":
            counts[folder] = counts.get(folder, 0) + 1
            out[f"{folder}{mark}{counts[folder]}"] = without_run(objects[name])
    return out


def is_published(objects: Iterable[str]) -> bool:
    """Whether a dataset that one owner made has its manifest."""
    return "_headrace/manifest-00000002" in objects


def assert_same(objects: dict[str, bytes], undisturbed: dict[str, bytes]) -> None:
    ours, theirs = comparable(objects), comparable(undisturbed)
    assert sorted(ours) == sorted(theirs)
    assert [name for name in ours if ours[name] != theirs[name]] == []


def seconds_of(command: list[str]) -> float:
    """How long the command takes that nobody disturbs."""
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return time.monotonic() - start


class Killer:
    """Kills one command again and again; now and then it ends by itself, and in the end it is left alone.

    Every other kill comes after a delay, uniform over `run_seconds`, the time that an undisturbed run takes
    at the same place. The others come soon after `progress`, which counts what a run makes, has grown since
    the run began: however fast the machine is at that moment, the kills meet more than the beginning.
    `seed` repeats a run of the test as far as the machine allows.
    """

    def __init__(
        self,
        command: list[str],
        seed: int,
        run_seconds: float,
        environment: dict[str, str],
        progress: Callable[[], int],
    ):
        print(f"seed {seed}")
        self.command = command
        self.environment = {**os.environ, **environment}
        self.run_seconds = run_seconds
        self.progress = progress
        self.draw = random.Random(seed)

    def after_a_delay(self) -> Callable[[], bool]:
        end = time.monotonic() + self.draw.uniform(0, self.run_seconds)
        return lambda: time.monotonic() >= end

    def after_progress(self) -> Callable[[], bool]:
        start, further = self.progress(), self.draw.randint(1, 2)
        return lambda: self.progress() >= start + further

    def was_killed(self, moment: Callable[[], bool]) -> bool:
        """Starts the command and kills it once the moment has come; whether it was still running."""
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                self.command, env=self.environment, stdout=subprocess.DEVNULL, stderr=errors
            )
            limit = time.monotonic() + 300
            while process.poll() is None and not moment():
                assert time.monotonic() < limit, "left alone, it does not end"
                time.sleep(0.002)
            process.kill()
            process.wait()
            errors.seek(0)
            assert process.returncode in (0, -9), errors.read().decode()
        return process.returncode == -9

    def kill(self, kills: int) -> Iterator[bool]:
        """Runs the command until it was killed `kills` times and has then ended by itself: True for each
        kill, False for each end. To begin again, the caller removes the output of a run that has ended.
        """
        killed = 0
        for run in range(20 * kills):
            was_killed = self.was_killed(self.after_progress() if run % 2 else self.after_a_delay())
            killed += was_killed
            yield was_killed
            if killed == kills:
                break
        assert killed == kills, f"only {killed} of {20 * kills} runs were met before they ended"
        assert not self.was_killed(lambda: False)
        yield False
