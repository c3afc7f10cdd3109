"""Keras `fit` on GZIP shards of 512 floats and a one-hot label each: the model and records of the main job.

    train_loop.py FOLDER PIPELINE INTRA_OP_THREADS JIT_COMPILE EPOCHS

PIPELINE is `tutorial`, as the well-known tutorial writes it (parse_single_example, batch, prefetch, fit), or
`best` (batch, then parse_example; 32 steps in one execution). INTRA_OP_THREADS 0 and JIT_COMPILE auto are the
defaults of TensorFlow and Keras. Writes JSON: steps of an epoch, and wall seconds of each epoch except the
first, which traces.
"""

import json
import os
import pathlib
import sys
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import keras
import tensorflow as tf

from headrace import models

BATCH = 128
FEATURES = {
    "sentence": tf.io.FixedLenFeature([512], tf.float32),
    "label": tf.io.FixedLenFeature([2], tf.int64),
}


def parsed(records: tf.Tensor, parse) -> tuple[tf.Tensor, tf.Tensor]:
    values = parse(records, FEATURES)
    return values["sentence"], values["label"]


def pipeline(folder: str, name: str) -> tf.data.Dataset:
    tune = tf.data.AUTOTUNE
    files = tf.data.Dataset.list_files(f"{folder}/*.tfrecord.gz", shuffle=True, seed=44)
    records = files.interleave(lambda file: tf.data.TFRecordDataset(file, "GZIP"), num_parallel_calls=tune)
    if name == "tutorial":
        one = records.map(lambda record: parsed(record, tf.io.parse_single_example), num_parallel_calls=tune)
        return one.batch(BATCH).prefetch(tune)
    batches = records.batch(BATCH)
    return batches.map(lambda batch: parsed(batch, tf.io.parse_example), num_parallel_calls=tune).prefetch(
        tune
    )


class EpochClock(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self.start = time.monotonic()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self.seconds.append(time.monotonic() - self.start)


def main() -> None:
    folder, name, threads, jit, epochs = sys.argv[1:]
    tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    model = models.dense_classifier(seed=44)
    options = {"steps_per_execution": 32} if name == "best" else {}
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss="categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile={"auto": "auto", "yes": True, "no": False}[jit],
        **options,
    )
    clock = EpochClock()
    model.fit(pipeline(folder, name), epochs=1 + int(epochs), verbose=0, callbacks=[clock])
    print(
        json.dumps(
            {"steps": int(model.optimizer.iterations) // len(clock.seconds), "epoch_s": clock.seconds[1:]}
        )
    )


if __name__ == "__main__":
    main()
