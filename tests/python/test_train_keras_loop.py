"""`headrace train --loop keras`: Keras' own fit, with callbacks and steps of one's own, killed, continued."""

import json
import os
import pathlib
import re
import runpy
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import kill_support
import numpy as np
import published_support
import pytest
import tensorflow as tf
from headrace._src import fit
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import headrace as hr

WIDTH = 32
EPOCHS = 4
OPTIONS = ["--batch-size", "32", "--validation", "0.2", "--log-every", "5"]

MODELS = """
    import os, pathlib, signal
    import keras

    def network(features, classes):
        return keras.Sequential([keras.Input((features,)), keras.layers.Dense(8, "relu"),
                                 keras.layers.Dropout(0.5), keras.layers.Dense(classes, "softmax")])

    def plain(features, classes):
        model = network(features, classes)
        metrics = ["accuracy", keras.metrics.F1Score(name="f1")]
        model.compile(keras.optimizers.Adam(0.05), "categorical_crossentropy", metrics=metrics)
        return model

    def scheduled(features, classes):
        model = network(features, classes)
        rate = keras.optimizers.schedules.ExponentialDecay(0.02, 20, 0.9)
        model.compile(keras.optimizers.Adam(rate), "categorical_crossentropy", metrics=["accuracy"])
        return model

    def wild(features, classes):
        model = network(features, classes)
        model.compile(keras.optimizers.SGD(1e30), "categorical_crossentropy")
        return model

    def overfits(features, classes):
        model = network(features, classes)
        model.compile(keras.optimizers.SGD(30.0), "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model

    def not_compiled(features, classes):
        return network(features, classes)

    def two_inputs(features, classes):
        inputs = [keras.Input((features,)), keras.Input((features,))]
        model = keras.Model(inputs, keras.layers.Dense(classes)(keras.layers.Concatenate()(inputs)))
        model.compile("sgd", "mse")
        return model

    class Counting(keras.Sequential):
        def train_step(self, data):
            features, labels = data
            self.layers[-1].bias.assign_add([1.0, -1.0])
            return {"loss": self.compute_loss(features, labels, self(features)), "mine": 7.0}

    def own_step(features, classes):
        model = Counting([keras.Input((features,)), keras.layers.Dense(classes, "softmax")])
        model.compile("sgd", "categorical_crossentropy", metrics=["accuracy"])
        return model

    class Death(keras.callbacks.Callback):
        '''Kills this process or its parent at the moment that a file names, once.'''

        def __init__(self):
            super().__init__()
            self.file = pathlib.Path(os.environ.get("DEATH", "/nowhere"))
            self.wanted = self.file.read_text().split() if self.file.exists() else []

        def at(self, *moment):
            if self.wanted[1:] == [str(part) for part in moment]:
                self.file.unlink()
                self.file.with_suffix(".pid").write_text(str(os.getpid()))
                os.kill(os.getppid() if self.wanted[0] == "parent" else os.getpid(), signal.SIGKILL)
                signal.pause()

        def on_train_batch_end(self, batch, logs=None):
            self.at("batch", self.epoch, batch)

        def on_epoch_begin(self, epoch, logs=None):
            self.epoch = epoch

        def on_epoch_end(self, epoch, logs=None):
            self.at("epoch", epoch)

        def on_train_end(self, logs=None):
            self.at("end")

    class Remembering(keras.callbacks.Callback):
        '''Multiplies the first bias at the end, by the number of epochs that it has seen.'''

        seen = 0

        def get_state(self):
            return {"seen": self.seen}

        def set_state(self, state):
            self.seen = state["seen"]

        def on_epoch_end(self, epoch, logs=None):
            self.seen += 1

        def on_train_end(self, logs=None):
            bias = self.model.layers[0].bias
            bias.assign(bias * self.seen)

    def callbacks(epochs, steps_per_epoch, run):
        print("callbacks are made for", epochs, "epochs")
        return [keras.callbacks.LearningRateScheduler(lambda epoch: 0.05 * 0.9**epoch)]

    def with_state():
        return [Death(), Remembering(), keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)]

    def fails_in_fit():
        class Failing(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                raise ValueError("my own fault")
        return [Failing()]

    def no_list():
        return keras.callbacks.EarlyStopping()

    def resuming():
        return [keras.callbacks.BackupAndRestore("/tmp/never")]
"""


