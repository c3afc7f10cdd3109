"""Scans TFRecord files with tf.data: python scan_tf_data.py BATCH COMPRESSION BUFFER_BYTES REPEATS FILE...

Reads batches, because a TensorFlow call for each record would dominate the time; strings are moved, not
copied.
"""

import sys

import tensorflow as tf
from repeating import repeat


def main() -> None:
    batch, compression, buffer_bytes, repeats, *files = sys.argv[1:]

    def work() -> int:
        records = tf.data.TFRecordDataset(
            files, "" if compression == "none" else compression, int(buffer_bytes) or None
        )
        count = records.batch(int(batch)).reduce(
            tf.constant(0, tf.int64), lambda total, batch: total + tf.shape(batch, tf.int64)[0]
        )
        return int(count.numpy())

    repeat(work, int(repeats))


if __name__ == "__main__":
    main()
