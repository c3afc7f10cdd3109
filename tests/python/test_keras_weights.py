"""Weights of records and of classes, and metrics with a state: traced steps give the losses, variables and
metrics that Keras gives with `sample_weight` and `class_weight`."""

import contextlib
import inspect
import io
import json
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import pytest
import tensorflow as tf
from headrace._src import trace, user_model
from headrace._src.errors import ModelError
from keras import layers

ROWS, WIDTH, CLASSES, STEPS = 24, 6, 3, 4

pytestmark = pytest.mark.slow


def feature(name: str, dtype: str, *shape: int, classes: int = 0, one_hot: bool = False) -> dict:
    return {"name": name, "dtype": dtype, "shape": list(shape), "classes": classes, "one_hot": one_hot}


X = feature("x", "float32", WIDTH)
COST, COUNT = feature("cost", "float32"), feature("cost", "int64", 1)
HOT = feature("y", "int64", CLASSES, classes=CLASSES, one_hot=True)
NUMBER, YES, AMOUNT = feature("y", "int64", classes=CLASSES), feature("y", "int64"), feature("y", "float32")
SIGN = feature("y", "float32")


def dense(units, activation, loss, **compiled):
    def build() -> keras.Model:
        model = keras.Sequential(
            [keras.Input((WIDTH,)), layers.Dense(5, "tanh"), layers.Dense(units, activation)]
        )
        model.compile("sgd", loss, **compiled)
        return model

    return build


class Spread(keras.metrics.Metric):
    """One of a user's own, whose state does not begin with zeros."""

    def __init__(self, name="spread"):
        super().__init__(name=name)
        self.lowest = self.add_weight(shape=(), initializer="zeros", name="lowest")
        self.rows = self.add_weight(shape=(), initializer="zeros", dtype="int64", name="rows")
        self.reset_state()

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.lowest.assign(keras.ops.minimum(self.lowest, keras.ops.min(y_pred)))
        self.rows.assign_add(keras.ops.cast(keras.ops.shape(y_pred)[0], "int64"))

    def reset_state(self):
        self.lowest.assign(9.0)
        self.rows.assign(0)

    def result(self):
        return self.lowest + keras.ops.cast(self.rows, "float32")


def two_outputs() -> keras.Model:
    x = keras.Input((WIDTH,), name="x")
    body = layers.Dense(5, "tanh")(x)
    outputs = {
        "size": layers.Dense(1, name="size")(body),
        "kind": layers.Dense(CLASSES, "softmax", name="kind")(body),
    }
    model = keras.Model({"x": x}, outputs)
    model.compile(
        "sgd",
        {"kind": "sparse_categorical_crossentropy", "size": "mse"},
        metrics={"kind": ["accuracy"], "size": ["RootMeanSquaredError"]},
        weighted_metrics={"size": ["mae"], "kind": ["accuracy"]},
    )
    return model


def with_metrics(units, activation, loss, metrics, weighted=()):
    def build() -> keras.Model:
        made = [one() if callable(one) else one for one in metrics]
        also = [one() if callable(one) else one for one in weighted]
        return dense(units, activation, loss, metrics=made, weighted_metrics=also)()

    return build


