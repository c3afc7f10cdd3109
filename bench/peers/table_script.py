"""A simple script that turns a CSV table of numbers into a TFRecord file: one tf.train.Example per row.
Measured by bench/prepare_table.py; prints JSON, see repeating.py.

    python table_script.py TABLE OUT REPEATS
"""

import csv
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import repeating
import tensorflow as tf
import writing


def main() -> None:
    table, out, repeats = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])

    def write() -> int:
        count = 0
        with open(table, newline="") as file, tf.io.TFRecordWriter(str(out / "train.tfrecord")) as writer:
            for row in csv.DictReader(file):
                features = {
                    name: tf.train.Feature(float_list=tf.train.FloatList(value=[float(cell)]))
                    for name, cell in row.items()
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())
                count += 1
        writing.sync(out)
        return count

    repeating.repeat(write, repeats, lambda: writing.empty(out))


if __name__ == "__main__":
    main()
