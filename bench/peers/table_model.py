"""The model of a table that both loops train: two towers, one of twenty numbers and one of three
categories."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
from keras import layers

NUMBERS = 20
CATEGORIES = {"c0": 10, "c1": 100, "c2": 1000}


def build() -> keras.Model:
    inputs = {"numbers": keras.Input((NUMBERS,), name="numbers")}
    inputs |= {name: keras.Input((), name=name, dtype="int64") for name in CATEGORIES}
    numbers = layers.Dense(64, "relu")(layers.BatchNormalization()(inputs["numbers"]))
    embedded = [layers.Embedding(size, 16)(inputs[name]) for name, size in CATEGORIES.items()]
    categories = layers.Dense(64, "relu")(layers.Concatenate()(embedded))
    joined = layers.Dense(32, "relu")(layers.Concatenate()([numbers, categories]))
    model = keras.Model(inputs, layers.Dense(1, "sigmoid", name="label")(joined))
    model.compile(keras.optimizers.Adam(1e-3), "binary_crossentropy", metrics=["accuracy"])
    return model
