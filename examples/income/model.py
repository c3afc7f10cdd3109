"""Predicts yes or no from numbers and a category, each by its name; one output with a sigmoid."""

import keras
from keras import layers


def build() -> keras.Model:
    age, hours = keras.Input((1,), name="age"), keras.Input((1,), name="hours")
    job = keras.Input((), name="job", dtype="int64")
    numbers = layers.BatchNormalization()(layers.Concatenate()([age, hours]))
    body = layers.Dense(16, "relu")(layers.Concatenate()([numbers, layers.Embedding(4, 3)(job)]))
    model = keras.Model(
        {"age": age, "hours": hours, "job": job}, layers.Dense(1, "sigmoid", name="rich")(body)
    )
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
    return model
