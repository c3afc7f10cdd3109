"""Keras `fit` on TFRecord shards of JPEGs, at its best: images are decoded and resized in parallel, batches
are prefetched, 32 steps in one execution.

    fit_images.py FOLDER BATCH INTRA_OP_THREADS JIT_COMPILE EPOCHS

INTRA_OP_THREADS 0 and JIT_COMPILE auto are the defaults of TensorFlow and Keras. Writes JSON: steps of an
epoch, and wall seconds of each epoch except the first, which traces.
"""

import json
import os
import pathlib
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import best_fit
import tensorflow as tf
from image_model import SIDE, build

SHUFFLED = 256  # images in the buffer, some 10 MB
FEATURES = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def pipeline(folder: str, batch: int) -> tf.data.Dataset:
    tune = tf.data.AUTOTUNE

    def decode(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        example = tf.io.parse_single_example(record, FEATURES)
        image = tf.io.decode_jpeg(example["image"], channels=3)
        return tf.image.resize(image, (SIDE, SIDE)), example["label"]

    files = tf.data.Dataset.list_files(f"{folder}/*.tfrecord", shuffle=True, seed=44)
    records = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=tune).shuffle(SHUFFLED)
    return records.map(decode, num_parallel_calls=tune).batch(batch).prefetch(tune)


def main() -> None:
    folder, batch, threads, jit, epochs = sys.argv[1:]
    model = best_fit.compiled(build, threads, jit)
    print(json.dumps(best_fit.fit(model, pipeline(folder, int(batch)), int(epochs))))


if __name__ == "__main__":
    main()
