"""TensorFlow, Keras and TensorBoard read the output of training; evaluate and predict are compared with Keras
on the same weights and records."""

import functools
import gzip
import importlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import kill_support
import numpy as np
import published_support
import pytest
import tensorflow as tf
from live_program import Program
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from test_cli import sealed

from headrace import models

WIDTH = 64
EPOCHS = 6
LABELS = ["pos", "neg"]


pytestmark = pytest.mark.usefixtures("tracing_environment")


@pytest.fixture(scope="module")
def job(headrace, tmp_path_factory, tracing_environment):
    """A store after prepare, train, evaluate and predict; what the commands answered is in job.json."""
    folder = tmp_path_factory.mktemp("store")
    kill_support.write_archive(folder / "raw.tar.gz", kill_support.reviews(900))
    stages = {
        "prepare": [folder / "raw.tar.gz", folder / "data", "--encoder", f"hash:{WIDTH}"]
        + ["--shard-records", "100"],
        "train": [folder / "data", folder / "run", "--epochs", EPOCHS, "--batch-size", "32"]
        + ["--validation", "0.2", "--log-every", "5", "--name", "tiny"],
        "evaluate": [folder / "run", "--data", folder / "data", "--batch-size", "50"],
        "predict": [folder / "run", "--data", folder / "data", "--to", folder / "answers"],
    }
    options = ["--track", folder, "--json"]  # whatever records lie above it
    answers = {name: json.loads(headrace(name, *words, *options).stdout) for name, words in stages.items()}
    (folder / "job.json").write_text(json.dumps(answers))
    return folder


@functools.cache
def answer(folder: pathlib.Path, stage: str) -> dict:
    return json.loads((folder / "job.json").read_text())[stage]


def manifest(folder: pathlib.Path) -> dict:
    return json.loads(published_support.manifest(folder).read_text())


@functools.cache
def test_records(folder: pathlib.Path) -> dict[str, np.ndarray]:
    """The test split in its order: sentence, label, id, text."""
    parts = manifest(folder / "data")["parts"]
    shards = [str(folder / "data" / part["key"]) for part in parts if part.get("split") == "test"]
    spec = {
        "sentence": tf.io.FixedLenFeature([WIDTH], tf.float32),
        "label": tf.io.FixedLenFeature([len(LABELS)], tf.int64),
        "id": tf.io.FixedLenFeature([], tf.string),
        "text": tf.io.FixedLenFeature([], tf.string),
    }
    # TFRecordDataset reads several files one after another.
    records = list(tf.data.TFRecordDataset(shards, "GZIP").as_numpy_iterator())
    return {name: value.numpy() for name, value in tf.io.parse_example(records, spec).items()}


test_records.__test__ = False


def saved_predictions(folder: pathlib.Path) -> list[dict]:
    files = sorted((folder / "answers").glob("predictions-*.jsonl.gz"))
    return [json.loads(line) for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]


def probabilities(predictions: list[dict]) -> np.ndarray:
    return np.array([[row["probabilities"][label] for label in LABELS] for row in predictions], "float32")


@functools.cache
def keras_model(folder: pathlib.Path) -> keras.Model:
    """The model's own Python function, with the weights of the last checkpoint."""
    prefix = manifest(folder / "run" / "checkpoints")["attributes"]["prefix"]
    checkpoint = tf.train.load_checkpoint(str(folder / "run" / "checkpoints" / prefix))
    keras.utils.clear_session()  # the names of layers count those of the whole process
    model = models.dense_classifier(features=WIDTH, classes=len(LABELS))
    for variable in model.weights:
        if "seed_generator" not in variable.path:
            key = f"vars/{variable.path.replace('/', '__')}/.ATTRIBUTES/VARIABLE_VALUE"
            variable.assign(checkpoint.get_tensor(key))
    return model


# Checkpoints