pytestmark = pytest.mark.usefixtures("tracing_environment")


@pytest.fixture(scope="module")
def store(headrace, tmp_path_factory, tracing_environment) -> Iterator[pathlib.Path]:
    """A folder with data/, and models in mine.py."""
    folder = tmp_path_factory.mktemp("store")
    (folder / "mine.py").write_text(textwrap.dedent(MODELS))
    kill_support.write_archive(folder / "raw.tar.gz", kill_support.reviews(700))
    words = ["--encoder", f"hash:{WIDTH}", "--shard-records", "100", "--compression", "none"]
    headrace("prepare", folder / "raw.tar.gz", folder / "data", *words)
    yield folder
    for name in ("mine", "how_to_page"):  # other files have modules of these names
        sys.modules.pop(name, None)


def words_of(store: pathlib.Path, run: str, model: str, callbacks: str = "", *more: str) -> list[str]:
    words = ["train", store / "data", store / run, "--loop", "keras", "--model", f"{store}/mine.py:{model}"]
    words += ["--callbacks", f"{store}/mine.py:{callbacks}"] if callbacks else []
    words += ["--track", store]  # whatever records lie above it
    return [str(word) for word in [*words, *OPTIONS, *more]]


@pytest.fixture(scope="module")
def job(headrace, store) -> dict:
    """The answers of train, evaluate and predict for one run, and the lines that train printed."""
    done = headrace(
        *words_of(store, "run", "plain", "callbacks", "--epochs", EPOCHS, "--name", "tiny", "--json")
    )
    answers = {"train": json.loads(done.stdout), "printed": done.stderr}
    for words in (["evaluate", store / "run"], ["predict", store / "run", "--to", store / "answers"]):
        answered = headrace(*words, "--data", store / "data", "--json").stdout
        answers[words[0]] = json.loads(answered)
    return answers


@pytest.fixture(scope="module")
def native(headrace, store) -> dict:
    """The answer of train for one epoch of the native loop."""
    words = words_of(store, "native", "plain", "", "--epochs", "1", "--json")
    words[words.index("keras")] = "native"
    return json.loads(headrace(*words).stdout)


def npz_variables(run: pathlib.Path, step: int) -> list[np.ndarray]:
    with np.load(run / "checkpoints" / f"variables-{step:08}.npz") as values:
        return [values[name] for name in values.files if not name.startswith("callback")]


def exported(run: pathlib.Path) -> dict[str, np.ndarray]:
    reader = tf.train.load_checkpoint(str(run / "export" / "variables" / "variables"))
    return {key: reader.get_tensor(key) for key in reader.get_variable_to_shape_map() if key[:5] == "vars/"}


def curve(run: pathlib.Path, part: str, tag: str) -> list[tuple[int, float]]:
    read = EventAccumulator(str(run / "events" / part), {"tensors": 0}).Reload()
    return [(event.step, float(tf.make_ndarray(event.tensor_proto))) for event in read.Tensors(tag)]


# Results of a run


@pytest.mark.exhaustive
def test_it_trains_as_the_native_loop_does(job, native):
    """The same model, seed and order; only the last bits of sums may differ, so the first epoch agrees."""
    assert set(job["train"]) == {*native, "named"}
    first = job["train"]["history"][0]
    assert {"f1_0", "f1_1", "val_f1_0", "val_f1_1"} < set(native["history"][0])  # a metric of two numbers
    assert {name: first[name] for name in native["history"][0]} == pytest.approx(
        native["history"][0], rel=1e-3
    )
    for name in ("train_records", "validation_records", "parameters", "loss", "optimizer", "layers"):
        assert job["train"][name] == native[name]


