"""The figures that TensorFlow's file systems must reach: runs the programs that measure them, one after the
other, and prints one table of those that have a requirement. All values, met or not, are kept under
bench/results/<date>/.

    ./dev bench tensorflow                    all
    ./dev bench tensorflow --only read_paths  some
    ./dev bench tensorflow --show 2026-01-31  the table of an earlier day, nothing is run
"""

import sys

from measuring import collection

PROGRAMS = (
    "read_paths",
    "save_checkpoints",
    "log_scalars",
    "log_for_hours",
    "tensorboard_data",
    "idle_reload",
)

if __name__ == "__main__":
    sys.exit(collection.main(__doc__, PROGRAMS))
