"""Models of all kinds, trained by `headrace train` with either loop: the weights are those to which Keras'
own `train_step` trains the same model on the same batches.

Every batch is full and nothing is held out, there is no dropout, and operations are deterministic. So only
the last bits may differ, and with the native loop's Adam the size of its steps, by 6.4e-6 of it: Keras
computes 1 - beta_2 in double precision, TensorFlow's kernel in single. The models have no bias that a later
layer cancels, such as batch normalization: its gradient is nothing but rounding errors.
"""

import concurrent.futures
import contextlib
import dataclasses
import io
import json
import os
import pathlib
import runpy
import textwrap
from collections.abc import Callable
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import pytest
import tensorflow as tf
from headrace._src import signatures, user_model

import headrace as hr

ROWS, BATCH, WIDTH, EPOCHS, SEED = 64, 16, 12, 2, 44
TOLERANCE = 1e-5  # of a variable's largest value

SCHEMA = """
    id = "name"
    [features.name]
    type = "string"
    [features.x]
    type = "float32"
    shape = [12]
    [features.n]
    type = "int64"
    [features.word]
    type = "string"
    [features.kind]
    type = "label"
    vocabulary = ["a", "b", "c"]
    [features.grade]
    type = "int64"
    [features.yes]
    type = "label"
    vocabulary = ["no", "yes"]
    [features.size]
    type = "float32"
"""
MODELS = """
    import keras
    from keras import layers, ops

    SPARSE = "sparse_categorical_crossentropy"

    def over(*body, units=3, activation="softmax", loss=SPARSE, optimizer="sgd", metrics=("accuracy",)):
        model = keras.Sequential(
            [keras.Input((12,), name="x"), *body, layers.Dense(units, activation, name="out")])
        model.compile(optimizer, loss, metrics=list(metrics))
        return model

    def linear(): return over(loss="categorical_crossentropy", optimizer="adam")
    def of_integers(): return over(loss="categorical_crossentropy", optimizer="rmsprop")
    def normalized(): return over(layers.Dense(5, "relu"), layers.BatchNormalization(), optimizer="adam")
    def by_layer(): return over(layers.Dense(5, "gelu"), layers.LayerNormalization(), optimizer="adamw")
    def conv_2d(): return over(
        layers.Reshape((2, 2, 3)), layers.Conv2D(4, 2, use_bias=False), layers.BatchNormalization(),
        layers.ReLU(), layers.GlobalAveragePooling2D())
    def lstm(): return over(layers.Reshape((6, 2)), layers.LSTM(4), optimizer="adam")
    def gru(): return over(layers.Reshape((6, 2)), layers.Bidirectional(layers.GRU(3)))
    def yes_or_no(): return over(layers.Dense(4, "tanh"), units=1, activation="sigmoid",
                                 loss="binary_crossentropy", optimizer="nadam", metrics=["AUC"])
    def regularized(): return over(
        layers.Dense(4, kernel_regularizer="l2"), units=1, activation=None, loss="huber",
        optimizer=keras.optimizers.SGD(0.05, momentum=0.9), metrics=["mae"])
    def accumulated(): return over(
        layers.Dense(4, "tanh"), optimizer=keras.optimizers.Adam(0.01, gradient_accumulation_steps=2))
    def scheduled(): return over(
        layers.Dense(4, "tanh"),
        optimizer=keras.optimizers.Adam(
            keras.optimizers.schedules.ExponentialDecay(0.01, 3, 0.5), clipnorm=0.5))

    def compiled(inputs, outputs, loss=SPARSE, optimizer="adam"):
        model = keras.Model(inputs, outputs)
        model.compile(optimizer, loss)
        return model

    def ends(body): return layers.Dense(3, "softmax", name="out")(body)
    def x_input(): return keras.Input((12,), name="x")
    def n_input(): return keras.Input((), name="n", dtype="int64")

    def words():
        word = keras.Input((), name="word", dtype="string")
        looked_up = layers.StringLookup(vocabulary=["red", "green", "blue"])(word)
        return compiled(word, ends(layers.Embedding(4, 3)(looked_up)), optimizer="sgd")

    def nested():
        x, n = x_input(), n_input()
        return compiled({"left": {"x": x}, "right": {"n": n}},
                        ends(layers.Concatenate()([x, layers.Embedding(4, 2)(n)])))

    def residual():
        x = x_input()
        return compiled(x, ends(layers.add([x, layers.Dense(12, "swish")(x)])))

    def attention():
        x = x_input()
        steps = layers.Reshape((4, 3))(x)
        attended = layers.MultiHeadAttention(2, 2, use_bias=False)(steps, steps)
        return compiled(x, ends(layers.Flatten()(attended)))

    def two_outputs():
        x = x_input()
        body = layers.Dense(5, "tanh")(x)
        outputs = {"kind": layers.Dense(3, "softmax", name="kind")(body),
                   "size": layers.Dense(1, name="size")(body)}
        return compiled(x, outputs, {"kind": SPARSE, "size": "mse"})

    class OfOne(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden, self.last = layers.Dense(4, "relu"), layers.Dense(3, "softmax")
            self.normalized = layers.BatchNormalization()

        def call(self, x, training=False):
            return self.last(self.normalized(self.hidden(x), training=training))

    class OfDictionary(OfOne):
        def call(self, given, training=False):
            n = ops.one_hot(given["n"], 4)
            return super().call(ops.concatenate([given["x"], n], 1), training)

    class OfTuple(OfDictionary):
        def call(self, given, training=False):
            n, x = given
            return super().call({"x": x, "n": n}, training)

    class WithOwnLoss(OfOne):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            loss = super().compute_loss(x, y, y_pred, sample_weight, training)
            return loss + 0.1 * ops.mean(ops.square(y_pred))

    def subclassed(kind=OfOne, optimizer="sgd"):
        model = kind()
        model.compile(optimizer, SPARSE, metrics=["accuracy"])
        return model

    def of_dictionary(): return subclassed(OfDictionary, "adam")
    def of_tuple(): return subclassed(OfTuple)
    def with_own_loss(): return subclassed(WithOwnLoss)
"""


