"""Predicts several labels at once: from a vector of the text, with one sigmoid for each topic."""

import keras
from keras import layers


def build() -> keras.Model:
    model = keras.Sequential([keras.Input((256,)), layers.Dense(32, "relu"), layers.Dense(3, "sigmoid")])
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["binary_accuracy"])
    return model
