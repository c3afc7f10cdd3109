"""Metrics in event files: `headrace runs metrics`, `compare` and `export` beside TensorBoard's reader."""

import csv
import json
import os
import pathlib
import signal
import subprocess

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import kill_support
import numpy as np
import pytest
import tensorflow as tf
from headrace.summary import Writer
from mlflow import MlflowClient
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import headrace as hr
from headrace import mlflow as plugin

Curves = dict[str, list[tuple[int, int, float]]]  # metric → step, microseconds, value

pytestmark = [pytest.mark.usefixtures("tracing_environment"), pytest.mark.slow]


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Where journals of metrics are."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    plugin.register()


@pytest.fixture(scope="module")
def data(headrace, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("prepared")
    kill_support.write_archive(folder / "raw.tar.gz", kill_support.reviews(400))
    headrace("prepare", folder / "raw.tar.gz", folder / "data", "--encoder", "hash:32")
    return folder / "data"


def train(data: pathlib.Path, run: str, *options: str, epochs: int = 3) -> list[str]:
    words = ["train", str(data), run, "--epochs", str(epochs), "--batch-size", "32", "--validation", "0.2"]
    return [*words, "--log-every", "2", *options]


def read_by_tensorboard(headrace, folders: dict[str, str], tmp_path: pathlib.Path) -> Curves:
    """The scalars of copies of event folders; names begin with the keys of `folders`."""
    curves: Curves = {}
    for name, url in folders.items():
        copy = tmp_path / "copies" / name
        headrace("cp", "-r", "-q", url, copy)
        seen = EventAccumulator(str(copy), {"tensors": 0, "scalars": 0}).Reload()
        for tag in seen.Tags()["scalars"]:
            points = [(event.step, event.wall_time, event.value) for event in seen.Scalars(tag)]
            curves[f"{name}/{tag}"] = [(step, round(time * 1e6), value) for step, time, value in points]
        for tag in seen.Tags()["tensors"]:
            if seen.SummaryMetadata(tag).plugin_data.plugin_name != "scalars":
                continue
            curves[f"{name}/{tag}"] = [
                (event.step, round(event.wall_time * 1e6), float(tf.make_ndarray(event.tensor_proto)))
                for event in seen.Tensors(tag)
            ]
    return curves


def read_by_command(headrace, url: str, run: str) -> Curves:
    listed = json.loads(headrace("runs", "metrics", url, run, "--json").stdout)
    curves: Curves = {}
    for metric in listed["metrics"]:
        name = metric["name"]
        lines = headrace("runs", "metrics", url, run, "--metric", name).stdout.splitlines()
        rows = [line.split("\t") for line in lines]
        curves[name] = [
            (int(step), int(time.replace(".", "")), float(value)) for _, step, time, value in rows
        ]
        assert metric["points"] == len(curves[name])
        assert (metric["last_step"], metric["last"]) == (curves[name][-1][0], curves[name][-1][2])
        values = [value for _, _, value in curves[name]]
        assert (metric["minimum"], metric["maximum"]) == (min(values), max(values))
    return curves


def read_from_table(path: pathlib.Path) -> dict[str, Curves]:
    """run → its curves"""
    runs: dict[str, Curves] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            point = (int(row["step"]), int(row["time_us"]), float(row["value"]))
            runs.setdefault(row["run"], {}).setdefault(row["metric"], []).append(point)
    return runs


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("loop", "store"),
    [pytest.param("native", "file", marks=pytest.mark.soak), ("native", "s3"), ("keras", "s3")],
)
def test_a_training_has_the_metrics_that_tensorboard_reads(headrace, data, loop, store, request, tmp_path):
    url = request.getfixturevalue(f"{store}_url")
    for run_id, epochs in (("one", 2), ("two", 3)):
        headrace(
            *train(data, f"{url}/{run_id}", "--loop", loop, "--run-id", run_id, "--track", url, epochs=epochs)
        )
    folders = {name: f"{url}/two/events/{name}" for name in ("train", "validation")}
    expected = read_by_tensorboard(headrace, folders, tmp_path)
    assert {"train/batch_loss", "train/epoch_loss", "validation/epoch_loss"} <= expected.keys()
    assert [step for step, _, _ in expected["train/epoch_loss"]] == [1, 2, 3]
    assert read_by_command(headrace, url, "two") == expected

    headrace("runs", "export", url, tmp_path / "table.csv")
    tables = read_from_table(tmp_path / "table.csv")
    assert tables["two"] == expected and tables.keys() == {"one", "two"}

    compared = json.loads(headrace("runs", "compare", url, "one", "two", "--json").stdout)
    for name, points in expected.items():
        assert compared["metrics"][name][1] == points[-1][2]
    assert compared["metrics"]["loss"][1] == pytest.approx(compared["metrics"]["train/epoch_loss"][1])
    table = headrace("runs", "metrics", url, "two").stdout.splitlines()
    assert [line.split()[0] for line in table[1:]] == sorted(expected)

    console = headrace("runs", "console", url, "two").stdout.splitlines()
    assert [line.split()[1] for line in console if line.startswith("epoch ")] == ["1/3", "2/3", "3/3"]
    assert any(line.endswith("export") for line in console)

    client = MlflowClient(f"headrace+{url}")
    history = client.get_metric_history("two", "train/epoch_loss")
    assert [(each.step, each.value) for each in history] == [
        (step, value) for step, _, value in expected["train/epoch_loss"]
    ]
    (found,) = client.search_runs(["0"], "params.epochs = '3' and tags.`headrace.command` = 'train'")
    assert found.info.run_id == "two" and found.info.status == "FINISHED"
    assert found.data.metrics.keys() >= expected.keys() and "loss" in found.data.metrics


