"""Writes scalars into one event file, until all of them are flushed:

python log_scalars.py headrace|tensorflow FOLDER COUNT REPEATS
"""

import sys
import uuid

from repeating import repeat


def headrace(folder: str, count: int) -> int:
    import headrace as hr

    with hr.summary.Writer(folder) as writer:
        for step in range(count):
            writer.scalar("loss", 0.5, step)
    return count


def tensorflow(folder: str, count: int) -> int:
    import tensorflow as tf

    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        for step in range(count):
            tf.summary.scalar("loss", 0.5, step)
    writer.close()
    return count


def main() -> None:
    who, folder, count, repeats = sys.argv[1:]
    write = {"headrace": headrace, "tensorflow": tensorflow}[who]
    repeat(lambda: write(f"{folder}/{uuid.uuid4().hex}", int(count)), int(repeats))


if __name__ == "__main__":
    main()
