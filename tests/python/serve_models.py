"""For tests of `headrace serve`: the models that they serve, and rows for them."""

import base64
import csv
import io
import pathlib
import random
import textwrap

import numpy as np
import tensorflow as tf
from PIL import Image

SCHEMA = """
    id = "name"
    [features.age]
    type = "float32"
    optional = true
    [features.city]
    type = "label"
    vocabulary = ["lima", "oslo", "rome"]
    [features.about]
    type = "vector"
    encoder = "hash:8"
    default = ""
    [features.photo]
    type = "image"
    uri = true
    resize = [6, 5]
    encode = "jpeg"
    [features.income]
    type = "label"
    vocabulary = ["low", "high"]
"""
MODEL = """
def build():
    import keras

    age, city = keras.Input((), name="age"), keras.Input((), name="city", dtype="int64")
    about = keras.Input((8,), name="about")
    photo = keras.Input((6, 5, 3), name="photo", dtype="uint8")
    light = keras.layers.GlobalAveragePooling2D()(keras.layers.Rescaling(1 / 255)(photo))
    parts = [keras.layers.Reshape((1,))(age), keras.layers.Embedding(3, 4)(city), about, light]
    hidden = keras.layers.Dense(16, activation="relu")(keras.layers.Concatenate()(parts))
    income = keras.layers.Dense(2, activation="softmax", name="income")(hidden)
    model = keras.Model([age, city, about, photo], income)
    model.compile("adam", "sparse_categorical_crossentropy")
    return model
"""


def picture(draw: random.Random) -> bytes:
    pixels = np.frombuffer(draw.randbytes(8 * 9 * 3), np.uint8).reshape(8, 9, 3)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=80)
    return out.getvalue()


def train_people(headrace, folder: pathlib.Path) -> pathlib.Path:
    """A table of people with pictures, and a model that learnt from it: models/people."""
    draw = random.Random(4)
    (folder / "pictures").mkdir()
    for number in range(20):
        (folder / f"pictures/{number}.jpg").write_bytes(picture(draw))
    with (folder / "rows.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["name", "age", "city", "about", "photo", "income"])
        for number in range(200):
            age = draw.choice(["", *map(str, range(18, 90))])
            city, about = draw.choice(["lima", "oslo", "rome"]), draw.choice(["likes boats", "é", ""])
            row = [age, city, about, f"pictures/{draw.randrange(20)}.jpg", draw.choice(["low", "high"])]
            table.writerow([f"p{number}", *row])
    (folder / "schema.toml").write_text(textwrap.dedent(SCHEMA))
    (folder / "model.py").write_text(MODEL)
    headrace("prepare", folder / "rows.csv", folder / "data", "--schema", folder / "schema.toml")
    words = ["train", folder / "data", folder / "run", "--epochs", "1", "--labels", "income"]
    headrace(*words, "--model", f"{folder}/model.py:build", "--name", "people")
    return folder


class HalfPlusTwo(tf.Module):
    """TensorFlow Serving's own example, and other shapes and types."""

    def __init__(self, added: float = 2.0):
        super().__init__()
        self.added = tf.Variable(float(added))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def half(self, x):
        return {"y": x / 2 + self.added}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 2, None], tf.int64, "numbers"),
            tf.TensorSpec([None], tf.string, "texts"),
        ]
    )
    def mixed(self, numbers, texts):
        return {
            "doubled": numbers * 2,
            "lower": tf.strings.lower(texts),
            "raw_bytes": texts,
            "is_long": tf.strings.length(texts) > 3,
        }

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32, "whole")])
    def total(self, whole):
        return {"sum": tf.reduce_sum(whole)}

    def save(self, folder) -> None:
        signatures = {"serving_default": self.half, "mixed": self.mixed, "total": self.total}
        tf.saved_model.save(self, str(folder), signatures=signatures)


def b64(data: bytes) -> dict:
    return {"b64": base64.b64encode(data).decode()}


def rows_of(place, count: int) -> list[dict]:
    """Rows as `predict` reads them: pictures by their paths."""
    with (place / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))[:count]
    return [
        {
            "age": float(row["age"]) if row["age"] else None,
            "city": row["city"],
            "about": row["about"],
            "photo": str(place / row["photo"]),
        }
        for row in rows
    ]


def instance_of(row: dict) -> dict:
    with open(row["photo"], "rb") as file:
        return {**row, "photo": b64(file.read())}


class Rater(tf.Module):
    """Takes tf.Examples with `age` (a float) and `name` (optional): classes with scores, and a number."""

    def __init__(self):
        super().__init__()
        self.slope = tf.Variable(0.5)

    def parsed(self, inputs):
        features = {
            "age": tf.io.FixedLenFeature([], tf.float32),
            "name": tf.io.FixedLenFeature([], tf.string, b"nobody"),
        }
        return tf.io.parse_example(inputs, features)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "inputs")])
    def classify(self, inputs):
        example = self.parsed(inputs)
        score = example["age"] * self.slope
        classes = tf.stack([example["name"], tf.fill(tf.shape(inputs), "other")], 1)
        return {"classes": classes, "scores": tf.stack([score, 1 - score], 1)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "inputs")])
    def regress(self, inputs):
        return {"outputs": self.parsed(inputs)["age"] * self.slope + 1}

    def save(self, folder) -> None:
        signatures = {"serving_default": self.classify, "regress": self.regress}
        tf.saved_model.save(self, str(folder), signatures=signatures)


def save_old_rater(folder) -> None:
    """The same as TensorFlow 1 saved it: its signatures have the names of their methods."""
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        slope = v1.get_variable("slope", initializer=0.5, use_resource=True)
        session.run(v1.global_variables_initializer())
        inputs = v1.placeholder(tf.string, [None], "inputs")
        age = v1.io.parse_example(inputs, {"age": tf.io.FixedLenFeature([1], tf.float32)})["age"]
        classes = tf.fill([tf.shape(inputs)[0], 2], "a")
        scores = tf.concat([age * slope, 1 - age * slope], 1)
        utilities = v1.saved_model.signature_def_utils
        signatures = {
            "serving_default": utilities.classification_signature_def(inputs, classes, scores),
            "regress": utilities.regression_signature_def(inputs, age * slope + 1),
        }
        builder = v1.saved_model.builder.SavedModelBuilder(str(folder))
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=signatures)
        builder.save()


class TextWaves(tf.Module):
    """Texts → four numbers of each."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def waves(self, texts):
        numbers = tf.cast(tf.strings.to_hash_bucket_fast(texts, 97), tf.float32)
        return {"waves": tf.cos(numbers[:, None] * tf.constant([1.0, 0.5, 0.2, 0.1]))}

    def save(self, folder: pathlib.Path) -> None:
        tf.saved_model.save(self, str(folder), signatures={"serving_default": self.waves})
