"""Versions of a dataset: each is opened by the number of its manifest, and a run goes on with its own."""

import json
import pathlib
import pickle
import signal
import subprocess
import time

import kill_support
import published_support
import pytest

import headrace as hr


def write_texts(folder: pathlib.Path, numbers: range) -> None:
    for label in ("neg", "pos"):
        for number in numbers:
            file = folder / "train" / label / f"{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"text {number} of {label}")


@pytest.fixture
def data(headrace, tmp_path) -> pathlib.Path:
    """Version 2 has 80 records, version 4 has 120."""
    write_texts(tmp_path / "raw", range(40))
    folder = tmp_path / "data"
    headrace("prepare", tmp_path / "raw", folder, "--layout", "text-folder", "--encoder", "hash:16")
    write_texts(tmp_path / "raw", range(40, 60))
    headrace("prepare", tmp_path / "raw", folder, "--append")
    assert [path.name[-2:] for path in published_support.manifests(folder)] == ["02", "04"]
    return folder


def test_a_former_version_is_opened_by_its_number(data):
    former, latest = hr.open(data, version=2), hr.open(data)
    assert (former.version, len(former)) == (2, 80)
    assert (latest.version, len(latest)) == (4, 120)
    ids = {bytes(value) for batch in former.loader(batch_size=8, columns=["id"]) for value in batch["id"]}
    assert len(ids) == 80
    assert all(int(name.rsplit(b"/", 1)[1].removesuffix(b".txt")) < 40 for name in ids)


def test_a_pickle_opens_the_same_version_after_an_append(headrace, data, tmp_path):
    pickled = pickle.dumps(hr.open(data))
    write_texts(tmp_path / "raw", range(60, 70))
    headrace("prepare", tmp_path / "raw", data, "--append")
    assert pickle.loads(pickled).version == 4
    assert hr.open(data).version == 6


@pytest.mark.parametrize(
    ("version", "kind", "message"),
    [
        (7, hr.errors.NotFoundError, "has no version 7; it has 2, 4"),
        (3, hr.errors.InvalidArgumentError, "an entry of ownership, which publishes nothing; it has 2, 4"),
        (0, hr.errors.InvalidArgumentError, "a number from 1 on"),
        ("2", hr.errors.InvalidArgumentError, "a number from 1 on"),
    ],
)
def test_a_number_that_is_no_version_says_which_there_are(data, version, kind, message):
    with pytest.raises(kind, match=message):
        hr.open(data, version=version)


def test_files_without_a_manifest_have_no_versions(data):
    shards = [shard.url for shard in hr.open(data).shards]
    assert hr.open(shards).version is None
    with pytest.raises(
        hr.errors.InvalidArgumentError, match="only a dataset that headrace prepare published"
    ):
        hr.open(shards, version=1)


def test_inspect_shows_the_version_that_it_is_asked_for(headrace, data):
    shown = json.loads(headrace("inspect", data, "--data-version", "2", "--statistics", "--json").stdout)
    assert (shown["manifest"], shown["splits"]["train"]["records"]) == (2, 80)
    assert shown["statistics"]["splits"]["train"]["records"] == 80
    assert json.loads(headrace("inspect", data, "--json").stdout)["manifest"] == 4
    wrong = headrace("inspect", data, "--data-version", "5", check=False)
    assert (wrong.returncode, "has no version 5; it has 2, 4" in wrong.stderr) == (1, True)


def train_options(data: pathlib.Path, run: pathlib.Path, *more: str) -> list[str]:
    return ["train", str(data), str(run), "--epochs", "60", "--batch-size", "16", "--seed", "7", *more]


def kill_after_a_checkpoint(command: list[str], run: pathlib.Path) -> None:
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while not published_support.manifests(run / "checkpoints") and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not published_support.manifests(run / "export")


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.usefixtures("tracing_environment")
def test_a_killed_run_goes_on_with_its_version_after_an_append(build, headrace, tmp_path):
    write_texts(tmp_path / "raw", range(40))
    data, killed = tmp_path / "data", tmp_path / "killed"
    headrace("prepare", tmp_path / "raw", data, "--layout", "text-folder", "--encoder", "hash:16")
    headrace(*train_options(data, tmp_path / "undisturbed"))
    command = [str(build / "bin" / "headrace"), *train_options(data, killed)]
    kill_after_a_checkpoint(command, killed)
    write_texts(tmp_path / "raw", range(40, 60))
    headrace("prepare", tmp_path / "raw", data, "--append")

    done = headrace(*train_options(data, killed))
    assert "was begun on version 2" in done.stderr and "the latest is version 4" in done.stderr

    variables = kill_support.of_run(kill_support.objects_below(killed))
    expected = kill_support.of_run(kill_support.objects_below(tmp_path / "undisturbed"))
    kill_support.assert_same(variables, expected)

    again = headrace(*train_options(data, killed, "--data-version", "2"), "--json")
    assert json.loads(again.stdout)["was_finished"], "the number names what the run was begun on anyway"
    other = headrace(*train_options(data, killed, "--data-version", "4"), check=False)
    assert other.returncode == 1 and "data manifest was" in other.stderr

    new = headrace(
        *train_options(data, tmp_path / "fit", "--loop", "keras", "--data-version", "2", "--steps", "2"),
        *("--validation", "0", "--json"),
    )
    assert json.loads(new.stdout)["train_records"] == 80
    lineage = json.loads(headrace("lineage", tmp_path / "fit" / "export", "--json").stdout)
    assert '"manifest":2' in json.dumps(lineage, separators=(",", ":"))

    evaluated = headrace(
        *("evaluate", killed, "--data", data, "--data-version", "2", "--split", "train", "--json"),
    )
    assert json.loads(evaluated.stdout)["records"] == 80
