"""The CNN for images of 150 × 150 that both loops train."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
from keras import layers

SIDE = 150


def build() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 3)),
            layers.Rescaling(1 / 255),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(512, "relu"),
            layers.Dense(1, "sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-3), "binary_crossentropy", metrics=["accuracy"])
    return model
