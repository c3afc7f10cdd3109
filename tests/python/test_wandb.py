"""The calls of Weights & Biases' tutorials, on Headrace's record."""

import argparse
import json
import os
import subprocess
import sys

import pytest

import headrace as hr
from headrace import errors, wandb

SECONDS = 120
PROGRAM = """
import sys
import headrace.wandb as wandb

wandb.init(project="p", id="ended")
wandb.log({"loss": 0.5}, step=7)
if len(sys.argv) > 1:
    raise ValueError("no such luck")
"""


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HEADRACE_RUNS", str(tmp_path / "runs"))
    yield
    wandb.finish()


def points(headrace, root, run, metric) -> list[tuple[int, float]]:
    lines = headrace("runs", "metrics", root, run, "--metric", metric).stdout.splitlines()
    return [(int(line.split("\t")[1]), float(line.split("\t")[3])) for line in lines]


def record(headrace, root, run) -> dict:
    return json.loads(headrace("runs", "show", root, run, "--json").stdout)


def test_a_run_of_a_tutorial(headrace, tmp_path):
    with pytest.warns(UserWarning, match="ignored: reinit"):
        run = wandb.init(
            project="cats", name="cnn-1", config={"lr": 0.1}, tags=["a", "b"], entity="us", reinit=True
        )
    assert wandb.run is run and run.name == "cnn-1" and run.project == "cats"
    wandb.config.lr = 0.01
    wandb.config.update(argparse.Namespace(epochs=3), batch=32)
    assert wandb.config["epochs"] == 3 and dict(wandb.config)["batch"] == 32
    with pytest.raises(AttributeError):
        _ = wandb.config.momentum
    for loss in (0.5, 0.25):
        wandb.log({"loss": loss, "nested": {"accuracy": 1 - loss}})
    with pytest.warns(UserWarning, match="picture is a list") as warned:
        wandb.log({"loss": 0.125, "picture": []}, commit=False)
        wandb.log({"also": 1, "picture": []})
    assert len(warned) == 1
    wandb.log({"loss": 0.1, "weights": wandb.Histogram([1, 2, 3])}, step=10)
    wandb.summary["best"] = 0.1
    with pytest.warns(UserWarning, match="not logged"):
        wandb.watch(object())
    wandb.finish()
    assert wandb.run is None
    root = tmp_path / "runs/cats"
    assert points(headrace, root, run.id, "loss") == [(0, 0.5), (1, 0.25), (2, 0.125), (10, 0.1)]
    assert points(headrace, root, run.id, "nested/accuracy") == [(0, 0.5), (1, 0.75)]
    assert points(headrace, root, run.id, "also") == [(2, 1.0)]
    made = record(headrace, root, run.id)
    assert [series["name"] for series in made["end"]["series"]] == ["metrics", "media"]
    assert made["status"] == "finished" and made["end"]["metrics"]["best"] == 0.1
    assert made["start"]["parameters"] == {"lr": "0.1", "name": "cnn-1", "tags": '["a", "b"]'}
    assert made["end"]["parameters"] == {"lr": "0.01", "epochs": "3", "batch": "32"}


def test_artifacts_go_from_run_to_run(headrace, s3_url, tmp_path):
    (tmp_path / "labels.csv").write_text("a,1\n")
    with wandb.init(project="cats", dir=s3_url, job_type="prepare") as maker:
        images = wandb.Artifact("images", "dataset", metadata={"license": "mit"})
        images.add_file(local_path=tmp_path / "labels.csv", name="labels.csv")
        assert wandb.log_artifact(images, aliases=["latest", "reviewed"]).version == "v1"
        with pytest.raises(errors.InvalidArgumentError, match="name= and type="):
            wandb.log_artifact(str(tmp_path / "labels.csv"))
    with wandb.init(project="cats", dir=s3_url) as user:
        used = wandb.use_artifact("images:reviewed", type="dataset")
        assert used.metadata == {"license": "mit"} and wandb.use_artifact("images").number == used.number
        folder = used.download(tmp_path / "copy")
        with pytest.raises(errors.InvalidArgumentError, match="is a dataset, not a model"):
            wandb.use_artifact("images", type="model")
    assert (tmp_path / "copy/labels.csv").read_text() == "a,1\n" and folder == str(tmp_path / "copy")
    assert maker.id != user.id
    shown = headrace("lineage", f"{s3_url}/cats", "images:reviewed").stdout
    assert maker.id in shown and user.id in shown


@pytest.mark.parametrize("fails", [False, True])
def test_a_program_that_just_ends(headrace, tmp_path, fails):
    program = [sys.executable, "-c", PROGRAM, *(["fail"] if fails else [])]
    done = subprocess.run(program, cwd=tmp_path, timeout=SECONDS, check=False, env=os.environ)
    assert (done.returncode != 0) == fails
    assert points(headrace, tmp_path / "runs/p", "ended", "loss") == [(7, 0.5)]
    made = record(headrace, tmp_path / "runs/p", "ended")
    assert made["status"] == ("failed" if fails else "finished")
    assert ("no such luck" in made["end"]["error"]) == fails


def test_calls_without_a_run_and_calls_that_are_not_there():
    with pytest.raises(errors.FailedPreconditionError, match="init"):
        wandb.log({"a": 1})
    wandb.finish()
    with pytest.raises(AttributeError, match="sweep"):
        _ = wandb.sweep


@pytest.mark.slow
def test_callbacks_of_keras(headrace, tmp_path):
    keras = pytest.importorskip("keras")
    import numpy as np

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    rows = np.zeros((8, 2), "float32"), np.zeros((8, 1), "float32")
    with wandb.init(project="k") as run:
        callbacks = [wandb.WandbCallback(), wandb.WandbMetricsLogger(log_freq=2)]
        model.fit(*rows, batch_size=2, epochs=2, verbose=0, callbacks=callbacks)
    assert [step for step, _ in points(headrace, tmp_path / "runs/k", run.id, "batch/loss")] == [2, 4, 6, 8]
    assert isinstance(run.tracked, hr.Run)
