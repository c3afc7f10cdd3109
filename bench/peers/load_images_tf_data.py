"""Turns TFRecord shards of JPEGs into shuffled batches of resized images with tf.data:

    python load_images_tf_data.py FOLDER SIDE BATCH REPEATS

Uses one thread, because the figure is for one core.
"""

import pathlib
import sys

import tensorflow as tf
from repeating import repeat

SHUFFLED = 256  # images in the buffer, some 10 MB
FEATURES = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def main() -> None:
    folder, side, batch_size, repeats = sys.argv[1], *map(int, sys.argv[2:])
    files = [str(path) for path in sorted(pathlib.Path(folder).glob("*.tfrecord"))]

    def decode(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        example = tf.io.parse_single_example(record, FEATURES)
        return tf.image.resize(tf.io.decode_jpeg(example["image"], channels=3), (side, side)), example[
            "label"
        ]

    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    records = tf.data.TFRecordDataset(files).shuffle(SHUFFLED)
    images = records.map(decode).batch(batch_size, drop_remainder=True).prefetch(2).with_options(options)

    def work() -> int:
        return sum(int(batch.shape[0]) for batch, _ in images)

    repeat(work, repeats)


if __name__ == "__main__":
    main()
