"""Every kind of model and loss that Keras names: the traced model trains to the weights to which Keras' own
`train_on_batch` trains the same model on the same batches."""

import contextlib
import dataclasses
import functools
import inspect
import io
import json
import os
from collections.abc import Callable

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import pytest
import tensorflow as tf
from headrace._src import losses, trace, user_model
from headrace._src.errors import ModelError
from keras import layers

ROWS, WIDTH, STEPS = 24, 6, 5

pytestmark = pytest.mark.slow


@dataclasses.dataclass(frozen=True)
class Data:
    """A feature or label, and how its values are drawn."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    draw: Callable[[np.random.Generator], np.ndarray]
    classes: int = 0
    one_hot: bool = False

    def spec(self) -> dict:
        return {
            "name": self.name,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "classes": self.classes,
            "one_hot": self.one_hot,
        }


def floats(name: str, *shape: int, low: float = -1, high: float = 1) -> Data:
    return Data(
        name, "float32", shape, lambda draw: draw.uniform(low, high, (ROWS, *shape)).astype("float32")
    )


def integers(name: str, most: int, *shape: int, classes: int = 0) -> Data:
    return Data(name, "int64", shape, lambda draw: draw.integers(0, most, (ROWS, *shape)), classes=classes)


def one_hot(name: str, classes: int) -> Data:
    def draw(random: np.random.Generator) -> np.ndarray:
        return np.eye(classes, dtype="int64")[random.integers(0, classes, ROWS)]

    return Data(name, "int64", (classes,), draw, classes, True)


def words(name: str) -> Data:
    return Data(name, "bytes", (), lambda draw: draw.choice(np.array([b"red", b"green", b"blue"]), ROWS))


def pixels(name: str, *shape: int) -> Data:
    return Data(name, "uint8", shape, lambda draw: draw.integers(0, 256, (ROWS, *shape), dtype="uint8"))


X = floats("x", WIDTH)
N = integers("n", 4)
CLASS, HOT, YES = integers("y", 3, classes=3), one_hot("y", 3), integers("y", 2, classes=2)
TAGS, NUMBER, NUMBERS = integers("y", 2, 4), floats("y"), floats("y", 2)
POSITIVE, SHARE = floats("y", low=0.5, high=4), floats("y", low=0, high=1)


def dense(units: int, activation: str | None, loss, metrics=(), optimizer="sgd", **compiled):
    def build() -> keras.Model:
        model = keras.Sequential(
            [
                keras.Input((WIDTH,), name="x"),
                layers.Dense(5, "tanh"),
                layers.Dense(units, activation, name="y"),
            ]
        )
        made = optimizer() if callable(optimizer) else optimizer
        model.compile(made, loss, metrics=list(metrics), **compiled)
        return model

    return build


def functional(inputs: dict[str, keras.KerasTensor], body, units: int, activation, loss):
    def build() -> keras.Model:
        given = inputs()
        model = keras.Model(given, layers.Dense(units, activation, name="y")(body(given)))
        model.compile("adam", loss)
        return model

    return build


class Subclassed(keras.Model):
    """Declares no inputs; takes a dictionary."""

    def __init__(self):
        super().__init__()
        self.hidden, self.last = layers.Dense(4, "relu"), layers.Dense(3, "softmax")

    def call(self, given):
        joined = keras.ops.concatenate(
            [given["x"], keras.ops.expand_dims(keras.ops.cast(given["n"], "float32"), 1)], 1
        )
        return self.last(self.hidden(joined))


class Unpacking(Subclassed):
    """Declares no inputs; takes a tuple."""

    def call(self, given):
        x, n = given
        return super().call({"x": x, "n": n})


def subclassed(kind: type[Subclassed] = Subclassed) -> keras.Model:
    model = kind()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def two_outputs() -> keras.Model:
    x = keras.Input((WIDTH,), name="x")
    body = layers.Dense(5, "tanh")(x)
    outputs = {
        "kind": layers.Dense(3, "softmax", name="kind")(body),
        "size": layers.Dense(1, name="size")(body),
    }
    model = keras.Model({"x": x}, outputs)
    losses = {"kind": "sparse_categorical_crossentropy", "size": "huber"}
    model.compile("adam", losses, loss_weights={"kind": 2.0, "size": 0.5}, metrics={"kind": ["accuracy"]})
    return model


def tuple_of_inputs() -> keras.Model:
    x, n = keras.Input((WIDTH,), name="x"), keras.Input((), name="n", dtype="int64")
    joined = layers.Concatenate()([x, layers.Embedding(4, 2)(n)])
    model = keras.Model([x, n], layers.Dense(1, "sigmoid", name="y")(joined))
    model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy"])
    return model


def nested_inputs(*keys: str) -> Callable[[], keras.Model]:
    """Two inputs, each in a dictionary of its own, under these keys."""

    def build() -> keras.Model:
        x, n = keras.Input((WIDTH,), name="one"), keras.Input((), name="other", dtype="int64")
        joined = layers.Concatenate()([x, layers.Embedding(4, 2)(n)])
        inputs = {"left": {keys[0]: x}, "right": {keys[1]: n}}
        model = keras.Model(inputs, layers.Dense(3, "softmax", name="y")(joined))
        model.compile("adam", "sparse_categorical_crossentropy")
        return model

    return build


def embeddings(loss) -> Callable[[], keras.Model]:
    def build() -> keras.Model:
        model = dense(3, None, loss)()
        model.add(layers.UnitNormalization())
        model.compile("sgd", loss)
        return model

    return build


def of_words() -> keras.Model:
    word = keras.Input((), name="word", dtype="string")
    looked_up = layers.StringLookup(vocabulary=["red", "green", "blue"])(word)
    model = keras.Model(word, layers.Dense(1, name="y")(layers.Embedding(4, 3)(looked_up)))
    model.compile("adam", "mse")
    return model


def of_images() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((6, 5, 3), name="photo"),
            layers.Rescaling(1 / 255),
            layers.Conv2D(3, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3, "softmax", name="y"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def recurrent() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((WIDTH,), name="x"),
            layers.Reshape((3, 2)),
            layers.LSTM(4),
            layers.Dense(1, name="y"),
        ]
    )
    model.compile("adam", "mse", metrics=["mae"])
    return model


def logits(loss: keras.losses.Loss, units: int):
    return dense(units, None, loss)


KINDS: dict[str, tuple[Callable[[], keras.Model], list[Data], list[Data], list[str]]] = {
    "categorical": (dense(3, "softmax", "categorical_crossentropy", ["accuracy"]), [X], [HOT], ["classes"]),
    "categorical of numbers": (dense(3, "softmax", "categorical_crossentropy"), [X], [CLASS], ["classes"]),
    "categorical of integers": (
        dense(3, "softmax", "categorical_crossentropy", ["accuracy"]),
        [X],
        [integers("y", 3)],
        ["classes"],
    ),
    "sparse": (
        dense(3, "softmax", "sparse_categorical_crossentropy", ["accuracy"]),
        [X],
        [CLASS],
        ["classes"],
    ),
    "sparse of one-hot": (dense(3, "softmax", "sparse_categorical_crossentropy"), [X], [HOT], ["classes"]),
    "sparse logits": (
        logits(keras.losses.SparseCategoricalCrossentropy(from_logits=True), 3),
        [X],
        [CLASS],
        ["classes"],
    ),
    "categorical focal": (dense(3, "softmax", "categorical_focal_crossentropy"), [X], [HOT], ["classes"]),
    "categorical hinge": (dense(3, None, "categorical_hinge"), [X], [HOT], ["classes"]),
    "label smoothing": (
        dense(3, "softmax", keras.losses.CategoricalCrossentropy(label_smoothing=0.1)),
        [X],
        [HOT],
        ["classes"],
    ),
    "kl divergence": (dense(3, "softmax", "kl_divergence"), [X], [HOT], ["classes"]),
    "binary": (dense(1, "sigmoid", "binary_crossentropy", ["accuracy"]), [X], [YES], ["binary"]),
    "binary of one-hot": (dense(1, "sigmoid", "binary_crossentropy"), [X], [one_hot("y", 2)], ["binary"]),
    "binary focal": (dense(1, "sigmoid", "binary_focal_crossentropy"), [X], [YES], ["binary"]),
    "hinge": (dense(1, "tanh", "hinge"), [X], [YES], ["binary"]),
    "squared hinge": (dense(1, "tanh", "squared_hinge"), [X], [YES], ["binary"]),
    "multi-label": (dense(4, "sigmoid", "binary_crossentropy"), [X], [TAGS], ["multi-label"]),
    "mse": (dense(1, None, "mse", ["mae"], "adam"), [X], [NUMBER], ["regression"]),
    "mse of two": (dense(2, None, "mse", ["mse"], "adamw"), [X], [NUMBERS], ["regression"]),
    "mae": (dense(1, None, "mae", ["mse"], "nadam"), [X], [NUMBER], ["regression"]),
    "mape": (dense(1, None, "mape"), [X], [POSITIVE], ["regression"]),
    "msle": (dense(1, "softplus", "msle"), [X], [POSITIVE], ["regression"]),
    "huber": (dense(1, None, "huber", [], "adagrad"), [X], [NUMBER], ["regression"]),
    "log cosh": (dense(1, None, "log_cosh", [], "adamax"), [X], [NUMBER], ["regression"]),
    "poisson": (dense(1, "softplus", "poisson", [], "ftrl"), [X], [POSITIVE], ["regression"]),
    "cosine similarity": (dense(2, None, "cosine_similarity"), [X], [NUMBERS], ["regression"]),
    "tversky": (dense(1, "sigmoid", "tversky"), [X], [SHARE], ["regression"]),
    "subclassed": (subclassed, [X, N], [CLASS], ["classes"]),
    "subclassed, of a tuple": (functools.partial(subclassed, Unpacking), [X, N], [CLASS], ["classes"]),
    "nested inputs": (nested_inputs("x", "n"), [X, N], [CLASS], ["classes"]),
    "nested inputs of one name": (nested_inputs("it", "it"), [X, N], [CLASS], ["classes"]),
    "accumulated gradients": (
        dense(1, None, "mse", ["mae"], lambda: keras.optimizers.Adam(0.1, gradient_accumulation_steps=2)),
        [X],
        [NUMBER],
        ["regression"],
    ),
    "tuple of inputs": (tuple_of_inputs, [X, integers("n", 4)], [YES], ["binary"]),
    "two outputs": (
        two_outputs,
        [X],
        [integers("kind", 3, classes=3), floats("size")],
        ["classes", "regression"],
    ),
    "strings": (of_words, [words("word")], [NUMBER], ["regression"]),
    "images": (of_images, [pixels("photo", 6, 5, 3)], [CLASS], ["classes"]),
    "recurrent": (recurrent, [X], [NUMBER], ["regression"]),
    "lion": (dense(1, None, "mse", [], "lion"), [X], [NUMBER], ["regression"]),
}


@pytest.fixture
def traced(tmp_path, monkeypatch):
    """Traces a kind of model and loads the result, with its description."""

    def run(build: Callable[[], keras.Model], features: list[Data], labels: list[Data]):
        monkeypatch.setattr(user_model, "load_function", lambda name: build)
        spec = {
            "features": [data.spec() for data in features],
            "labels": [data.spec() for data in labels],
            "inputs": {},
            "outputs": {},
            "arguments": {},
        }
        keras.utils.clear_session()
        with contextlib.redirect_stderr(io.StringIO()):
            trace.trace("mine:build", spec, 7, tmp_path / "out")
        described = json.loads((tmp_path / "out" / "model.json").read_text(encoding="utf-8"))
        return tf.saved_model.load(str(tmp_path / "out" / "saved_model")), described

    return run


def as_keras_takes_it(model: keras.Model, described: dict, batch: dict, role: str):
    """Inputs or targets of a batch in the structure of the model's own, without Headrace's conversions."""
    if role == "inputs":
        values = {one["name"]: batch[one["feature"]["name"]] for one in described["inputs"]}
        if isinstance(model, Unpacking):
            return values["x"], values["n"]
        structure = getattr(model, "_inputs_struct", None)
        if isinstance(structure, dict) and "left" in structure:
            return keras.tree.pack_sequence_as(structure, [batch["x"], batch["n"]])
        if isinstance(model, Subclassed) or isinstance(structure, dict):
            return values
        return list(values.values()) if len(values) > 1 else next(iter(values.values()))
    targets = {}
    for target in described["targets"]:
        label, value = target["label"], batch[target["label"]["name"]]
        loss = model.loss if not isinstance(model.loss, dict) else model.loss[target["output"]]
        takes_index = any(
            part in str(getattr(loss, "name", loss)) for part in ("sparse", "circle", "generalized")
        )
        if takes_index:
            value = value.argmax(-1) if label["one_hot"] else value
        elif target["kind"] == "classes" and value.ndim == 1:
            value = np.eye(model.output_shape[-1])[value]
        elif target["kind"] == "binary":
            value = (value.argmax(-1) if label["one_hot"] else value)[:, None].astype("float32")
        elif value.ndim == 1:
            value = value[:, None]
        targets[target["output"]] = value if takes_index else value.astype("float32")
    return targets if len(targets) > 1 else next(iter(targets.values()))


def as_tensors(described: dict, batch: dict) -> dict[str, tf.Tensor]:
    """The arguments of a step, but for the weights of rows."""
    given = {one["tensor"]: tf.constant(batch[one["feature"]["name"]]) for one in described["inputs"]}
    return given | {one["tensor"]: tf.constant(batch[one["label"]["name"]]) for one in described["targets"]}


def assert_trains_as_keras(
    build: Callable[[], keras.Model], data: list[Data], saved, described: dict
) -> None:
    keras.utils.clear_session()
    user_model.make_deterministic(7)
    model = build()
    model.run_eagerly = True  # a third of the time that a graph takes, and still less like ours
    draw = np.random.default_rng(3)
    for _ in range(STEPS):
        batch = {one.name: one.draw(draw) for one in data}
        got = saved.signatures["train_step"](**as_tensors(described, batch), weights=tf.ones([ROWS]))
        wanted = model.train_on_batch(
            as_keras_takes_it(model, described, batch, "inputs"),
            as_keras_takes_it(model, described, batch, "targets"),
            return_dict=True,
        )
        np.testing.assert_allclose(got["loss"], wanted["loss"], rtol=1e-5, atol=1e-6)
        model.reset_metrics()
    weights = saved.signatures["variables"]()
    names = [variable["name"] for variable in described["variables"] if variable["role"] == "trainable"]
    assert len(names) == len(model.trainable_variables)
    for name, variable in zip(names, model.trainable_variables, strict=True):
        np.testing.assert_allclose(weights[name], variable.numpy(), rtol=1e-5, atol=1e-6, err_msg=name)


EACH = 3  # every third kind runs with --all, the others only in the soak


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.soak if number % EACH else [])
        for number, kind in enumerate(KINDS)
    ],
)
def test_a_model_trains_as_keras_trains_it(kind, traced):
    build, features, labels, kinds = KINDS[kind]
    saved, described = traced(build, features, labels)
    assert [target["kind"] for target in described["targets"]] == kinds
    assert_trains_as_keras(build, [*features, *labels], saved, described)


SHARES = floats("y", 2, low=0, high=1)
LOSSES = {
    "BinaryCrossentropy": (dense, 1, "sigmoid", YES),
    "BinaryFocalCrossentropy": (dense, 1, "sigmoid", YES),
    "CategoricalCrossentropy": (dense, 3, "softmax", HOT),
    "CategoricalFocalCrossentropy": (dense, 3, "softmax", HOT),
    "CategoricalGeneralizedCrossEntropy": (dense, 3, "softmax", CLASS),
    "CategoricalHinge": (dense, 3, None, HOT),
    "CosineSimilarity": (dense, 2, None, NUMBERS),
    "Dice": (dense, 2, "sigmoid", SHARES),
    "Hinge": (dense, 1, "tanh", YES),
    "Huber": (dense, 1, None, NUMBER),
    "KLDivergence": (dense, 3, "softmax", HOT),
    "LogCosh": (dense, 1, None, NUMBER),
    "MeanAbsoluteError": (dense, 1, None, NUMBER),
    "MeanAbsolutePercentageError": (dense, 1, None, POSITIVE),
    "MeanSquaredError": (dense, 1, None, NUMBER),
    "MeanSquaredLogarithmicError": (dense, 1, "softplus", POSITIVE),
    "Poisson": (dense, 1, "softplus", POSITIVE),
    "SparseCategoricalCrossentropy": (dense, 3, "softmax", CLASS),
    "SquaredHinge": (dense, 1, "tanh", YES),
    "Tversky": (dense, 2, "sigmoid", SHARES),
}
"""Each loss of Keras, with the model and the label that it is for."""
OF_EMBEDDINGS, OF_SEQUENCES = "Circle", "CTC"


def test_no_loss_of_keras_is_forgotten():
    kinds = [
        one for _, one in inspect.getmembers(keras.losses, inspect.isclass) if one is not keras.losses.Loss
    ]
    assert {one.__name__ for one in kinds} == {*LOSSES, OF_EMBEDDINGS, OF_SEQUENCES}
    functions = dict(inspect.getmembers(keras.losses, inspect.isfunction))
    for kind in kinds:
        by_class = losses.read(kind(name="mine"))
        (function,) = [
            its for name, its in functions.items() if name.replace("_", "") == kind.__name__.lower()
        ]
        by_function = losses.read(function)
        assert (by_class.takes_index, by_class.is_of_classes, by_class.is_of_yes_or_no, by_class.scores) == (
            by_function.takes_index,
            by_function.is_of_classes,
            by_function.is_of_yes_or_no,
            by_function.scores,
        )


@pytest.mark.soak
@pytest.mark.parametrize("name", LOSSES)
def test_each_loss_of_keras_trains_as_in_keras(name, traced):
    make, units, activation, label = LOSSES[name]
    build = make(units, activation, getattr(keras.losses, name)())
    assert_trains_as_keras(build, [X, label], *traced(build, [X], [label]))


@pytest.mark.exhaustive
@pytest.mark.parametrize("label", [CLASS, HOT], ids=["number", "one-hot"])
def test_a_loss_of_embeddings_takes_numbers_of_classes(label, traced):
    build = embeddings(keras.losses.Circle(gamma=2))
    assert_trains_as_keras(build, [X, label], *traced(build, [X], [label]))


def test_an_integer_that_is_no_class_of_the_output_is_refused_by_name(traced):
    build, features, labels, _ = KINDS["categorical of integers"]
    saved, described = traced(build, features, labels)
    batch = {one.name: one.draw(np.random.default_rng(3)) for one in [*features, *labels]}
    for wrong in (3, -1):
        batch["y"][5] = wrong
        given = as_tensors(described, batch)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=rf"the label y is\] \[{wrong}\] \[but y has"
        ):
            saved.signatures["train_step"](**given, weights=tf.ones([ROWS]))


@pytest.mark.parametrize(
    ("build", "label", "mend"),
    [
        (dense(3, None, "mse"), integers("y", 3), '1 unit.*sparse_categorical_crossentropy.*type = "label"'),
        (dense(3, "softmax", "sparse_categorical_crossentropy"), floats("y"), 'type = "label"'),
        (dense(2, "softmax", "categorical_crossentropy"), CLASS, "must have 3 units"),
    ],
)
def test_a_label_that_does_not_fit_the_loss_is_refused_with_what_would(build, label, mend, traced):
    with pytest.raises(ModelError, match=mend):
        traced(build, [X], [label])


def test_inputs_of_one_name_are_named_with_the_keys_above_them(traced):
    build, features, labels, _ = KINDS["nested inputs of one name"]
    _, described = traced(build, features, labels)
    assert [one["name"] for one in described["inputs"]] == ["left/it", "right/it"]
