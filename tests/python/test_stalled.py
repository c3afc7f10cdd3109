"""prepare and train that are stopped in the middle, and go on when another command has taken their place:
they publish nothing, say to whom they have lost the output, and the other command's result is whole."""

import json
import os
import pathlib
import socket
from collections.abc import Callable, Iterator

import kill_support
import pytest
from stall_support import HoldingProxy, Stallable

pytestmark = pytest.mark.usefixtures("tracing_environment")


@pytest.fixture(params=["file", "s3"])
def place(request) -> kill_support.Place:
    return kill_support.Place(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> pathlib.Path:
    entries = kill_support.reviews(600)
    return kill_support.write_archive(tmp_path_factory.mktemp("raw") / "aclImdb.tar.gz", entries)


@pytest.fixture(scope="module")
def dataset(headrace, archive, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("prepared") / "data"
    headrace("prepare", archive, folder, "--encoder", "hash:16", "--shard-records", "200")
    return folder


def chains(place: kill_support.Place) -> dict[str, dict]:
    """Entries and manifests of all chains below, in their order."""
    objects = place.objects("_headrace/manifest-")
    return {name: json.loads(objects[name]) for name in sorted(objects)}


def entries(place: kill_support.Place, folder: str) -> list[dict]:
    """Those of the folder's own chain."""
    return [
        document
        for name, document in chains(place).items()
        if name.rpartition("_headrace/")[0] == folder and document["format"] == "headrace.ownership"
    ]


def owner(place: kill_support.Place, folder: str) -> int | None:
    """The process that has the folder."""
    found = entries(place, folder)
    return found[-1]["actor"]["process"] if found else None


def parts_published(place: kill_support.Place) -> set[str]:
    return {
        name.rpartition("_headrace/")[0] + part["key"]
        for name, document in chains(place).items()
        for part in document.get("parts", [])
    }


class Moment:
    """A moment of a command: one of its writes. On the S3 server the write is held back until the command
    goes on, so it arrives late; in a folder it has just been made."""

    def __init__(self, place: kill_support.Place, name: str):
        self.place, self.name = place, name
        is_s3 = place.url.startswith("s3://")
        self.proxy = HoldingProxy(lambda method, path: method == "PUT" and name in path) if is_s3 else None

    def __enter__(self) -> "Moment":
        if self.proxy:
            self.proxy.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self.proxy:
            self.proxy.__exit__(*error)

    def environment(self) -> dict[str, str]:
        return {"AWS_ENDPOINT_URL_S3": self.proxy.url} if self.proxy else {}

    def has_come(self) -> bool:
        if self.proxy:
            return self.proxy.is_asked.is_set()
        return any(self.name in name for name in self.place.names())

    def release(self) -> None:
        if self.proxy:
            self.proxy.release()


@pytest.fixture
def stall(build, tmp_path) -> Iterator[Callable]:
    """Starts a command, and stops it at the moment of one of its writes."""
    started: list[Stallable] = []

    def start(words: list, more: dict[str, str] | None = None) -> Stallable:
        command = [build / "bin/headrace", *words]
        started.append(Stallable(command, tmp_path / "errors", more or {}))
        return started[-1]

    yield start
    for command in started:
        if command.process.poll() is None:
            os.killpg(command.process.pid, 9)
            command.process.wait()


def assert_lost(code: int, said: str, place: kill_support.Place) -> None:
    """It failed, and named the one that has the output now: the actor of the last entry."""
    actor = entries(place, "")[-1]["actor"]
    assert code == 1, said
    assert "in the meantime: this process has lost it" in said
    assert actor["host"] == socket.gethostname()
    for part in ("run", "host", "time"):
        assert actor[part] and actor[part] in said, f"{part} of the other: {said}"
    assert str(actor["process"]) in said


# prepare


def prepare_words(archive: pathlib.Path, place: kill_support.Place, shard_records: int, *more: str) -> list:
    words = ["prepare", archive, place.url, "--encoder", "hash:16", "--workers", "1", *more]
    return [*words, "--shard-records", str(shard_records), "--compression-level", "9"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("place", "moment", "ends"),
    [
        ("file", "train-", False),
        ("s3", "train-", False),
        ("s3", "_headrace/manifest-00000002", False),
        ("s3", "train-", True),
    ],
    indirect=["place"],
)
def test_a_stalled_prepare_loses_to_one_that_overwrites(headrace, archive, place, stall, moment, ends):
    with Moment(place, moment) as at:
        first = stall(prepare_words(archive, place, 20), at.environment())
        first.wait_for(at.has_come)
        first.stop()
        before = set(place.names())
        assert not any(document.get("parts") for document in chains(place).values()), "it was not published"
        second = stall(prepare_words(archive, place, 50, "--overwrite"))
        if not ends:
            second.wait_for(
                lambda: any("tfrecord" in name for name in set(place.names()) - before), may_end=True
            )
            second.kill(may_end=True)
        elif second.go_on()[0] != 0:
            pytest.fail(second.errors.read_text())
        left = chains(place)
        at.release()
        code, said = first.go_on()
    assert_lost(code, said, place)
    assert chains(place) == left, "it has published nothing"
    headrace(*prepare_words(archive, place, 50))
    if second.process.returncode == 0:  # nobody after it removed what the first has left
        headrace("gc", place.url, "--older-than", "0s")
    assert_is_whole(headrace, place, 50, archive)


@pytest.mark.slow
@pytest.mark.parametrize("ends", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_stalled_prepare_and_the_same_command_make_the_same_dataset(headrace, archive, place, stall, ends):
    with Moment(place, "train-") as at:
        first = stall(prepare_words(archive, place, 20), at.environment())
        first.wait_for(at.has_come)
        first.stop()
        before = set(place.names())
        second = stall(prepare_words(archive, place, 20))
        if ends:
            assert second.go_on()[0] == 0
        else:
            second.wait_for(lambda: bool(set(place.names()) - before), may_end=True)
            second.kill(may_end=True)
        at.release()
        code, said = first.go_on()
    assert code == 0, said
    headrace(*prepare_words(archive, place, 20))
    assert_is_whole(headrace, place, 20, archive)


def assert_is_whole(headrace, place, shard_records: int, archive) -> None:
    """The dataset has all that one made without disturbance has, and no shard or work object besides."""
    shown = json.loads(headrace("verify", place.url, "--json").stdout)
    assert shown["ok"]
    shards = {name for name in place.names() if name.endswith(".tfrecord.gz")}
    assert shards == {name for name in parts_published(place) if name.endswith(".tfrecord.gz")}
    assert [name for name in place.names() if "_headrace/work/" in name] == []
    alone = f"{place.url}-alone"
    headrace(*prepare_words(archive, kill_support.Place(alone), shard_records))
    undisturbed = kill_support.Place(alone).objects()
    assert sorted(place.objects()[name] for name in shards) == sorted(
        data for name, data in undisturbed.items() if name.endswith(".tfrecord.gz")
    )


# train


def train_words(dataset, place: kill_support.Place, seed: int, epochs: int, *more: str) -> list:
    options = ["--epochs", epochs, "--batch-size", "32", "--seed", seed, "--track", f"{place.url}-runs"]
    return ["train", dataset, place.url, *options, *more]


FOLDERS = ["", "model/", "checkpoints/", "export/"]  # of a run, with a chain each
SECOND_CHECKPOINT = "checkpoints/_headrace/manifest-00000003"
CASES = [  # store, loop, the moment at which the first is stopped, whether the second overwrites
    ("s3", "native", SECOND_CHECKPOINT, False),
]
MORE_CASES = [
    ("file", "native", SECOND_CHECKPOINT, True),
    ("s3", "keras", SECOND_CHECKPOINT, True),
]
ALL_OTHER_CASES = [  # tests/interleave stops everywhere; here are real processes
    ("s3", "native", "checkpoints/_headrace/manifest-00000002", True),
    ("s3", "native", "export/_headrace/manifest-00000002", True),
    ("file", "native", SECOND_CHECKPOINT, False),
    ("s3", "native", SECOND_CHECKPOINT, True),
    ("file", "native", "model/_headrace/manifest-00000001", True),
    ("s3", "native", "export/_headrace/manifest-00000002", False),
    ("file", "keras", SECOND_CHECKPOINT, True),
    ("s3", "keras", SECOND_CHECKPOINT, False),
]


@pytest.mark.parametrize(
    ("place", "loop", "moment", "overwrites"),
    [
        *CASES,
        *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in MORE_CASES),
        *(pytest.param(*case, marks=pytest.mark.soak) for case in ALL_OTHER_CASES),
    ],
    indirect=["place"],
)
def test_a_stalled_training_loses_its_run(headrace, dataset, place, stall, loop, moment, overwrites):
    more = ["--loop", loop]
    first_words = train_words(dataset, place, 7, 15, *more)
    second_words = train_words(dataset, place, 8, 20, *more) if overwrites else first_words
    with Moment(place, moment) as at:
        first = stall(first_words, at.environment())
        first.wait_for(at.has_come)
        first.stop()
        second = stall([*second_words, "--overwrite"] if overwrites else second_words)
        second.wait_for(
            lambda: {owner(place, folder) for folder in FOLDERS} == {second.process.pid}, may_end=True
        )
        second.kill(may_end=True)
        left = chains(place)
        at.release()
        code, said = first.go_on()
    assert_lost(code, said, place)
    assert chains(place) == left, "it has published nothing"
    headrace(*second_words)
    assert json.loads(headrace("verify", place.url, "--json").stdout)["ok"]
    assert entries(place, "")[-1]["configuration"]["seed"] == ("8" if overwrites else "7")
    exported = [document for name, document in chains(place).items() if name.startswith("export/")][-1]
    assert exported["attributes"]["epoch"] == (20 if overwrites else 15)
