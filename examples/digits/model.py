"""Classifies images. The loader decodes them to the size of the input."""

import keras
from keras import layers


def build(classes: int) -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((24, 24, 1)),
            layers.Rescaling(1 / 255),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.GlobalMaxPooling2D(),
            layers.Dense(classes, "softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