@pytest.mark.slow
def test_callbacks_are_honoured_and_what_they_print_is_no_result(job):
    rates = [epoch["learning_rate"] for epoch in job["train"]["history"]]
    assert rates == pytest.approx([0.05 * 0.9**epoch for epoch in range(EPOCHS)])
    assert f"callbacks are made for {EPOCHS} epochs" in job["printed"]
    assert "oneDNN" not in job["printed"]


def test_the_export_is_the_model_of_the_last_checkpoint(store, job):
    model = runpy.run_path(str(store / "mine.py"))["plain"](WIDTH, 2)
    weights = npz_variables(store / "run", job["train"]["steps"])
    for variable, value in zip(model.variables, weights, strict=False):
        variable.assign(value)
    features = np.random.default_rng(1).normal(size=(50, WIDTH)).astype("float32")
    served = tf.saved_model.load(str(store / "run" / "export"))
    given = served.signatures["serving_default"](features=tf.constant(features))["predictions"]
    np.testing.assert_allclose(given, model.predict(features, verbose=0), atol=1e-6)
    assert "train_step" in served.signatures


def test_evaluate_and_predict_take_it(store, job):
    records = hr.open(store / "data", split="test").loader(batch_size=140, shuffle=False)
    batch = next(records)
    served = tf.saved_model.load(str(store / "run" / "export")).signatures["serving_default"]
    predicted = served(features=tf.constant(batch["sentence"]))["predictions"].numpy().argmax(1)
    truth = batch["label"].argmax(1)
    assert job["evaluate"]["targets"][0]["accuracy"] == pytest.approx(float((predicted == truth).mean()))
    assert set(job["evaluate"]["metrics"]) == {"accuracy", "f1_0", "f1_1", "loss"}
    assert job["predict"]["records"] == job["evaluate"]["records"] == 140
    assert job["train"]["named"]["version"] == 1


def test_tensorboard_shows_the_curves(store, job):
    history = job["train"]["history"]
    for part, prefix in (("train", ""), ("validation", "val_")):
        for metric in ("loss", "accuracy", "f1_0", "f1_1"):
            expected = [(epoch["epoch"], pytest.approx(epoch[prefix + metric])) for epoch in history]
            assert curve(store / "run", part, f"epoch_{metric}") == expected
    steps = [step for step, _ in curve(store / "run", "train", "batch_loss")]
    assert steps == list(range(5, job["train"]["steps"] + 1, 5))


def test_the_run_is_recorded_and_whole(headrace, store, job):
    runs = json.loads(headrace("runs", "ls", store, "--json").stdout)["runs"]
    (run, *_) = [run for run in runs if run["start"]["output"] == f"file://{store}/run"]
    assert (run["start"]["command"], run["status"]) == ("train", "finished")
    assert run["start"]["parameters"]["loop"] == "keras"
    assert run["end"]["metrics"]["val_loss"] == job["train"]["history"][-1]["val_loss"]
    assert "as published" in headrace("verify", store / "run").stdout


def test_the_same_command_does_nothing_more(headrace, store, job):
    words = words_of(store, "run", "plain", "callbacks", "--epochs", str(EPOCHS), "--name", "tiny", "--json")
    again = json.loads(headrace(*words).stdout)
    assert again["was_finished"] is True
    for name in ("history", "export_digest", "steps", "exported_epoch", "named", "layers"):
        assert again[name] == job["train"][name]


def test_another_configuration_is_refused_by_name(headrace, store, job):
    done = headrace(*words_of(store, "run", "plain", "", "--epochs", str(EPOCHS)), check=False)
    assert done.returncode == 1
    assert "callbacks was" in done.stderr
    native = ["train", store / "data", store / "run", "--epochs", EPOCHS, *OPTIONS]
    done = headrace(*native, check=False)
    assert "loop was keras and is now (absent)" in done.stderr


