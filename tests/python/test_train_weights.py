"""`headrace train --weights` and `--class-weights`, metrics with a state, and the meaning of scores."""

import csv
import json
import os
import random
import textwrap

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
import tensorflow as tf
from headrace._src.model import Answers, _Output

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tracing_environment")]

LOOPS = ["native", "keras"]
RECORDS, BATCH = 120, 25
SCHEMA = """
    id = "name"
    [features.name]
    type = "string"
    [features.a]
    type = "float32"
    [features.b]
    type = "float32"
    [features.kind]
    type = "label"
    vocabulary = ["ham", "spam"]
    [features.sign]
    type = "int64"
    [features.cost]
    type = "float32"
"""
MODELS = """
    import keras
    from keras import layers

    def _model(activation, loss, units=1, **compiled):
        a, b = keras.Input((1,), name="a"), keras.Input((1,), name="b")
        hidden = layers.Dense(6, "tanh")(layers.Concatenate()([a, b]))
        model = keras.Model({"a": a, "b": b}, layers.Dense(units, activation, name="out")(hidden))
        model.compile(keras.optimizers.Adam(0.05), loss, **compiled)
        return model

    def mail():
        metrics = ["accuracy", keras.metrics.AUC(name="auc"), "Recall"]
        weighted = [keras.metrics.Precision(name="precision"), "accuracy"]
        return _model("sigmoid", "binary_crossentropy", metrics=metrics, weighted_metrics=weighted)

    class Seen(keras.metrics.Metric):
        def __init__(self):
            super().__init__(name="seen")
            self.values = []

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.values.append(float(keras.ops.mean(y_pred).numpy()))

        def result(self):
            return sum(self.values)

        def reset_state(self):
            self.values = []

    def odd():
        return _model("sigmoid", "binary_crossentropy", metrics=[Seen(), "AUC"])

    def logits():
        return _model(None, keras.losses.BinaryCrossentropy(from_logits=True))

    def margins():
        return _model(None, "hinge")

    def numbered():
        return _model("softmax", "sparse_categorical_crossentropy", units=3)
"""


def mails(draw: random.Random, count: int) -> list[dict]:
    rows = []
    for number in range(count):
        a, b = draw.uniform(-1, 1), draw.uniform(-1, 1)
        is_spam = a + b / 2 + draw.gauss(0, 0.3) > 0.4
        rows.append(
            {
                "name": f"{number:04}",
                "a": a,
                "b": b,
                "kind": "spam" if is_spam else "ham",
                "sign": 1 if is_spam else -1,
                "cost": draw.choice([0, 0.5, 2]),
            }
        )
    return rows


