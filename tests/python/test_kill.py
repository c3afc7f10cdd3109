"""prepare and train, killed at random moments and started again: the same bytes as if never killed.

HEADRACE_SOAK_SEED sets the seed of the moments; each test prints its own.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import kill_support
import published_support
import pytest
from tensorboard.compat.proto import event_pb2

SEED = int(os.environ.get("HEADRACE_SOAK_SEED", "44"))
KILLS = [pytest.param(10, id="10"), pytest.param(60, id="60", marks=pytest.mark.soak)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """A cache of traced models and a folder for temporary files, both of this module alone."""
    folder = tmp_path_factory.mktemp("environment")
    (folder / "tmp").mkdir()
    return {"XDG_CACHE_HOME": str(folder / "cache"), "TMPDIR": str(folder / "tmp")}


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> pathlib.Path:
    entries = kill_support.reviews(4000)
    return kill_support.write_archive(tmp_path_factory.mktemp("raw") / "aclImdb.tar.gz", entries)


def prepare_options(archive: str, output: str, encoder: str = "hash:64") -> list[str]:
    """Slow enough to be met in every phase; texts beyond 1 MB go to work objects."""
    return [
        *("prepare", archive, output, "--encoder", encoder, "--shard-records", "100"),
        *("--compression-level", "12", "--memory", "1MB", "--workers", "2"),
    ]


# prepare


@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_prepare_gives_the_bytes_of_one_never_killed(
    build, headrace, archive, environment, tmp_path, kills
):
    start = time.monotonic()
    headrace(*prepare_options(archive, tmp_path / "undisturbed"), env=environment)
    seconds = time.monotonic() - start
    undisturbed = kill_support.objects_below(tmp_path / "undisturbed")
    output = tmp_path / "killed"
    command = [build / "bin" / "headrace", *prepare_options(archive, output)]
    left = set()  # by kills: how many shards there were

    def shards() -> int:
        return len(list(output.glob("*.tfrecord.gz")))

    for was_killed in kill_support.Killer(command, SEED, seconds, environment, shards).kill(kills):
        if not was_killed:
            kill_support.assert_same(kill_support.objects_below(output), undisturbed)
            shutil.rmtree(output)
        elif not published_support.manifests(output):
            left.add(shards())
    assert len(left) > kills / 5, "the kills hit different moments before publication"


@pytest.mark.exhaustive
def test_a_prepare_killed_between_two_s3_folders_gives_the_same_objects(
    build, headrace, archive, environment, s3_url
):
    raw = f"{s3_url}/raw/aclImdb.tar.gz"
    headrace("cp", archive, raw)
    start = time.monotonic()
    headrace(*prepare_options(raw, f"{s3_url}/undisturbed"), env=environment)
    seconds = time.monotonic() - start
    undisturbed = kill_support.s3_objects(f"{s3_url}/undisturbed")
    output = f"{s3_url}/killed"
    killer = kill_support.Killer(
        [build / "bin" / "headrace", *prepare_options(raw, output)],
        SEED,
        seconds,
        environment,
        lambda: len(kill_support.s3_names(output)),
    )
    before_publication = 0
    for was_killed in killer.kill(5):
        objects = kill_support.s3_objects(output)
        if not was_killed:
            kill_support.assert_same(objects, undisturbed)
            headrace("rm", "-r", "--yes", "--forget", output)  # names tell what begins behind a tombstone
        elif objects and not kill_support.is_published(objects):
            before_publication += 1
    assert before_publication > 0


# train


@pytest.fixture(scope="module")
def dataset(headrace, archive, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("prepared") / "data"
    headrace("prepare", archive, folder, "--encoder", "hash:64", "--shard-records", "400")
    return folder


def train_options(dataset: pathlib.Path, run: pathlib.Path, epochs: int = 12) -> list[str]:
    options = ["--epochs", str(epochs), "--batch-size", "32", "--log-every", "10", "--seed", "7"]
    return ["train", str(dataset), str(run), *options]


@pytest.fixture(scope="module")
def undisturbed(headrace, dataset, environment, tmp_path_factory) -> tuple[pathlib.Path, float]:
    """A run never killed, and its seconds with the model traced before."""
    folder = tmp_path_factory.mktemp("undisturbed")
    headrace(*train_options(dataset, folder / "first", 1), env=environment)
    start = time.monotonic()
    headrace(*train_options(dataset, folder / "run"), env=environment)
    return folder / "run", time.monotonic() - start


def epochs_logged(run: pathlib.Path, part: str) -> list[int]:
    steps = []
    for segment in sorted((run / "events" / part).iterdir()):
        for data in kill_support.events_in(segment.read_bytes()):
            event = event_pb2.Event.FromString(data)
            steps += [event.step for value in event.summary.value if value.tag == "epoch_loss"]
    return steps


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.exhaustive
def test_a_killed_train_gives_the_weights_and_events_of_one_never_killed(
    build, dataset, environment, undisturbed, tmp_path, kills
):
    reference, seconds = undisturbed
    expected = kill_support.of_run(kill_support.objects_below(reference))
    run = tmp_path / "killed"
    command = [build / "bin" / "headrace", *train_options(dataset, run)]
    left = set()  # by kills: how many checkpoints were published

    def checkpoints() -> int:
        return len(published_support.manifests(run / "checkpoints"))

    for was_killed in kill_support.Killer(command, SEED, seconds, environment, checkpoints).kill(kills):
        if was_killed:
            if not published_support.manifests(run / "export"):
                left.add(checkpoints())
            continue
        kill_support.assert_same(kill_support.of_run(kill_support.objects_below(run)), expected)
        for part in ("train", "validation"):
            assert epochs_logged(run, part) == list(range(1, 13))
        shutil.rmtree(run)
    assert len(left) > 1, "the kills hit different moments before the export"
    staged = pathlib.Path(environment["TMPDIR"], f"headrace-{os.getuid()}")
    assert list(staged.iterdir()) == [], "what killed runs staged is removed by those that follow"


# An interrupt


def start(build, options: list[str], environment: dict[str, str]) -> subprocess.Popen:
    return subprocess.Popen(
        [build / "bin" / "headrace", *options],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupt(process: subprocess.Popen) -> str:
    """Standard error of a command that has to end within 2 s."""
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=2)
    finally:
        process.kill()
    assert process.returncode == 1, errors
    return errors


@pytest.mark.exhaustive
def test_an_interrupted_train_ends_soon_and_the_same_command_continues(
    build, headrace, dataset, environment, tmp_path
):
    options = train_options(dataset, tmp_path / "run", epochs=60)
    process = start(build, options, environment)
    assert any(line.startswith("epoch 1/60") for line in process.stderr)
    assert "the same command continues" in interrupt(process)
    assert not published_support.manifests(tmp_path / "run/export")
    continued = json.loads(headrace(*options, "--json", env=environment).stdout)
    assert 0 < continued["steps_done_now"] < continued["steps"]
    headrace(*train_options(dataset, tmp_path / "undisturbed", epochs=60), env=environment)
    continued, undisturbed = (
        kill_support.of_run(kill_support.objects_below(tmp_path / name)) for name in ("run", "undisturbed")
    )
    kill_support.assert_same(continued, undisturbed)


@pytest.mark.slow
def test_an_interrupt_while_python_traces_the_model_ends_python_too(build, dataset, environment, tmp_path):
    environment = {**environment, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = start(build, train_options(dataset, tmp_path / "run"), environment)
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    staged = tmp_path / "cache/headrace/models"
    while not (staged.exists() and list(staged.iterdir()) and children.read_text()):
        assert process.poll() is None
        time.sleep(0.01)
    child = int(children.read_text().split()[0])
    interrupt(process)
    assert not pathlib.Path(f"/proc/{child}").exists()
    assert not (tmp_path / "run/export").exists()


@pytest.mark.exhaustive
def test_an_interrupted_prepare_ends_soon_and_the_same_command_continues(
    build, headrace, archive, environment, tmp_path
):
    slow = "hash:1024"
    headrace(*prepare_options(archive, tmp_path / "undisturbed", slow), env=environment)
    process = start(build, prepare_options(archive, tmp_path / "out", slow), environment)
    while not list((tmp_path / "out").glob("*.tfrecord.gz")):
        assert process.poll() is None
        time.sleep(0.001)
    assert "the same command continues" in interrupt(process)
    assert not published_support.manifests(tmp_path / "out")
    headrace(*prepare_options(archive, tmp_path / "out", slow), env=environment)
    continued = kill_support.objects_below(tmp_path / "out")
    kill_support.assert_same(continued, kill_support.objects_below(tmp_path / "undisturbed"))


@pytest.mark.parametrize("command", ["prepare", "ls"])
def test_an_interrupt_ends_waiting_for_a_server_that_does_not_answer(build, command, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        environment = {
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.getsockname()[1]}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        options = ["s3://bucket/raw.tar.gz"]
        if command == "prepare":
            options += [str(tmp_path / "out"), "--encoder", "hash:64"]
        process = start(build, [command, *options], environment)
        server.settimeout(30)
        connection, _ = server.accept()
        with connection:
            connection.recv(1)
            interrupt(process)