@dataclasses.dataclass(frozen=True)
class Case:
    """The labels and features of a model, and a batch of them as Keras takes it."""

    labels: str = "kind"
    features: str = "x"
    x: Callable[[dict], Any] = lambda batch: batch["x"]
    y: Callable[[dict], Any] = lambda batch: batch["kind"]


def one_hot(name: str, classes: int) -> Callable[[dict], np.ndarray]:
    return lambda batch: np.eye(classes, dtype="float32")[batch[name]]


def column(name: str) -> Callable[[dict], np.ndarray]:
    return lambda batch: batch[name].reshape(len(batch[name]), -1).astype("float32")


CASES = {
    "linear": Case(y=one_hot("kind", 3)),
    "of_integers": Case("grade", y=one_hot("grade", 3)),
    "normalized": Case(),
    "by_layer": Case(),
    "conv_2d": Case(),
    "lstm": Case(),
    "gru": Case(),
    "yes_or_no": Case("yes", y=column("yes")),
    "regularized": Case("size", y=column("size")),
    "accumulated": Case(),
    "scheduled": Case(),
    "words": Case(features="word", x=lambda batch: tf.constant(batch["word"])),
    "nested": Case(features="x,n", x=lambda batch: {"left": {"x": batch["x"]}, "right": {"n": batch["n"]}}),
    "residual": Case(),
    "attention": Case(),
    "two_outputs": Case("kind,size", y=lambda batch: {"kind": batch["kind"], "size": column("size")(batch)}),
    "subclassed": Case(),
    "of_dictionary": Case(features="x,n", x=lambda batch: {"x": batch["x"], "n": batch["n"]}),
    "of_tuple": Case(features="n,x", x=lambda batch: (batch["n"], batch["x"])),
    "with_own_loss": Case(),
}
LOOPS = ("native", "keras")