@pytest.mark.exhaustive
def test_every_checkpoint_is_read_by_tensorflow(job):
    described = json.loads((job / "run" / "model" / "model.json").read_text())
    steps = [epoch["step"] for epoch in answer(job, "train")["history"]]
    for step in steps:
        folder = job / "run" / "checkpoints" / f"step-{step:08}"
        checkpoint = tf.train.load_checkpoint(str(folder / "variables"))
        shapes = checkpoint.get_variable_to_shape_map()
        for variable in described["variables"]:
            assert shapes[variable["checkpoint_key"]] == variable["shape"], variable["name"]
        (iteration,) = (v for v in described["variables"] if v["name"].endswith("iteration"))
        assert checkpoint.get_tensor(iteration["checkpoint_key"]) == step
    assert len(steps) == EPOCHS


def test_each_epoch_changed_the_weights(job):
    key = "vars/dense_classifier__dense__kernel/.ATTRIBUTES/VARIABLE_VALUE"
    prefixes = sorted((job / "run" / "checkpoints").glob("step-*/variables.index"))
    kernels = [tf.train.load_checkpoint(str(prefix.with_suffix(""))).get_tensor(key) for prefix in prefixes]
    assert len(kernels) == EPOCHS
    for before, after in itertools.pairwise(kernels):
        assert np.abs(after - before).max() > 1e-4


# The export


def test_the_export_answers_as_keras_does_with_the_checkpoint(job):
    sentences = test_records(job)["sentence"]
    expected = keras_model(job).predict(sentences, verbose=0)
    exported = tf.saved_model.load(str(job / "run" / "export"))
    for name in ("predict", "serving_default"):
        given = exported.signatures[name](features=tf.constant(sentences))["predictions"]
        np.testing.assert_allclose(given, expected, atol=1e-6)


def test_keras_takes_the_export_as_a_layer(job):
    sentences = test_records(job)["sentence"]
    layer = keras.layers.TFSMLayer(str(job / "run" / "export"), call_endpoint="serving_default")
    expected = keras_model(job).predict(sentences, verbose=0)
    np.testing.assert_allclose(layer(sentences)["predictions"], expected, atol=1e-6)


def test_the_exports_training_goes_on_in_tensorflow(job):
    exported = tf.saved_model.load(str(job / "run" / "export"))
    step = exported.signatures["train_step"]
    records = test_records(job)
    feed = {
        "features": tf.constant(records["sentence"]),
        "labels": tf.constant(records["label"]),
        "weights": tf.ones([len(records["label"])]),
    }
    losses = [float(step(**feed)["loss"]) for _ in range(30)]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def test_the_named_version_is_the_same_model(headrace, job):
    sentence = "what a great film"
    for run in ("run", "models/tiny/1"):
        done = headrace("predict", job / run, "--text", sentence, "--json")
        if run == "run":
            expected = json.loads(done.stdout)["predictions"]
        assert json.loads(done.stdout)["predictions"] == expected
    versions = tf.saved_model.load(str(job / "models" / "tiny" / "1"))
    assert "serving_default" in versions.signatures


@pytest.fixture
def named(job, tmp_path):
    """A copy of the named model, with a version 2 whose publisher was stopped."""
    shutil.copytree(job / "models", tmp_path / "models")
    taken = {"run": f"file://{tmp_path}/other/export", "manifest_digest": "0" * 64}
    (tmp_path / "models/tiny/_headrace/version-00000002").write_text(json.dumps(taken))
    return tmp_path / "models" / "tiny"


def test_a_named_model_is_listed_with_its_versions(headrace, job, named):
    (model,) = json.loads(headrace("models", "ls", named.parent.parent, "--json").stdout)["models"]
    assert model == {"name": "tiny", "url": f"file://{named}", "versions": 2, "aliases": {"latest": 1}}
    shown = json.loads(headrace("models", "show", named, "--json").stdout)["versions"]
    assert [(v["version"], v["published"], v["aliases"]) for v in shown] == [
        (1, True, ["latest"]),
        (2, False, []),
    ]
    assert shown[0]["export"] == f"file://{job}/run/export"
    assert "not published: its headrace train" in headrace("models", "show", named).stdout
    done = headrace("models", "show", named.parent / "other", check=False)
    assert done.returncode == 1 and "headrace models ls lists" in done.stderr