def write_table(path, rows: list[dict]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


@pytest.fixture(scope="module")
def folder(headrace, tmp_path_factory):
    """Datasets `data`, and `plain` without costs; models.py."""
    place = tmp_path_factory.mktemp("weights")
    (place / "schema.toml").write_text(textwrap.dedent(SCHEMA), encoding="utf-8")
    (place / "models.py").write_text(textwrap.dedent(MODELS), encoding="utf-8")
    rows = mails(random.Random(1), RECORDS)
    prepare(headrace, place, "data", rows)
    no_cost = textwrap.dedent(SCHEMA).replace('[features.cost]\ntype = "float32"\n', "")
    (place / "plain.toml").write_text(no_cost, encoding="utf-8")
    prepare(
        headrace,
        place,
        "plain",
        [{k: v for k, v in row.items() if k != "cost"} for row in rows],
        "plain.toml",
    )
    return place


def prepare(headrace, place, name, rows, schema="schema.toml"):
    write_table(place / f"{name}.csv", rows)
    headrace("prepare", place / f"{name}.csv", place / name, "--schema", place / schema, "--split", "train=1")


def train(headrace, folder, run, *options, model="mail", label="kind", data="data", check=True):
    words = ["--model", f"{folder}/models.py:{model}", "--labels", label, "--features", "a,b"]
    words += ["--batch-size", BATCH, "--json", *options]
    return headrace("train", folder / data, folder / run, *words, check=check)


def history_of(done) -> list[dict]:
    return json.loads(done.stdout)["history"]


def evaluate(headrace, folder, run, data="data"):
    done = headrace("evaluate", folder / run, "--data", folder / data, "--split", "train", "--json")
    return json.loads(done.stdout), done.stderr


def variables(folder, run) -> dict[str, np.ndarray]:
    exported = tf.saved_model.load(str(folder / run / "export"))
    return {name: value.numpy() for name, value in exported.signatures["variables"]().items()}


@pytest.mark.exhaustive
def test_both_loops_weigh_alike_and_report_the_same_metrics(headrace, folder):
    options = ["--epochs", "2", "--validation", "0.25", "--weights", "cost", "--class-weights", "spam=3"]
    done = {loop: train(headrace, folder, f"both-{loop}", *options, "--loop", loop) for loop in LOOPS}
    native, of_keras = (history_of(done[loop]) for loop in LOOPS)
    for ours, theirs in zip(native, of_keras, strict=True):
        assert (
            set(ours) == set(theirs) > {"auc", "val_auc", "precision", "val_precision", "weighted_accuracy"}
        )
        for name, value in theirs.items():
            assert ours[name] == pytest.approx(value, rel=1e-4, abs=1e-5), name
    ours, theirs = (variables(folder, f"both-{loop}") for loop in LOOPS)
    for name, value in ours.items():
        if "seed" not in name:
            np.testing.assert_allclose(value, theirs[name], rtol=1e-4, atol=1e-5, err_msg=name)
    assert "the model weighs records by cost float32[]" in done["native"].stderr
    plain = history_of(train(headrace, folder, "unweighed", *options[:4]))
    assert plain[0]["loss"] != pytest.approx(native[0]["loss"], rel=1e-3)


@pytest.mark.exhaustive
def test_evaluate_weighs_where_the_data_have_weights(headrace, folder):
    train(headrace, folder, "weighed", "--epochs", "1", "--validation", "0", "--weights", "cost")
    weighed, _ = evaluate(headrace, folder, "weighed")
    assert weighed["weights"] == "cost"
    assert {"auc", "Recall", "precision", "weighted_accuracy", "accuracy", "loss"} == set(weighed["metrics"])
    plain, stderr = evaluate(headrace, folder, "weighed", "plain")
    assert "weights" not in plain
    assert "has no cost, by which the model's loss weighs records: each record counts once" in stderr
    assert plain["metrics"]["auc"] == pytest.approx(weighed["metrics"]["auc"])
    assert plain["metrics"]["loss"] != pytest.approx(weighed["metrics"]["loss"], rel=1e-3)
    assert plain["metrics"]["weighted_accuracy"] == pytest.approx(plain["metrics"]["accuracy"])
    assert plain["targets"][0]["accuracy"] == pytest.approx(plain["metrics"]["accuracy"])


@pytest.mark.parametrize(
    ("loop", "validation"),
    [("native", "0"), ("native", "0.25"), ("keras", "0.25")],
)
@pytest.mark.soak
def test_balanced_weights_are_those_of_the_counts_in_the_training_part(headrace, folder, loop, validation):
    run = f"balanced-{loop}-{validation}"
    options = ["--epochs", "1", "--validation", validation, "--loop", loop]
    history = history_of(train(headrace, folder, run, *options, "--class-weights", "balanced"))
    spec = json.loads((folder / run / "model/model.json").read_text(encoding="utf-8"))["spec"]
    weights = {int(number): weight for number, weight in spec["class_weights"].items()}
    assert weights[0] < 1 < weights[1], "there is less spam"
    assert 1 / weights[0] + 1 / weights[1] == pytest.approx(2), "the mean over records is 1"
    if validation == "0":
        with (folder / "data.csv").open(encoding="utf-8") as file:
            spam = sum(row["kind"] == "spam" for row in csv.DictReader(file))
        assert weights[1] == pytest.approx(RECORDS / (2 * spam))
    named = f"ham={weights[0]!r},spam={weights[1]!r}"
    assert history_of(train(headrace, folder, f"{run}-named", *options, "--class-weights", named)) == history


@pytest.mark.parametrize("loop", ["native", pytest.param("keras", marks=pytest.mark.soak)])
@pytest.mark.exhaustive
def test_a_weight_below_0_names_its_record(headrace, folder, loop):
    rows = mails(random.Random(2), 60)
    rows[17]["cost"] = -2
    if not (folder / "negative").exists():
        prepare(headrace, folder, "negative", rows)
    options = ["--epochs", "1", "--validation", "0", "--weights", "cost", "--loop", loop]
    done = train(headrace, folder, f"negative-{loop}", *options, data="negative", check=False)
    assert done.returncode == 1
    assert "the weight cost of record " in done.stderr and " is -2" in done.stderr
    assert f"{folder}/negative/train-" in done.stderr


@pytest.mark.parametrize("loop", ["native", pytest.param("keras", marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    ("model", "mend"),
    [
        ("mail", "the loss of the output out takes 0 to 1"),
        ("margins", "the loss of the output out takes -1 to 1"),
        ("numbered", "the output out has 3 scores, so classes are 0 to 2"),
    ],
)
@pytest.mark.exhaustive
def test_a_label_that_its_loss_is_not_defined_for_names_its_record(headrace, folder, loop, model, mend):
    rows = mails(random.Random(2), 60)
    for row in rows:
        row["sign"] = abs(row["sign"])
    rows[17]["sign"] = 3
    if not (folder / "three").exists():
        prepare(headrace, folder, "three", rows)
    options = ["--epochs", "1", "--validation", "0", "--loop", loop]
    done = train(
        headrace,
        folder,
        f"three-{model}-{loop}",
        *options,
        model=model,
        label="sign",
        data="three",
        check=False,
    )
    assert done.returncode == 1
    assert "the label sign of record " in done.stderr and f" is 3; {mend}" in done.stderr
    assert f"{folder}/three/train-" in done.stderr


@pytest.mark.soak
def test_records_without_a_weight_are_left_out_when_asked_in_both_loops_alike(headrace, folder):
    rows = mails(random.Random(3), 60)
    for row in rows[5::7]:
        row["cost"] = ""
    gaps = textwrap.dedent(SCHEMA).replace("[features.cost]\n", "[features.cost]\noptional = true\n")
    (folder / "gaps.toml").write_text(gaps, encoding="utf-8")
    prepare(headrace, folder, "gaps", rows, "gaps.toml")
    options = ["--epochs", "2", "--validation", "0", "--weights", "cost", "--class-weights", "balanced"]
    failed = train(headrace, folder, "gaps-fail", *options, data="gaps", check=False)
    assert failed.returncode == 1 and "leave such records out with --on-corrupt skip-record" in failed.stderr
    options += ["--on-corrupt", "skip-record"]
    native, of_keras = (
        history_of(train(headrace, folder, f"gaps-{loop}", *options, "--loop", loop, data="gaps"))
        for loop in LOOPS
    )
    for ours, theirs in zip(native, of_keras, strict=True):
        for name, value in theirs.items():
            assert ours[name] == pytest.approx(value, rel=1e-4, abs=1e-5), name


@pytest.mark.exhaustive
def test_options_that_do_not_fit_say_which_do(headrace, folder):
    def refused(*options, label="kind"):
        done = train(headrace, folder, "refused", *options, label=label, check=False)
        assert done.returncode != 0
        return done.stderr

    assert "there is no class eggs; the classes are ham, spam" in refused("--class-weights", "eggs=2")
    assert "--weights name: name bytes[] is not one number" in refused("--weights", "name")
    assert "there is no such feature" in refused("--weights", "price")
    assert "weigh records: give --weights" in refused("--class-weights", "balanced", label="kind,sign")
    assert "is not a class; weigh records instead" in refused("--class-weights", "balanced", label="cost")
    assert "which the dataset stores as text" in refused("--class-weights", "balanced", label="name")
    assert "give one of them" in refused("--class-weights", "balanced", "--balance", "kind")
    assert not (folder / "refused").exists()


@pytest.mark.exhaustive
def test_another_weighing_is_another_configuration(headrace, folder):
    options = ["--epochs", "1", "--validation", "0"]
    train(headrace, folder, "configured", *options, "--class-weights", "spam=2")
    again = train(headrace, folder, "configured", *options, "--class-weights", "spam=2.5", check=False)
    assert again.returncode == 1 and "class-weights" in again.stderr


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.soak
def test_a_run_that_goes_on_has_the_metrics_of_one_that_was_never_interrupted(headrace, folder, loop):
    options = ["--validation", "0.25", "--weights", "cost", "--class-weights", "balanced", "--loop", loop]
    first = history_of(train(headrace, folder, f"more-{loop}", *options, "--epochs", "1"))
    more = history_of(train(headrace, folder, f"more-{loop}", *options, "--epochs", "3"))
    at_once = history_of(train(headrace, folder, f"at-once-{loop}", *options, "--epochs", "3"))
    assert more[:1] == first and more == at_once
    wanted, found = variables(folder, f"at-once-{loop}"), variables(folder, f"more-{loop}")
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.exhaustive
def test_a_metric_that_no_graph_computes_is_named_once(headrace, folder):
    done = train(headrace, folder, "odd", "--epochs", "2", model="odd")
    assert done.stderr.count("the metrics seen are left out: they cannot be computed in a graph") == 1
    assert "AUC" in history_of(done)[0] and "seen" not in history_of(done)[0]


@pytest.mark.parametrize(
    ("model", "label", "scores"), [("logits", "kind", "logit"), ("margins", "sign", "margin")]
)
@pytest.mark.soak
def test_scores_that_are_no_probabilities_are_evaluated_as_what_they_are(
    headrace, folder, model, label, scores
):
    options = ["--epochs", "12", "--validation", "0", "--class-weights", "balanced"]
    train(headrace, folder, model, *options, model=model, label=label)
    evaluated, _ = evaluate(headrace, folder, model)
    (target,) = evaluated["targets"]
    assert target["kind"] == "binary" and target["scores"] == scores
    headrace(
        "predict",
        folder / model,
        "--data",
        folder / "data",
        "--split",
        "train",
        "--to",
        folder / f"{model}-to",
    )
    answers = predictions(folder / f"{model}-to")
    values = np.array([answer["score"] for answer in answers])
    assert values.min() < 0 < values.max() and ((values > 0) & (values < 0.5)).any()
    yes = evaluated["targets"][0]["confusion"]["labels"][1]
    assert [answer["label"] == yes for answer in answers] == list(values > 0)
    said_yes = sum(row[1] for row in target["confusion"]["counts"])
    assert said_yes == (values > 0).sum()
    if scores == "margin":
        assert "calibration" not in target
        return
    probabilities = 1 / (1 + np.exp(-values))
    bins = [bin_["records"] for bin_ in target["calibration"]]
    np.testing.assert_array_equal(bins, np.histogram(probabilities, bins=10, range=(0, 1))[0])
    assert all(record["error"] < 1 for record in target["worst"])


def test_python_gives_logits_as_an_array():
    one = Answers(
        [{"label": "yes", "score": 2.5}, {"label": "no", "score": -1.0}], {"out": _Output([1], True)}
    )
    np.testing.assert_array_equal(one.array(), np.float32([[2.5], [-1]]))
    of_all = Answers([{"label": "b", "scores": {"a": -3.0, "b": 4.0}}], {"out": _Output([2], True)})
    np.testing.assert_array_equal(of_all.array(), np.float32([[-3, 4]]))
    assert of_all.labels == ["b"]


def predictions(folder) -> list[dict]:
    import gzip

    answers = []
    for path in sorted(folder.glob("predictions-*.gz")):
        answers += [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return answers
