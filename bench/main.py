"""The figures that the main job must reach: runs the programs that measure them, one after the other, and
prints one table of those that have a requirement. All values, met or not, are kept under
bench/results/<date>/.

    ./dev bench main                             all but the long programs
    ./dev bench main --long                      these too, on a machine that does nothing else
    ./dev bench main --only memory read_batches  some
    ./dev bench main --show 2026-01-31           the table of an earlier day, nothing is run
"""

import sys

from measuring import collection

PROGRAMS = ("use_encoder", "prepare_text", "read_batches", "train_loop", "memory")
LONG = ("whole_job",)

if __name__ == "__main__":
    sys.exit(collection.main(__doc__, PROGRAMS, LONG))