def test_an_alias_names_a_published_version(headrace, named):
    for _ in range(2):
        headrace("models", "alias", named, "stable", "1", "--track", named.parent.parent)
    (model,) = json.loads(headrace("models", "ls", named.parent.parent, "--json").stdout)["models"]
    assert model["aliases"] == {"latest": 1, "stable": 1}
    assert len(list((named / "_headrace").glob("aliases-*"))) == 2, "the second command changes nothing"
    for words, message in {
        ("stable", "2"): "version 2 of .* is not published",
        ("latest", "1"): "latest .*cannot be set",
        ("1", "1"): "is not a number",
        ("stable", "one"): "VERSION is one",
    }.items():
        done = headrace("models", "alias", named, *words, check=False)
        assert done.returncode == 1 and re.search(message, done.stderr), done.stderr


def test_a_version_is_exported_as_other_servers_load_it(headrace, named):
    place = named.parent.parent
    for _ in range(2):
        headrace("models", "export", named, place / "served", "--track", place)
    layer = keras.layers.TFSMLayer(str(place / "served/tiny/1"), call_endpoint="serving_default")
    original = keras.layers.TFSMLayer(str(named / "1"), call_endpoint="serving_default")
    sentence = np.linspace(0, 1, WIDTH, dtype=np.float32)[np.newaxis]
    np.testing.assert_array_equal(layer(sentence)["predictions"], original(sentence)["predictions"])
    done = headrace("lineage", place / "served/tiny/1/saved_model.pb")
    assert "models export" in done.stdout and f"from file://{named}/1" in done.stdout
    (place / "served/tiny/1/saved_model.pb").write_bytes(b"another model")
    done = headrace("models", "export", named, place / "served", "--track", place, check=False)
    assert done.returncode == 1 and "served/tiny/1/saved_model.pb" in done.stderr
    done = headrace("models", "export", named, place / "served", "--alias", "nope", check=False)
    assert done.returncode == 1 and "has no alias nope; it has latest" in done.stderr


def test_a_version_that_was_altered_is_not_exported(headrace, named):
    data = next((named / "1").rglob("variables.data*"))
    data.write_bytes(data.read_bytes()[::-1])
    done = headrace("models", "export", named, named.parent.parent / "served", check=False)
    assert done.returncode == 1 and "altered" in done.stderr
    assert not (named.parent.parent / "served/tiny/1/saved_model.pb").exists()


# Events


def events(job: pathlib.Path, name: str) -> EventAccumulator:
    """TensorBoard's view of one folder of events, with nothing sampled away."""
    return EventAccumulator(str(job / "run" / "events" / name), {"tensors": 0}).Reload()


def values_of(read: EventAccumulator, plugin: str, tag: str) -> list[tuple[int, np.ndarray]]:
    """Step and value of each event of a tag, which belongs to that dashboard."""
    assert read.SummaryMetadata(tag).plugin_data.plugin_name == plugin
    return [(event.step, tf.make_ndarray(event.tensor_proto)) for event in read.Tensors(tag)]


def test_tensorboard_shows_the_curves(job):
    history = answer(job, "train")["history"]
    for folder, prefix in (("train", ""), ("validation", "val_")):
        read = events(job, folder)
        for metric in ("loss", "accuracy"):
            curve = values_of(read, "scalars", f"epoch_{metric}")
            assert curve == [
                (epoch["epoch"], pytest.approx(epoch[prefix + metric], rel=1e-6)) for epoch in history
            ]


