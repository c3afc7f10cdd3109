"""Decodes tf.Examples in memory to batches of 128, with TensorFlow:

    python decode_tf_data.py HOW FILE REPEATS

HOW: batched   batch, then parse_example, the faster way
     single    parse_single_example, then batch, as tutorials write it
"""

import sys

import tensorflow as tf
from repeating import repeat

BATCH = 128
FEATURES = {
    "embeddings": tf.io.FixedLenFeature([512], tf.float32),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "sentence": tf.io.FixedLenFeature([], tf.string),
}


def main() -> None:
    how, file, repeats = sys.argv[1:]
    records = tf.data.Dataset.from_tensor_slices(list(tf.data.TFRecordDataset(file).as_numpy_iterator()))
    if how == "batched":
        batches = records.batch(BATCH, drop_remainder=True).map(
            lambda serialized: tf.io.parse_example(serialized, FEATURES)
        )
    else:
        batches = records.map(lambda serialized: tf.io.parse_single_example(serialized, FEATURES)).batch(
            BATCH, drop_remainder=True
        )

    def work() -> int:
        count = batches.reduce(
            tf.constant(0, tf.int64), lambda total, batch: total + tf.shape(batch["label"], tf.int64)[0]
        )
        return int(count.numpy())

    repeat(work, int(repeats))


if __name__ == "__main__":
    main()
