"""Models that ship with Headrace. Each is a function that returns a compiled Keras model.

Your own model is such a function in a module of yours. `headrace train --model MODULE:FUNCTION` calls it with
the keyword arguments that it declares, among these:

    features  length of the feature vector, an int; the shape, a tuple, if features have several dimensions
    classes   number of classes, an int
    seed      seed of the run, an int
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras


def dense_classifier(
    features: int = 512, classes: int = 2, seed: int | None = None, learning_rate: float = 1e-3
) -> keras.Model:
    """Two dense layers with dropout, then softmax: a classifier for texts that are already embedded.

    Args:
        features: length of the input vector. The input is float32 [rows, features].
        classes: length of the output. The output is float32 [rows, classes], and each row sums to 1.
        seed: if given, the initial weights and the dropout masks are a function of it. It sets the global
            seeds of Python, NumPy and the backend.
        learning_rate: step size of Adam.
    """
    import keras

    if not isinstance(features, int):
        raise ValueError(
            f"this classifier takes one vector of numbers, but the data have {features}. For images, or "
            "several inputs, give a function of your own that returns a compiled keras.Model, with "
            "--model FILE.py:FUNCTION"
        )
    if seed is not None:
        keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((features,), dtype="float32", name="features"),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(classes, activation="softmax"),
        ],
        name="dense_classifier",
    )
    model.compile(
        optimizer=keras.optimizers.Adam(learning_rate),
        loss="categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model