@pytest.mark.exhaustive
def test_a_training_that_was_killed_and_continued_has_each_point_once(
    build, headrace, data, file_url, tmp_path
):
    words = train(data, f"{file_url}/run", "--track", file_url, epochs=40)
    process = subprocess.Popen(
        [build / "bin" / "headrace", *words, "--run-id", "first"], stderr=subprocess.PIPE, text=True
    )
    assert any(line.startswith("epoch 3/40") for line in process.stderr)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    headrace(*words, "--run-id", "second")
    folders = {name: f"{file_url}/run/events/{name}" for name in ("train", "validation")}
    expected = read_by_tensorboard(headrace, folders, tmp_path)
    assert [step for step, _, _ in expected["train/epoch_loss"]] == list(range(1, 41))
    assert read_by_command(headrace, file_url, "second") == expected
    headrace("runs", "export", file_url, tmp_path / "table.csv")
    assert read_from_table(tmp_path / "table.csv") == {"second": expected}


@pytest.mark.exhaustive
def test_a_training_that_was_stopped_ends_before_its_continuation(headrace, data, file_url, tmp_path):
    headrace(*train(data, f"{file_url}/run", "--run-id", "first", "--track", file_url, epochs=2))
    headrace(*train(data, f"{file_url}/run", "--run-id", "second", "--track", file_url, epochs=4))
    steps = {
        run: [step for step, _, _ in read_by_command(headrace, file_url, run)["train/epoch_loss"]]
        for run in ("first", "second")
    }
    assert steps == {"first": [1, 2], "second": [1, 2, 3, 4]}
    headrace("runs", "export", file_url, tmp_path / "table.csv")
    assert read_from_table(tmp_path / "table.csv").keys() == {"second"}


def test_event_files_of_a_program_of_ones_own_are_metrics_of_its_run(headrace, s3_url, tmp_path):
    import keras

    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", metrics=["mae"])
    numbers = np.random.default_rng(1).normal(size=(64, 2))
    with hr.init(s3_url, system_metrics_each=None) as run:
        run.log({"native": 0.1, "sample": hr.Image(np.zeros((4, 6, 3), "uint8"))})
        run.event_files(tmp_path / "logs", name="keras")
        run.event_files(f"{s3_url}/summaries")
        callback = keras.callbacks.TensorBoard(tmp_path / "logs", histogram_freq=1)
        model.fit(numbers, numbers[:, :1], epochs=3, validation_split=0.5, verbose=0, callbacks=[callback])
        with Writer(f"{s3_url}/summaries") as writer:
            for step in range(100):
                writer.scalar("noise", float(np.float32(step / 7)), step=step)
        with pytest.raises(hr.errors.InvalidArgumentError, match="media"):
            run.event_files(tmp_path, name="media")
    folders = {f"keras/{name}": str(tmp_path / "logs" / name) for name in ("train", "validation")}
    expected = read_by_tensorboard(headrace, {**folders, "events": f"{s3_url}/summaries"}, tmp_path)
    assert {"keras/train/epoch_mae", "keras/validation/epoch_loss", "events/noise"} <= expected.keys()
    seen = read_by_command(headrace, s3_url, run.id)
    assert [value for _, _, value in seen.pop("native")] == [0.1]
    assert seen == expected


def test_damage_in_an_event_file_is_named(headrace, file_url, tmp_path):
    folder = tmp_path / "logs"
    with hr.init(file_url, system_metrics_each=None) as run:
        run.event_files(folder)
        with Writer(str(folder)) as writer:
            for step in range(10):
                writer.scalar("loss", step / 2, step=step)
    (file,) = folder.iterdir()
    headrace("runs", "metrics", file_url, run.id, "--verify")
    content = bytearray(file.read_bytes())
    place = content.index(b"loss", len(content) // 2)
    content[place] ^= 1
    file.write_bytes(content)
    done = headrace("runs", "metrics", file_url, run.id, "--json")
    assert file.name in done.stderr and "warning" in done.stderr
    (metric,) = json.loads(done.stdout)["metrics"]
    assert (metric["name"], metric["points"]) == ("events/loss", 9)
    verified = headrace("runs", "metrics", file_url, run.id, "--verify", check=False)
    assert verified.returncode == 1 and file.name in verified.stderr
    file.write_bytes(os.urandom(5000))
    assert file.name in headrace("runs", "metrics", file_url, run.id, check=False).stderr