@pytest.mark.exhaustive
def test_a_train_step_of_ones_own_is_honoured(headrace, store):
    words = words_of(store, "own", "own_step", "", "--epochs", "2", "--json")
    answer = json.loads(headrace(*words).stdout)
    assert [epoch["mine"] for epoch in answer["history"]] == [7.0, 7.0]
    (bias,) = (value for key, value in exported(store / "own").items() if "dense__bias" in key)
    np.testing.assert_array_equal(bias, [answer["steps"], -answer["steps"]])
    assert "train_step" not in tf.saved_model.load(str(store / "own" / "export")).signatures
    assert "loss" in json.loads(
        headrace("evaluate", store / "own", "--data", store / "data", "--json").stdout
    )


@pytest.mark.exhaustive
def test_early_stop_exports_the_best_epoch(headrace, store):
    words = words_of(store, "early", "overfits", "", "--epochs", "40", "--early-stop", "3", "--json")
    answer = json.loads(headrace(*words).stdout)
    losses = [epoch["val_loss"] for epoch in answer["history"]]
    best = int(np.argmin(losses)) + 1
    assert answer["stopped_early"] is True
    assert (answer["exported_epoch"], len(losses)) == (best, best + 3)
    kept = npz_variables(store / "early", answer["history"][best - 1]["step"])
    for value in exported(store / "early").values():
        assert any(np.array_equal(value, other) for other in kept)


# Killed


@pytest.fixture(scope="module")
def undisturbed(headrace, store) -> dict:
    words = words_of(store, "undisturbed", "scheduled", "with_state", "--epochs", "6", "--json")
    return json.loads(headrace(*words).stdout)


def has_gone(process: int) -> bool:
    for _ in range(100):
        if not pathlib.Path(f"/proc/{process}").exists():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.exhaustive
def test_a_killed_training_gives_the_bytes_of_one_never_killed(headrace, store, undisturbed, tmp_path):
    """Weights, optimizer, seeds, the state of callbacks, the curves."""
    words = words_of(store, "killed", "scheduled", "with_state", "--epochs", "6", "--json")
    death = tmp_path / "death"
    for moment in ("child batch 0 3", "parent epoch 2", "parent batch 3 1", "child end"):
        death.write_text(moment)
        done = headrace(*words, check=False, env={"DEATH": str(death)})
        assert not death.exists(), "the moment came"
        assert done.returncode == (-signal.SIGKILL if moment.startswith("parent") else 1)
        assert has_gone(int(death.with_suffix(".pid").read_text())), "no process is left"
        assert published_support.manifests(store / "killed" / "export") == []
        if moment.startswith("child"):
            assert "signal 9 (Killed)" in done.stderr
            assert "the same command continues" in done.stderr
    answer = json.loads(headrace(*words).stdout)
    assert answer["history"] == undisturbed["history"]
    for name in ("export/variables/variables.index", "export/variables/variables.data-00000-of-00001"):
        assert (store / "killed" / name).read_bytes() == (store / "undisturbed" / name).read_bytes()
    for part, tag in (("train", "epoch_loss"), ("validation", "epoch_loss"), ("train", "batch_loss")):
        assert curve(store / "killed", part, tag) == curve(store / "undisturbed", part, tag)


def test_an_interrupt_ends_both_processes(build, store):
    process = subprocess.Popen(
        [build / "bin" / "headrace", *words_of(store, "interrupted", "plain", "", "--epochs", "500")],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert any(line.startswith("epoch 1/500") for line in process.stderr)
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=3)
    assert process.returncode == 1
    assert "the same command continues" in errors
    assert "Traceback" not in errors
    assert [has_gone(int(child)) for child in children] == [True]


# Errors


class Messages:
    """Collects what the command would be told, and answers as it does."""

    def __init__(self, checkpoints: str):
        self.said = {}
        self.checkpoints = checkpoints

    def say(self, **message):
        self.said |= message

    def ask(self, **message) -> str:
        self.say(**message)
        if "model" not in message:
            return "go on\n"
        hr._headrace.Owner.take(self.checkpoints, "keras-checkpoint", "train")
        return json.dumps({"entry": 1, "generation": 1, "last": 1, "published": 0, "suffix": ""})


