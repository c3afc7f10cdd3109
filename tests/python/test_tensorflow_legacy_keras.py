"""Formats and calls that only Keras 2 has (tf_keras), over stores: each gives the same result as on a local
disk. Keras 3 is in the same process.
"""

import functools
import tempfile

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tensorflow_support import summaries_below, told

pytestmark = pytest.mark.exhaustive

gfile = tf.io.gfile

INPUTS = np.random.default_rng(1).normal(size=(64, 4)).astype(np.float32)
TARGETS = INPUTS[:, :2] * 2
BATCHES = 4  # of an epoch


def new_model(seed: int = 1) -> tf_keras.Model:
    tf_keras.utils.set_random_seed(seed)
    layers = [
        tf_keras.layers.InputLayer((4,), name="inputs"),
        tf_keras.layers.Dense(8, name="hidden"),
        tf_keras.layers.Dense(2, name="output"),
    ]
    model = tf_keras.Sequential(layers, name="model")
    model.compile("adam", "mse")
    return model


def fit(model: tf_keras.Model, *callbacks: tf_keras.callbacks.Callback, epochs: int = 1, **options):
    return model.fit(
        INPUTS,
        TARGETS,
        batch_size=len(INPUTS) // BATCHES,
        shuffle=False,
        epochs=epochs,
        verbose=0,
        callbacks=list(callbacks),
        **options,
    )


def predicted(model) -> list:
    return np.asarray(model(INPUTS)).tolist()


def fitted_model() -> tf_keras.Model:
    model = new_model()
    fit(model)
    return model


# ---- Each function works in a folder and tells what it saw --------------------------------------


def models_without_an_ending(root):
    model = fitted_model()
    for _ in range(2):  # over the first
        model.save(f"{root}/model")
    loaded = tf_keras.models.load_model(f"{root}/model")
    return [
        np.allclose(loaded.predict(INPUTS, verbose=0), predicted(model)),
        fit(loaded).epoch,
        sorted(gfile.listdir(f"{root}/model")),
        sorted(gfile.listdir(f"{root}/model/variables")),
        sorted(tf.saved_model.load(f"{root}/model").signatures),
    ]


def models_in_one_file(root):
    seen = []
    for ending in ("keras", "h5"):
        model = fitted_model()
        for _ in range(2):
            model.save(f"{root}/model.{ending}")
        loaded = tf_keras.models.load_model(f"{root}/model.{ending}")
        seen.append(predicted(loaded) == predicted(model))
        fit(model)
        fit(loaded)  # goes on with the optimizer's state
        seen.append(np.allclose(predicted(loaded), predicted(model)))
    return [*seen, sorted(gfile.listdir(root))]


def weights(root):
    model = fitted_model()
    seen = []
    for name in ("cp.ckpt", "cp.h5", "cp.weights.h5"):
        model.save_weights(f"{root}/{name}")
        other = new_model(seed=2)
        other.load_weights(f"{root}/{name}")
        seen.append(predicted(other) == predicted(model))
    return [*seen, tf.train.latest_checkpoint(root), sorted(gfile.listdir(root))]


def checkpoints_of_each_epoch(root):
    model = new_model()
    path = f"{root}/checkpoints/cp-{{epoch:02d}}.ckpt"
    fit(model, tf_keras.callbacks.ModelCheckpoint(path, save_weights_only=True), epochs=3)
    latest = tf.train.latest_checkpoint(f"{root}/checkpoints")
    restored, earlier = new_model(seed=2), new_model()
    restored.load_weights(latest).assert_existing_objects_matched()
    earlier.load_weights(path.format(epoch=2))
    return [
        latest,
        predicted(restored) == predicted(model),
        predicted(earlier) == predicted(restored),
        sorted(gfile.listdir(f"{root}/checkpoints")),
        len(tf.train.list_variables(latest)),
    ]


def models_of_each_epoch(root):
    model = new_model()
    fit(
        model,
        tf_keras.callbacks.ModelCheckpoint(f"{root}/models/{{epoch}}"),
        tf_keras.callbacks.ModelCheckpoint(f"{root}/best.keras", monitor="loss", save_best_only=True),
        epochs=2,
    )
    saved = [f"{root}/models/2", f"{root}/best.keras"]
    return [
        [predicted(tf_keras.models.load_model(path)) == predicted(model) for path in saved],
        sorted(gfile.listdir(f"{root}/models")),
        sorted(gfile.listdir(f"{root}/models/1")),
        sorted(gfile.listdir(root)),
    ]


def logs(root):
    board = tf_keras.callbacks.TensorBoard(log_dir=f"{root}/logs", histogram_freq=1, update_freq=1)
    history = fit(new_model(), board, epochs=3, validation_data=(INPUTS, TARGETS)).history
    of_split = {split: summaries_below(f"{root}/logs/{split}") for split in ("train", "validation")}
    losses = [
        [value for tag, _, value in of_split[split] if tag == "epoch_loss"]
        for split in ("train", "validation")
    ]
    return [
        sorted(gfile.listdir(f"{root}/logs")),
        np.allclose(losses, [history["loss"], history["val_loss"]]),
        of_split["train"],
        of_split["validation"],
    ]


class Interruption(tf_keras.callbacks.Callback):
    """In epoch 2, before its third batch."""

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if (self.epoch, batch) == (2, 2):
            raise InterruptedError


def an_interrupted_fit(root):
    wanted = new_model()
    fit(wanted, epochs=4)
    seen = []
    for often in ("epoch", 1):
        backup = functools.partial(
            tf_keras.callbacks.BackupAndRestore, backup_dir=f"{root}/backup-{often}", save_freq=often
        )
        with pytest.raises(InterruptedError):
            fit(new_model(), backup(), Interruption(), epochs=4)
        kept = sorted(gfile.listdir(f"{root}/backup-{often}/chief"))
        again = new_model(seed=2)
        history = fit(again, backup(), epochs=4)
        left = gfile.exists(f"{root}/backup-{often}/chief")
        seen.append([kept, history.epoch, int(again.optimizer.iterations), left, predicted(again)])
    return [np.allclose(seen[0][-1], predicted(wanted)), seen]


def both_of_keras(root):
    older = fitted_model()
    newer = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)])
    older.save(f"{root}/older")
    newer.export(f"{root}/newer", verbose=False)
    older.save(f"{root}/older.keras")
    newer.save(f"{root}/newer.keras")
    older_served, newer_served = (tf.saved_model.load(f"{root}/{name}") for name in ("older", "newer"))
    return [
        predicted(tf_keras.models.load_model(f"{root}/older.keras")) == predicted(older),
        predicted(keras.saving.load_model(f"{root}/newer.keras")) == predicted(newer),
        np.allclose(older_served(INPUTS), predicted(older)),
        np.allclose(newer_served.serve(INPUTS), predicted(newer)),
    ]


SCENARIOS = [
    models_without_an_ending,
    models_in_one_file,
    weights,
    checkpoints_of_each_epoch,
    models_of_each_epoch,
    logs,
    an_interrupted_fit,
    both_of_keras,
]


@functools.cache
def told_locally(scenario) -> object:
    with tempfile.TemporaryDirectory() as folder:
        return told(scenario, f"{folder}/local")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
@pytest.mark.parametrize(
    "remote",
    ["s3", *(pytest.param(name, marks=pytest.mark.soak) for name in ("hrfile", "ignite", "memory"))],
    indirect=True,
)
def test_it_is_as_on_a_local_disk(scenario, remote):
    assert told(scenario, remote) == told_locally(scenario)