M = keras.metrics
KINDS = {
    "one-hot": (
        with_metrics(
            CLASSES,
            "softmax",
            "categorical_crossentropy",
            ["accuracy", M.AUC, M.Precision, M.Recall, lambda: M.F1Score(average="macro"), Spread],
            ["accuracy", M.AUC],
        ),
        [HOT],
    ),
    "numbers": (
        with_metrics(
            CLASSES,
            "softmax",
            keras.losses.SparseCategoricalCrossentropy(),
            ["accuracy", lambda: M.SparseTopKCategoricalAccuracy(2, name="top 2/é")],
            [lambda: M.MeanIoU(CLASSES, sparse_y_pred=False), "accuracy"],
        ),
        [NUMBER],
    ),
    "yes": (
        with_metrics(
            1,
            "sigmoid",
            "binary_crossentropy",
            ["accuracy", M.AUC, M.Precision, M.Recall, lambda: M.SpecificityAtSensitivity(0.5)],
            [M.BinaryAccuracy, M.Precision],
        ),
        [YES],
    ),
    "amount": (
        with_metrics(
            1, None, "mse", ["mae", M.RootMeanSquaredError, M.R2Score], [M.RootMeanSquaredError, "mae"]
        ),
        [AMOUNT],
    ),
    "two outputs": (two_outputs, [feature("size", "float32"), feature("kind", "int64", classes=CLASSES)]),
    "all of one-hot": (
        with_metrics(
            CLASSES,
            "softmax",
            "categorical_crossentropy",
            [
                M.AUC,
                M.CategoricalAccuracy,
                M.CategoricalCrossentropy,
                M.CategoricalHinge,
                M.CosineSimilarity,
                M.F1Score,
                M.FBetaScore,
                M.KLDivergence,
                lambda: M.OneHotIoU(CLASSES, [0, 2]),
                lambda: M.OneHotMeanIoU(CLASSES),
                lambda: M.TopKCategoricalAccuracy(2),
            ],
        ),
        [HOT],
    ),
    "all of numbers": (
        with_metrics(
            CLASSES,
            "softmax",
            "sparse_categorical_crossentropy",
            [
                lambda: M.IoU(CLASSES, [0, 1], sparse_y_pred=False),
                lambda: M.MeanIoU(CLASSES, sparse_y_pred=False),
                M.SparseCategoricalAccuracy,
                M.SparseCategoricalCrossentropy,
                lambda: M.SparseTopKCategoricalAccuracy(2),
            ],
        ),
        [NUMBER],
    ),
    "all of yes": (
        with_metrics(
            1,
            "sigmoid",
            "binary_crossentropy",
            [
                M.Accuracy,
                M.BinaryAccuracy,
                M.BinaryCrossentropy,
                M.BinaryIoU,
                M.FalseNegatives,
                M.FalsePositives,
                M.Hinge,
                M.Precision,
                lambda: M.PrecisionAtRecall(0.5),
                M.Recall,
                lambda: M.RecallAtPrecision(0.5),
                lambda: M.SensitivityAtSpecificity(0.5),
                lambda: M.SpecificityAtSensitivity(0.5),
                M.SquaredHinge,
                M.TrueNegatives,
                M.TruePositives,
            ],
        ),
        [YES],
    ),
    "all of amounts": (
        with_metrics(
            1,
            "softplus",
            "mse",
            [
                M.ConcordanceCorrelation,
                M.LogCoshError,
                M.MeanAbsoluteError,
                M.MeanAbsolutePercentageError,
                M.MeanSquaredError,
                M.MeanSquaredLogarithmicError,
                M.PearsonCorrelation,
                M.Poisson,
                M.R2Score,
                M.RootMeanSquaredError,
            ],
        ),
        [AMOUNT],
    ),
}
NO_METRICS_OF_MODELS = {
    "Metric": "the base class",
    "MeanMetricWrapper": "a base class, of those that are made of a function",
    "Mean": "of values, not of targets and predictions",
    "Sum": "of values, not of targets and predictions",
}


def test_no_metric_of_keras_is_forgotten():
    models = [build() for kind, (build, _) in KINDS.items() if kind.startswith("all of")]
    covered = {type(one).__name__ for model in models for one in model._compile_metrics._user_metrics}
    named = {name for name, _ in inspect.getmembers(M, inspect.isclass)}
    assert named == covered | set(NO_METRICS_OF_MODELS)


class Traced:
    """The signatures of a traced model, and the states of its metrics."""

    def __init__(self, folder):
        self.model = tf.saved_model.load(str(folder / "saved_model"))
        self.signatures = self.model.signatures
        self.described = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        self.reset()

    def reset(self):
        self.sums = np.zeros(len(self.described["metrics"]))
        self.loss, self.states = 0.0, {}
        if "reset_metrics" in self.signatures:
            self.states = self.signatures["reset_metrics"]()

    def step(self, signature, batch, rows=None):
        given = {one["tensor"]: batch[one["feature"]["name"]] for one in self.described["inputs"]}
        given |= {one["tensor"]: batch[one["label"]["name"]] for one in self.described["targets"]}
        if "weights" in self.described:
            given["record_weights"] = batch["cost"]
        rows = np.ones(len(batch["x"]), "float32") if rows is None else rows
        given = {name: tf.constant(value) for name, value in given.items()}
        got = self.signatures[signature](**given, weights=tf.constant(rows), **self.states)
        self.states = {name: got[name] for name in self.states}
        self.sums += got["metrics"].numpy()
        self.loss += float(got["loss"]) * got["metrics"].numpy()[0]
        return got

    def metrics(self) -> dict[str, float]:
        found = dict(zip(self.described["metrics"], self.sums / self.sums[0], strict=True))
        del found["examples"]
        if self.states:
            results = self.signatures["metric_results"](**self.states)
            found |= {name: value.numpy() for name, value in results.items()}
        return {"loss": self.loss / self.sums[0]} | found


