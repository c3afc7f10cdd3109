"""The figures that the data engine must reach, from the bytes of a file to batches: runs the programs that
measure them, one after the other, and prints one table of those that have a requirement. All values, met or
not, are kept under bench/results/<date>/.

    ./dev bench stream                       all
    ./dev bench stream --only scan_records   some
    ./dev bench stream --show 2026-01-31     the table of an earlier day, nothing is run
"""

import sys

from measuring import collection

PROGRAMS = (
    "scan_records",
    "decode_examples",
    "inflate_shards",
    "hand_over",
    "load_batches",
    "load_webdataset",
    "start_loader",
)

if __name__ == "__main__":
    sys.exit(collection.main(__doc__, PROGRAMS))