def fit_here(
    store: pathlib.Path,
    folder: pathlib.Path,
    model: str,
    callbacks: str = "",
    *,
    file: str = "mine.py",
    callbacks_file: pathlib.Path | None = None,
    **more,
) -> dict:
    """Runs the child's part in this process: TensorFlow takes seconds to load."""
    request = {
        "folder": str(folder), "model": f"{store}/{file}:{model}", "model_seed": 1,
        "spec": {
            "features": [{"name": "sentence", "dtype": "float32", "shape": [WIDTH]}],
            "labels": [{"name": "label", "dtype": "int64", "shape": [2], "classes": 2, "one_hot": True}],
            "arguments": {},
        },
        "callbacks": f"{callbacks_file or store / file}:{callbacks}" if callbacks else "",
        "data": str(store / "data"), "version": None, "split": "train", "cache": "", "on_corrupt": "fail",
        "order": 2, "train_records": 400, "augment": [], "balance": "", "bucket": "", "image_size": None,
        "batch_size": 32, "seed": 1, "epochs": 1, "steps": 0, "early_stop": 0, "learning_rate": None,
        "init_from": None, "log_every": 0, "training_budget_bytes": 1 << 28,
        "validation_budget_bytes": 1 << 28, "loader_threads": 1, "run": str(folder / "run"),
        "checkpoints": str(folder / "run" / "checkpoints"), **more,
    }  # fmt: skip
    keras.backend.clear_session()
    messages = Messages(request["checkpoints"])
    status = fit.run(request, messages, lambda request: None)
    assert status == (0 if "done" in messages.said else 1)
    return messages.said


FAULTS = {
    "not compiled": (["not_compiled"], r"call model\.compile"),
    "no such model": (["plian"], "did you mean 'plain'"),
    "two inputs": (["two_inputs"], r"it is not clear what \w+ takes(.|\n)*Say which goes where: --features"),
    "no such callbacks": (["plain", "callback"], "did you mean 'callbacks'"),
    "no list": (["plain", "no_list"], "must return a list of Keras callbacks"),
    "one that resumes": (["plain", "resuming"], "headrace train resumes by itself"),
    "fails": (["plain", "fails_in_fit"], r"ValueError: my own fault \(.*mine.py:\d+\)"),
}


@pytest.mark.parametrize("arguments, message", FAULTS.values(), ids=FAULTS)
def test_faults_of_the_users_code_say_what_to_change(store, tmp_path, arguments, message):
    said = fit_here(store, tmp_path, *arguments)
    assert re.search(message, said["error"]["message"])


def test_a_model_and_callbacks_in_two_files_of_one_name_are_refused(store, tmp_path):
    other = tmp_path / "mine.py"
    other.write_text("def callbacks():\n    return []\n")
    said = fit_here(store, tmp_path, "plain", "callbacks", callbacks_file=other)
    assert re.search("cannot be imported beside .*, which has the same name", said["error"]["message"])