@pytest.mark.exhaustive
def test_a_training_is_followed_while_it_goes_on(build, job, tmp_path):
    train = [build / "bin/headrace", "train", job / "data", tmp_path / "run", "--track", tmp_path]
    options = ["--epochs", "1000000", "--batch-size", "32", "--log-every", "5", "--run-id", "live"]
    with Program(*train, *options) as training:
        while "epoch 1" not in training.line("stderr"):
            pass
        tail = [build / "bin/headrace", "runs", "tail", tmp_path, "live", "--json"]
        with Program(*tail) as following:
            steps = [json.loads(following.line()) for _ in range(30)]
            assert training.process.poll() is None
            by_metric: dict[str, list[int]] = {}
            for shown in steps:
                for name in shown["metrics"]:
                    by_metric.setdefault(name, []).append(shown["step"])
            assert {"train/epoch_loss", "validation/epoch_loss"} <= by_metric.keys(), by_metric
            for logged in by_metric.values():
                assert logged == sorted(set(logged))
            training.process.send_signal(signal.SIGTERM)
            assert training.code() != 0
            *_, end, error = map(json.loads, following.rest())
            assert (end["run"], end["status"]) == ("live", "stopped")
            assert error["error"]["code"] == "ABORTED"
            assert following.code() == 1


def test_tensorboard_shows_where_the_time_went(job):
    read = events(job, "train")
    shares = [
        values_of(read, "scalars", f"epoch_{part}_percent") for part in ("input", "hand_over", "compute")
    ]
    for epoch, parts in enumerate(zip(*shares, strict=True), start=1):
        assert [step for step, _ in parts] == [epoch] * 3
        assert all(0 <= share <= 100 for _, share in parts)
        assert sum(share for _, share in parts) == pytest.approx(100, abs=1e-3)
    assert len(shares[0]) == EPOCHS
    assert all(share > 0 for _, share in shares[2])


def test_tensorboard_shows_losses_within_epochs(job):
    steps = [step for step, _ in values_of(events(job, "train"), "scalars", "batch_loss")]
    assert steps == list(range(5, answer(job, "train")["steps"] + 1, 5))


def test_tensorboard_shows_weights(job):
    read = events(job, "train")
    described = json.loads((job / "run" / "model" / "model.json").read_text())
    trainable = [variable for variable in described["variables"] if variable["role"] == "trainable"]
    assert trainable
    for variable in trainable:
        histograms = values_of(read, "histograms", variable["name"])
        assert [step for step, _ in histograms] == list(range(1, EPOCHS + 1))
        for _, buckets in histograms:
            assert buckets[:, 2].sum() == np.prod(variable["shape"])
    key = "vars/dense_classifier__dense__kernel/.ATTRIBUTES/VARIABLE_VALUE"
    (*_, last) = sorted((job / "run" / "checkpoints").glob("step-*/variables.index"))
    kernel = tf.train.load_checkpoint(str(last.with_suffix(""))).get_tensor(key)
    _, buckets = values_of(read, "histograms", "dense_classifier__dense__kernel")[-1]
    assert (buckets[0, 0], buckets[-1, 1]) == (kernel.min(), kernel.max())


def test_tensorboard_shows_the_graph(job):
    graph = tf.compat.v1.GraphDef.FromString(events(job, "train").Graph().SerializeToString())
    functions = [node for function in graph.library.function for node in function.node_def]
    assert any(node.op == "MatMul" for node in [*graph.node, *functions])


# Evaluate and predict


def test_evaluate_measures_what_keras_measures(job):
    records = test_records(job)
    loss, accuracy = keras_model(job).evaluate(
        records["sentence"], records["label"], batch_size=50, verbose=0
    )
    evaluated = answer(job, "evaluate")
    assert evaluated["records"] == len(records["label"])
    assert evaluated["loss"] == pytest.approx(loss, rel=1e-5)
    (target,) = evaluated["targets"]
    assert target["accuracy"] == evaluated["metrics"]["accuracy"] == pytest.approx(accuracy)
    assert accuracy > 0.6, "nothing was learnt, so little was tested"


