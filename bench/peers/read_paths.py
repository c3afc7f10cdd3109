"""Reads TFRecord files through TensorFlow's own datasets, by their paths:

    python read_paths.py FOLDER|URL READERS REPEATS [cold]

READERS: number of files that are read at once; 0: as many as tf.data chooses
cold: the page cache of local files is dropped before each pass
"""

import os
import sys

import headrace.tensorflow  # noqa: F401
import tensorflow as tf
from repeating import repeat


def forget(path: str) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    folder, readers, repeats, *cold = sys.argv[1:]
    paths = sorted(tf.io.gfile.glob(f"{folder}/*.tfrecord"))
    records = tf.data.TFRecordDataset(paths, num_parallel_reads=int(readers) or tf.data.AUTOTUNE)
    batches = records.batch(64)
    # An iterator's end waits for tf.data's tuning, which sleeps 10 ms, 20, 40 …: as long as the reading.
    iterators = []

    def prepare() -> None:
        iterators.clear()
        if cold:
            for path in paths:
                forget(path)

    def work() -> int:
        iterators.append(iter(batches))
        return sum(int(tf.shape(batch)[0]) for batch in iterators[-1])

    repeat(work, int(repeats), prepare)


if __name__ == "__main__":
    main()
