"""Models that ship with Headrace, each a function that returns a compiled Keras model.

A model of your own is such a function too, in a module of your own. `headrace train --model MODULE:FUNCTION`
calls it with those of these keyword arguments that it names:

    features  length of the feature vector (a tuple, where features have more than one dimension)
    classes   number of classes
    seed      the run's seed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras


def dense_classifier(
    features: int = 512, classes: int = 2, seed: int | None = None, learning_rate: float = 1e-3
) -> keras.Model:
    """Two dense layers with dropout, then softmax: a head for texts that are already embedded.

    With a `seed`, the initial weights and the dropout masks are a function of it.
    """
    import keras

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