def test_evaluate_counts_what_predict_answers(job):
    truth = test_records(job)["label"].argmax(1)
    predicted = probabilities(saved_predictions(job)).argmax(1)
    counts = np.zeros((2, 2), int)
    np.add.at(counts, (truth, predicted), 1)
    (target,) = answer(job, "evaluate")["targets"]
    assert target["kind"] == "classes"
    assert target["confusion"] == {"labels": LABELS, "counts": counts.tolist()}
    for i, row in enumerate(target["classes"]):
        assert row["label"] == LABELS[i]
        assert row["support"] == counts[i].sum()
        assert row["precision"] == pytest.approx(counts[i, i] / counts[:, i].sum())
        assert row["recall"] == pytest.approx(counts[i, i] / counts[i].sum())
        assert row["f1"] == pytest.approx(2 * counts[i, i] / (counts[i].sum() + counts[:, i].sum()))


def test_the_evaluation_is_kept_with_the_run(headrace, job):
    evaluated = answer(job, "evaluate")
    (kept,) = (job / "run" / "evaluations").glob("*.json")
    assert json.loads(kept.read_text()).items() <= evaluated.items()
    assert evaluated["url"] == f"file://{kept}"
    lineage = json.loads(headrace("lineage", kept, "--json").stdout)
    assert f"file://{job}/run/export" in json.dumps(lineage)
    assert f"file://{job}/data" in json.dumps(lineage)


@pytest.mark.exhaustive
def test_an_evaluation_that_is_started_again_under_its_id_is_the_same(headrace, job):
    words = ["evaluate", job / "run", "--data", job / "data", "--run-id", "again", "--track", job]
    headrace(*words)
    kept = job / "run" / "evaluations" / "again.json"
    before = kept.read_bytes()
    headrace(*words)
    other = headrace(*words, "--split", "train", check=False)
    assert other.returncode == 1 and "choose another --run-id" in other.stderr
    assert kept.read_bytes() == before
    kept.unlink()
    kept.with_suffix(".html").unlink()


def test_predict_answers_to_a_data_set_as_keras_does(headrace, job):
    records = test_records(job)
    predictions = saved_predictions(job)
    assert [row["id"].encode() for row in predictions] == records["id"].tolist()
    expected = keras_model(job).predict(records["sentence"], verbose=0)
    np.testing.assert_allclose(probabilities(predictions), expected, atol=1e-6)
    assert [LABELS.index(row["label"]) for row in predictions] == expected.argmax(1).tolist()
    assert "as published" in headrace("verify", job / "answers").stdout


