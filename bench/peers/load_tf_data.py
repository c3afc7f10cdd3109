"""Batches of TFRecord files from tf.data, as numpy arrays in Python:

    python load_tf_data.py WHAT FOLDER REPEATS

WHAT: examples   its best: files in random order, a shuffle buffer of 2,000, batch(128), parse_example
      images     the same with batches of 400 of one byte string
"""

import sys

import tensorflow as tf
from repeating import repeat

BUFFER = 2_000
IMAGES = {"image": tf.io.FixedLenFeature([], tf.string)}
EXAMPLES = {
    "sentence": tf.io.FixedLenFeature([512], tf.float32),
    "label": tf.io.FixedLenFeature([2], tf.int64),
}


def main() -> None:
    what, folder, repeats = sys.argv[1:]
    batch = 400 if what == "images" else 128
    features = IMAGES if what == "images" else EXAMPLES
    tune = tf.data.AUTOTUNE
    names = tf.data.Dataset.list_files(f"{folder}/*.tfrecord", shuffle=True, seed=44)
    records = names.interleave(
        lambda name: tf.data.TFRecordDataset(name, buffer_size=1 << 20), num_parallel_calls=tune
    )
    if what == "examples":
        records = records.shuffle(BUFFER, seed=44)
    batches = (
        records.batch(batch, drop_remainder=True)
        .map(lambda serialized: tf.io.parse_example(serialized, features), num_parallel_calls=tune)
        .prefetch(tune)
    )

    def work() -> int:
        return sum(len(rows[next(iter(features))]) for rows in batches.as_numpy_iterator())

    repeat(work, int(repeats))


if __name__ == "__main__":
    main()
