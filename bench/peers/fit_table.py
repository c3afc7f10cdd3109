"""Keras `fit` and `predict` on uncompressed shards of a table, each at its best: batches are parsed as a
whole, 32 steps in one execution.

    fit_table.py FOLDER INTRA_OP_THREADS JIT_COMPILE EPOCHS
    fit_table.py FOLDER INTRA_OP_THREADS JIT_COMPILE predict

INTRA_OP_THREADS 0 and JIT_COMPILE auto are the defaults of TensorFlow and Keras. Writes JSON: steps of an
epoch, and wall seconds of each epoch except the first, which traces; or rows, and wall seconds of three
passes except the first.
"""

import json
import os
import pathlib
import sys
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import best_fit
import tensorflow as tf
from table_model import CATEGORIES, NUMBERS, build

TRAIN_BATCH, PREDICT_BATCH = 256, 512
FEATURES = {"numbers": tf.io.FixedLenFeature([NUMBERS], tf.float32)}
FEATURES |= {name: tf.io.FixedLenFeature([], tf.int64) for name in CATEGORIES}


def pipeline(folder: str, batch: int, with_labels: bool) -> tf.data.Dataset:
    tune = tf.data.AUTOTUNE
    wanted = FEATURES | ({"label": tf.io.FixedLenFeature([], tf.int64)} if with_labels else {})

    def parsed(records: tf.Tensor):
        values = tf.io.parse_example(records, wanted)
        return (values, values.pop("label")) if with_labels else values

    files = tf.data.Dataset.list_files(f"{folder}/*.tfrecord", shuffle=with_labels, seed=44)
    records = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=tune)
    return records.batch(batch).map(parsed, num_parallel_calls=tune).prefetch(tune)


def main() -> None:
    folder, threads, jit, what = sys.argv[1:]
    model = best_fit.compiled(build, threads, jit)
    if what == "predict":
        seconds = []
        for _ in range(3):
            start = time.monotonic()
            rows = len(model.predict(pipeline(folder, PREDICT_BATCH, False), verbose=0))
            seconds.append(time.monotonic() - start)
        print(json.dumps({"rows": rows, "wall_s": seconds[1:]}))
        return
    print(json.dumps(best_fit.fit(model, pipeline(folder, TRAIN_BATCH, True), int(what))))


if __name__ == "__main__":
    main()