@pytest.mark.exhaustive
def test_the_code_of_the_how_to_page_runs(root, store, tmp_path):
    text = (root / "docs" / "how-to" / "keras-loop.md").read_text()
    (store / "how_to_page.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)))
    said = fit_here(store, tmp_path, "build", "callbacks", file="how_to_page.py", epochs=3)
    assert "done" in said, said
    assert [epoch["learning_rate"] for epoch in said["done"]["history"]] == pytest.approx(
        [1e-3 * 0.9**epoch for epoch in range(3)]
    )


def test_a_rate_that_a_schedule_computes_cannot_be_set(store, tmp_path):
    said = fit_here(store, tmp_path, "scheduled", learning_rate=0.1)
    assert "computes its learning rate with a schedule" in said["error"]["message"]


def test_a_loss_that_is_not_finite_ends_it(headrace, store):
    done = headrace(*words_of(store, "wild", "wild"), check=False)
    assert done.returncode == 1
    assert re.search(
        r"the loss became nan at step \d+ in epoch 1; no checkpoint was written yet", done.stderr
    )
    assert "try a smaller --learning-rate" in done.stderr


def test_callbacks_without_the_loop_that_calls_them_are_a_wrong_command_line(headrace, store):
    done = headrace("train", store / "data", store / "x", "--callbacks", "mine.py:callbacks", check=False)
    assert done.returncode == 2
    assert "give --loop keras" in done.stderr


# Options


@pytest.mark.exhaustive
@pytest.mark.parametrize("loop", ["keras", pytest.param("native", marks=pytest.mark.slow)])
def test_it_begins_with_a_run_of_either_loop(request, store, tmp_path, loop):
    """Its weights stay, since nothing is learnt; 20 steps are an epoch of 13 and 7 of the next."""
    request.getfixturevalue("job" if loop == "keras" else "native")
    run = store / ("run" if loop == "keras" else "native")
    before = {
        "url": str(run / "checkpoints"),
        "kind": "keras-checkpoint" if loop == "keras" else "checkpoint",
    }
    said = fit_here(store, tmp_path, "plain", init_from=before, steps=20, epochs=5, learning_rate=0.0)
    assert [epoch["step"] for epoch in said["done"]["history"]] == [13, 20]
    weights = [value for key, value in exported(run).items() if "__dense" in key and "adam" not in key]
    assert len(weights) == 4
    ended = npz_variables(tmp_path / "run", 20)
    for value in weights:
        assert any(np.array_equal(value, other) for other in ended)


def test_the_native_loop_does_not_begin_with_a_run_of_keras(headrace, store, job, tmp_path):
    words = ["train", store / "data", tmp_path / "run", "--init-from", store / "run"]
    refused = headrace(*words, check=False)
    assert refused.returncode == 1
    assert "was trained by Keras' fit: give --loop keras here too" in refused.stderr


@pytest.mark.exhaustive
def test_damaged_records_are_left_out_and_counted_as_in_the_native_loop(headrace, store, tmp_path):
    headrace("cp", "--recursive", f"file://{store}/data", f"file://{tmp_path}/data")
    shard = sorted((tmp_path / "data").glob("train-*"))[0]
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    words = words_of(store, "x", "plain", "", "--epochs", "1", "--on-corrupt", "skip-record", "--json")
    words[1:3] = [str(tmp_path / "data"), str(tmp_path / "native")]
    words[words.index("keras")] = "native"
    native = json.loads(headrace(*words, "--seed", "1").stdout)
    data = {"data": str(tmp_path / "data"), "train_records": native["train_records"]}
    said = fit_here(store, tmp_path, "plain", on_corrupt="skip-record", **data)
    assert said["done"]["corrupt_records"] == native["corrupt_records"] >= 1
    for name, value in native["history"][0].items():
        assert said["done"]["history"][0][name] == pytest.approx(value, rel=1e-3)
    (tmp_path / "again").mkdir()
    said = fit_here(store, tmp_path / "again", "plain", **data)
    assert said["error"]["code"] == "DATA_LOSS"
    assert shard.name in said["error"]["message"]


@pytest.mark.slow
@pytest.mark.soak
def test_one_loop_overwrites_what_another_left(headrace, store, tmp_path):
    run = tmp_path / "run"
    for loop, suffix in (("keras", ".npz"), ("native", ".index"), ("keras", ".npz")):
        words = words_of(store, "x", "plain", "", "--epochs", "1", "--overwrite")
        words[2] = str(run)
        words[words.index("--loop") + 1] = loop
        headrace(*words)
        files = {path.suffix for path in (run / "checkpoints").rglob("variables*")}
        assert files & {".npz", ".index"} == {suffix}
        assert "as published" in headrace("verify", run).stdout
