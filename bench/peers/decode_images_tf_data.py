"""Decodes and resizes JPEGs with tf.data: python decode_images_tf_data.py FOLDER SIDE BATCH REPEATS

The files are already in memory. Uses one thread, because the figure is for one core.
"""

import pathlib
import sys

import tensorflow as tf
from repeating import repeat


def main() -> None:
    folder, side, batch_size, repeats = sys.argv[1], *map(int, sys.argv[2:])
    files = [path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())]

    def decode(data: tf.Tensor) -> tf.Tensor:
        return tf.image.resize(tf.io.decode_jpeg(data, channels=3), (side, side))

    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    images = tf.data.Dataset.from_tensor_slices(files).map(decode).batch(batch_size).with_options(options)

    def work() -> int:
        return sum(int(batch.shape[0]) for batch in images)

    repeat(work, repeats)


if __name__ == "__main__":
    main()