@pytest.fixture
def traced(tmp_path, monkeypatch):
    def run(build, labels, weights=None, class_weights=None) -> Traced:
        monkeypatch.setattr(user_model, "load_function", lambda name: build)
        spec = {"features": [X], "labels": labels, "inputs": {}, "outputs": {}, "arguments": {}}
        spec |= {"weights": weights} if weights else {}
        spec |= {"class_weights": class_weights} if class_weights else {}
        keras.utils.clear_session()
        with contextlib.redirect_stderr(io.StringIO()):
            trace.trace("mine:build", spec, 7, tmp_path / "out")
        return Traced(tmp_path / "out")

    return run


def batches(labels, weights, seed=3):
    draw = np.random.default_rng(seed)
    for _ in range(STEPS):
        batch = {"x": draw.uniform(-1, 1, (ROWS, WIDTH)).astype("float32")}
        for label in labels:
            shape = (ROWS, *label["shape"])
            if label["dtype"] == "float32":
                batch[label["name"]] = draw.uniform(0, 3, shape).astype("float32")
            elif label["one_hot"]:
                batch[label["name"]] = np.eye(CLASSES, dtype="int64")[draw.integers(0, CLASSES, ROWS)]
            else:
                batch[label["name"]] = draw.integers(0, label["classes"] or 2, shape)
        if weights:
            cost = draw.integers(0, 4, (ROWS, *weights["shape"]))
            batch["cost"] = cost if weights["dtype"] == "int64" else (cost * 0.75).astype("float32")
        yield batch


def targets(labels, batch):
    """As Keras takes them."""
    made = {}
    for label in labels:
        values = batch[label["name"]]
        is_numbers = label["classes"] and not label["one_hot"]
        made[label["name"]] = values if is_numbers else values.astype("float32").reshape(ROWS, -1)
    return made if len(made) > 1 else next(iter(made.values()))


def sample_weight(labels, batch, weights, class_weights):
    """Keras is given these where its own `class_weight` does not do: it does not take both."""
    if not weights:
        return []
    made = batch["cost"].reshape(-1).astype("float32")
    if class_weights:
        values = batch[labels[0]["name"]]
        numbers = values.argmax(-1) if labels[0]["one_hot"] else values
        made *= np.array([class_weights.get(str(number), 1.0) for number in numbers], "float32")
    return [made]


def dataset(labels, weights, class_weights):
    parts = [
        (batch["x"], targets(labels, batch), *sample_weight(labels, batch, weights, class_weights))
        for batch in batches(labels, weights)
    ]
    rows = tf.nest.map_structure(lambda *of_batches: np.concatenate(of_batches), *parts)
    return tf.data.Dataset.from_tensor_slices(rows).batch(ROWS)


WEIGHED = {
    "nothing": (None, None),
    "records": (COST, None),
    "records by counts": (COUNT, None),
    "classes": (None, {"0": 0.25, "1": 3.0}),
    "both": (COST, {"1": 2.0}),
}


def cases():
    """Each kind with one way to weigh, if not more; all pairs in the soak."""
    for kind, (_, labels) in KINDS.items():
        for weighed, (_, class_weights) in WEIGHED.items():
            if kind.startswith("all of"):
                if weighed not in ("nothing", "records"):
                    continue
            elif class_weights is not None and (len(labels) > 1 or labels[0]["dtype"] != "int64"):
                continue
            is_chosen = weighed == "records" or (kind, weighed) == ("one-hot", "both")
            yield pytest.param(kind, weighed, marks=[] if is_chosen else pytest.mark.soak)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "weighed"), list(cases()))