def rows() -> list[dict]:
    draw = np.random.default_rng(5)
    return [
        {
            "name": f"row{number}",
            "x": draw.normal(size=WIDTH).round(3).tolist(),
            "n": int(draw.integers(4)),
            "word": str(draw.choice(["red", "green", "blue"])),
            "kind": str(draw.choice(["a", "b", "c"])),
            "grade": int(draw.integers(3)),
            "yes": str(draw.choice(["no", "yes"])),
            "size": round(float(draw.normal()), 3),
        }
        for number in range(ROWS)
    ]


@pytest.fixture(scope="module")
def folder(headrace, tmp_path_factory, tracing_environment) -> pathlib.Path:
    """data/, and models in mine.py."""
    folder = tmp_path_factory.mktemp("both")
    (folder / "schema.toml").write_text(textwrap.dedent(SCHEMA), encoding="utf-8")
    (folder / "mine.py").write_text(textwrap.dedent(MODELS), encoding="utf-8")
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows())) + "\n", encoding="utf-8")
    words = ["--schema", folder / "schema.toml", "--split", "train=1"]
    headrace("prepare", folder / "rows.jsonl", folder / "data", *words)
    return folder


def train(headrace, folder: pathlib.Path, name: str, loop: str) -> None:
    words = ["--model", f"{folder}/mine.py:{name}", "--features", CASES[name].features, "--loop", loop]
    words += ["--labels", CASES[name].labels, "--epochs", EPOCHS, "--batch-size", BATCH, "--validation", "0"]
    headrace("train", folder / "data", folder / f"{name}-{loop}", *words, "--seed", SEED, "--quiet")


def by_keras(folder: pathlib.Path, name: str) -> dict[str, np.ndarray]:
    """The variables by their keys in checkpoints, as Keras' own steps train them."""
    keras.utils.clear_session()
    user_model.make_deterministic(SEED)
    model = runpy.run_path(str(folder / "mine.py"))[name]()
    loader = hr.open(folder / "data", split="train").loader(batch_size=BATCH, seed=SEED, epochs=EPOCHS)
    steps = 0
    for batch in loader:
        model.train_on_batch(CASES[name].x(batch), CASES[name].y(batch))
        steps += 1
    assert steps == EPOCHS * ROWS // BATCH
    kept = [v for v in signatures.variables_of(model) if v.role in ("trainable", "non_trainable")]
    return {variable.checkpoint_key: variable.value.numpy() for variable in kept}


def by_headrace(folder: pathlib.Path, name: str, loop: str) -> dict[str, np.ndarray]:
    run = folder / f"{name}-{loop}"
    reader = tf.train.load_checkpoint(str(run / "export" / "variables" / "variables"))
    return {key: reader.get_tensor(key) for key in reader.get_variable_to_shape_map() if key[:5] == "vars/"}


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest, as a part of the largest value that is wanted."""
    return float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-30))


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["conv_2d", "two_outputs"], id="two"),
        pytest.param(list(CASES), marks=pytest.mark.soak, id="twenty"),
    ],
)
def test_either_loop_trains_as_keras_does(headrace, folder, names):
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        trained = [threads.submit(train, headrace, folder, name, loop) for name in names for loop in LOOPS]
        for one in trained:
            one.result()
    too_far = []
    for name in names:
        with contextlib.redirect_stdout(io.StringIO()):
            wanted = by_keras(folder, name)
        for loop in LOOPS:
            found = by_headrace(folder, name, loop)
            assert set(wanted) <= set(found)
            for key, values in wanted.items():
                apart = difference(found[key], values)
                if apart > TOLERANCE:
                    too_far.append(f"{name}, {loop}: {key} is {apart:.1e} apart")
    assert too_far == []
