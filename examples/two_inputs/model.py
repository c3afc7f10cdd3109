"""Two inputs. One of them is text, which the model itself splits into words."""

import keras
from keras import layers

WORDS = [
    "murder",
    "clue",
    "night",
    "alibi",
    "sea",
    "train",
    "map",
    "island",
    "salt",
    "oven",
    "bread",
    "spice",
]


def build(classes: int) -> keras.Model:
    title, pages = keras.Input((), dtype="string", name="title"), keras.Input((1,), name="pages")
    words = layers.TextVectorization(vocabulary=WORDS, output_mode="multi_hot")(title)
    body = layers.Concatenate()([words, layers.BatchNormalization()(pages)])
    body = layers.Dense(16, "relu")(body)
    model = keras.Model([title, pages], layers.Dense(classes, "softmax", name="genre")(body))
    model.compile(keras.optimizers.Adam(0.01), "categorical_crossentropy", metrics=["accuracy"])
    return model