def test_predict_answers_to_texts_as_to_their_records(headrace, job):
    texts = [text.decode() for text in test_records(job)["text"]][:30]
    words = ["--text", texts[0], "--text", "-", "--text", texts[29]]
    done = headrace("predict", job / "run", *words, "--json", input="\n".join(texts[1:29]) + "\n")
    predictions = json.loads(done.stdout)["predictions"]
    assert [row["text"] for row in predictions] == texts
    expected = probabilities(saved_predictions(job)[:30])
    np.testing.assert_allclose(probabilities(predictions), expected, atol=1e-6)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_predict_answers_a_program_that_waits(build, job, options):
    with subprocess.Popen(
        [build / "bin" / "headrace", "predict", job / "run", "--text", "-", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(120, process.kill)  # readline would wait for ever
        watchdog.start()
        lines = []
        for text in ("a great film", "a bad film"):
            process.stdin.write(text + "\n")
            process.stdin.flush()
            if options and not lines:
                lines.append(process.stdout.readline())
            lines.append(process.stdout.readline())
            assert text in lines[-1]
        rest, _ = process.communicate()
        watchdog.cancel()
    assert process.returncode == 0
    if options:
        assert len(json.loads("".join(lines) + rest)["predictions"]) == 2


def test_predict_shows_people_a_line_for_each_text(headrace, job):
    done = headrace("predict", job / "run", "--text", "a great film", "--text", "")
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    label, share, text = lines[0].split(maxsplit=2)
    assert label in LABELS
    assert 0.5 <= float(share) <= 1
    assert text == "a great film"


def test_the_demo_shows_what_the_stages_answer(root, job, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(root / "tools")
    demo = importlib.import_module("demo")
    stages = [demo.Stage("train", 10, 1.0)]
    answers = [line | {"text": line["id"], "expected": None} for line in saved_predictions(job)[:3]]
    evaluated = answer(job, "evaluate")
    results = demo.results_of(demo.Job(str(job)), stages, answer(job, "train"), evaluated, answers)
    demo.print_table(stages, results["test"]["accuracy"])
    demo.print_answers(answers)
    assert f"test accuracy {evaluated['targets'][0]['accuracy']:.4f}" in capsys.readouterr().out
    page = demo.write_report(tmp_path, results).read_text(encoding="utf-8")
    assert all(line["id"] in page for line in answers)


def test_predict_refuses_an_encoder_with_other_weights(headrace, job, tmp_path):
    headrace("cp", "--recursive", f"file://{job}/run/export", f"file://{tmp_path}/other/export")
    published = published_support.manifest(tmp_path / "other" / "export")
    document = json.loads(published.read_text())
    del document["zz_crc32c"]
    real = document["attributes"]["encoders"]["sentence"]["weights_digest"]
    document["attributes"]["encoders"]["sentence"]["weights_digest"] = "f" * 64
    published.write_bytes(sealed(document))
    done = headrace("predict", tmp_path / "other", "--text", "x", check=False)
    assert done.returncode == 1
    assert real[:16] in done.stderr
    assert "ffffffffffffffff" in done.stderr


def write_reviews(folder: pathlib.Path, entries: list[tuple[str, bytes]]) -> None:
    for name, text in entries:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)


@pytest.mark.exhaustive
def test_a_run_of_version_1_of_the_order_continues_to_the_same_bits(headrace, tmp_path):
    entries = list(kill_support.reviews(600).items())
    write_reviews(tmp_path / "in", entries[:400])
    headrace("prepare", tmp_path / "in", tmp_path / "data", "--encoder", f"hash:{WIDTH}")
    write_reviews(tmp_path / "in", entries[400:])
    headrace("prepare", tmp_path / "in", tmp_path / "data", "--append")

    def train(name: str) -> dict:
        words = ["--epochs", "2", "--batch-size", "32", "--validation", "0.15", "--json"]
        return json.loads(headrace("train", tmp_path / "data", tmp_path / name, *words).stdout)

    newest = train("newest")
    claim = tmp_path / "whole" / "_headrace" / "configuration"
    claim.parent.mkdir(parents=True)
    configuration = published_support.configuration(tmp_path / "newest")
    claim.write_text(json.dumps({**configuration, "stage": "train 1"}))
    whole = train("whole")
    assert whole["validation_records"] == 72, "0.15 of 480"
    assert newest["validation_records"] != 72, "a hash decides"
    assert whole["history"] != newest["history"]

    shutil.copytree(tmp_path / "whole", tmp_path / "interrupted")  # as after the first epoch
    shutil.rmtree(tmp_path / "interrupted" / "export")
    published_support.manifests(tmp_path / "interrupted" / "checkpoints")[-1].unlink()
    state = json.loads(manifest(tmp_path / "interrupted" / "checkpoints")["attributes"]["state"])
    assert state["order"] == 1
    assert train("interrupted")["history"] == whole["history"]
    runs = (kill_support.objects_below(tmp_path / name) for name in ("interrupted", "whole"))
    kill_support.assert_same(*(kill_support.of_run(objects) for objects in runs))


@pytest.mark.exhaustive
def test_a_cache_changes_nothing_but_where_bytes_come_from(headrace, job, tmp_path):
    cache = tmp_path / "cache"
    words = ["--epochs", EPOCHS, "--batch-size", "32", "--validation", "0.2", "--log-every", "5"]

    def train(name: str) -> dict:
        url = f"file://{cache}?max=1GiB"
        return json.loads(
            headrace("train", job / "data", tmp_path / name, *words, "--cache", url, "--json").stdout
        )

    first = train("first")
    assert first["history"] == answer(job, "train")["history"]
    kept = [path for path in cache.rglob("*") if path.is_file()]
    assert kept
    kept[0].write_bytes(kept[0].read_bytes()[:-1])  # damaged, so fetched again
    assert train("second")["history"] == first["history"]