def test_losses_variables_and_metrics_are_those_of_keras(kind, weighed, traced):
    (build, labels), (weights, class_weights) = KINDS[kind], WEIGHED[weighed]
    ours = traced(build, labels, weights, class_weights)
    assert ours.described["ignored_metrics"] == []
    keras.utils.clear_session()
    user_model.make_deterministic(7)
    model = build()
    model.run_eagerly = True  # a third of the time that a graph takes, and still less like ours
    own = (
        {number: class_weights.get(str(number), 1.0) for number in range(CLASSES)} if class_weights else None
    )
    history = model.fit(
        dataset(labels, weights, class_weights),
        class_weight=None if weights else own,
        verbose=0,
    ).history
    evaluated = model.evaluate(dataset(labels, weights, None), return_dict=True, verbose=0)
    trained = {name: values[-1] for name, values in history.items()}
    for signature, wanted in (("train_step", trained), ("eval_step", evaluated)):
        ours.reset()
        for batch in batches(labels, weights):
            ours.step(signature, batch)
        found = ours.metrics()
        assert set(found) == set(wanted)
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    variables = ours.signatures["variables"]()
    assert not any("metric" in name or "auc" in name for name in variables)
    names = [one["name"] for one in ours.described["variables"] if one["role"] == "trainable"]
    for name, variable in zip(names, model.trainable_variables, strict=True):
        np.testing.assert_allclose(variables[name], variable.numpy(), rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.exhaustive
def test_rows_that_are_no_record_count_nowhere(traced):
    build, labels = KINDS["one-hot"]
    ours = traced(build, labels, COST, {"1": 2.0})
    batch = next(batches(labels, COST))
    rows = (np.arange(ROWS) % 3 > 0).astype("float32")
    kept = {name: values[rows > 0] for name, values in batch.items()}
    ours.step("eval_step", kept)
    wanted = ours.metrics()
    ours.reset()
    padded = {**batch, "cost": np.where(rows > 0, batch["cost"], np.nan).astype("float32")}
    ours.step("eval_step", padded, rows)
    assert ours.metrics() == pytest.approx(wanted)
    states = {name: state.numpy() for name, state in ours.states.items()}
    ours.step("eval_step", batch, np.zeros(ROWS, "float32"))
    for name, state in ours.states.items():
        np.testing.assert_array_equal(state, states[name], "a batch without records changes no state")


@pytest.mark.exhaustive
def test_a_step_changes_no_state_but_that_which_it_is_given(traced):
    build, labels = KINDS["yes"]
    ours = traced(build, labels)
    first, second = list(batches(labels, None))[:2]
    ours.step("train_step", first)
    before, states = ours.metrics(), ours.states
    ours.states = ours.signatures["reset_metrics"]()
    ours.step("eval_step", second)
    found = ours.signatures["metric_results"](**states)
    assert float(found["auc"]) == before["auc"]


class Listed(keras.metrics.Metric):
    """Keeps its state where no graph finds it."""

    def __init__(self):
        super().__init__(name="listed")
        self.seen = []

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.seen.append(float(keras.ops.convert_to_numpy(keras.ops.mean(y_pred))))

    def result(self):
        return float(np.mean(self.seen))

    def reset_state(self):
        self.seen = [0.0]


class OfRawVariables(Listed):
    def __init__(self):
        super().__init__()
        self.name, self.total = "raw", tf.Variable(0.0)

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(tf.reduce_sum(y_pred))

    def result(self):
        return self.total.read_value()

    def reset_state(self):
        self.total.assign(0.0)


def test_metrics_that_no_graph_computes_are_left_out_by_name(traced):
    build = with_metrics(1, "sigmoid", "binary_crossentropy", [Listed, OfRawVariables, "accuracy", M.AUC])
    described = traced(build, [YES]).described
    assert described["ignored_metrics"] == ["listed", "raw"]
    assert described["metrics"] == ["examples", "accuracy"] and described["stateful_metrics"] == ["auc"]


@pytest.mark.soak
def test_weights_of_classes_are_for_one_label_with_classes(traced):
    for kind in ("amount", "two outputs"):
        build, labels = KINDS[kind]
        with pytest.raises(ModelError, match="weigh records instead: give --weights"):
            traced(build, labels, None, {"0": 2.0})
    build, labels = KINDS["numbers"]
    with pytest.raises(ModelError, match=r"has the class 3, but \S+ has the classes 0 to 2"):
        traced(build, labels, None, {"3": 2.0})


@pytest.mark.parametrize(
    ("loss", "units", "label", "kind", "scores"),
    [
        (keras.losses.BinaryCrossentropy(from_logits=True), 1, YES, "binary", "logit"),
        (keras.losses.BinaryCrossentropy(), 1, YES, "binary", "probability"),
        (keras.losses.SparseCategoricalCrossentropy(from_logits=True), 3, NUMBER, "classes", "logit"),
        ("hinge", 1, SIGN, "binary", "margin"),
        (keras.losses.SquaredHinge(name="mine"), 1, SIGN, "binary", "margin"),
        ("categorical_hinge", 3, HOT, "classes", "margin"),
    ],
)
def test_a_target_says_what_its_scores_are(loss, units, label, kind, scores, traced):
    (target,) = traced(dense(units, None, loss), [label]).described["targets"]
    assert target["kind"] == kind
    assert target.get("scores", "probability") == scores
