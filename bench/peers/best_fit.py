"""Keras `fit` at its best, for the peers of `headrace train`: 32 steps in one execution, with the intra-op
threads and jit_compile that the caller found best."""

from collections.abc import Callable

import keras
import tensorflow as tf
from train_loop import EpochClock


def compiled(build: Callable[[], keras.Model], threads: str, jit: str) -> keras.Model:
    """The model that `build` makes, compiled again. `threads`: 0 is TensorFlow's default; the number can be
    set only before a model exists. `jit`: auto, yes or no."""
    tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    model = build()
    model.compile(
        optimizer=model.optimizer,
        loss=model.loss,
        metrics=["accuracy"],
        steps_per_execution=32,
        jit_compile={"auto": "auto", "yes": True, "no": False}[jit],
    )
    return model


def fit(model: keras.Model, data: tf.data.Dataset, epochs: int) -> dict:
    """Steps of an epoch, and wall seconds of each epoch except the first one, which traces."""
    clock = EpochClock()
    model.fit(data, epochs=1 + epochs, verbose=0, callbacks=[clock])
    return {"steps": int(model.optimizer.iterations) // len(clock.seconds), "epoch_s": clock.seconds[1:]}
