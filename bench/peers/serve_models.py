"""serve_models.py KIND FOLDER [SIZE]: writes a SavedModel for the servers that are measured.

identity: a row of 512 floats, as it is. mlp: 512 → 64 → 2 in Keras. wide: four layers of 2048 in Keras.
weights: adds up numbers, and has SIZE MiB of random weights.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import tensorflow as tf

PIECE_MIB = 64


class Identity(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 512], tf.float32, "x")])
    def answer(self, x):
        return {"y": tf.identity(x)}


class Weights(tf.Module):
    def __init__(self, size_mib: int):
        super().__init__()
        shapes = [[min(PIECE_MIB, size_mib - at), 512, 512] for at in range(0, size_mib, PIECE_MIB)]
        self.pieces = [tf.Variable(tf.random.stateless_uniform(shape, [4, 4])) for shape in shapes]

    @tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32, "x")])
    def answer(self, x):
        return {"y": tf.reduce_sum(x, 1) + tf.add_n([tf.gather(each, 0)[0, 0] for each in self.pieces])}


def mlp() -> keras.Model:
    layers = [keras.layers.Dense(64, activation="relu"), keras.layers.Dense(2, activation="softmax")]
    return keras.Sequential([keras.Input((512,), name="x"), *layers])


def wide() -> keras.Model:
    layers = [keras.layers.Dense(2048, activation="relu") for _ in range(4)]
    return keras.Sequential([keras.Input((2048,), name="x"), *layers])


def main() -> None:
    kind, folder, *size = sys.argv[1:]
    keras.utils.set_random_seed(44)
    if kind in ("mlp", "wide"):
        (mlp() if kind == "mlp" else wide()).export(folder, verbose=False)
        return
    module = Identity() if kind == "identity" else Weights(int(size[0]))
    tf.saved_model.save(module, folder, signatures={"serving_default": module.answer})


if __name__ == "__main__":
    main()
