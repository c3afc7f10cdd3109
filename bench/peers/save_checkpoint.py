"""Writes and restores a TensorFlow checkpoint repeatedly:

    python save_checkpoint.py PREFIX MEGABYTES REPEATS

Prints the wall seconds of each repeat: {"write_s": […], "restore_s": […]}.
"""

import json
import os
import sys
import time

import headrace.tensorflow  # noqa: F401
import tensorflow as tf

VARIABLES = 16


def main() -> None:
    prefix, megabytes, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    count = megabytes * 1_000_000 // 4 // VARIABLES
    variables = [tf.Variable(tf.random.stateless_uniform([count], [i, 0])) for i in range(VARIABLES)]
    checkpoint = tf.train.Checkpoint(variables=variables)
    seconds = {"write_s": [], "restore_s": []}
    for number in range(repeats + 1):
        os.sync()
        start = time.monotonic()
        path = checkpoint.write(f"{prefix}-{number}")
        written = time.monotonic()
        checkpoint.read(path).assert_consumed()
        if number:  # the first is not counted
            seconds["write_s"].append(written - start)
            seconds["restore_s"].append(time.monotonic() - written)
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
