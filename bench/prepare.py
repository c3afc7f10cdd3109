"""The figures that preparing must reach, from raw data to shards: runs the programs that measure them, one
after the other, and prints one table of those that have a requirement. All values, met or not, are kept under
bench/results/<date>/.

    ./dev bench prepare                       all
    ./dev bench prepare --only pack_images    some
    ./dev bench prepare --show 2026-01-31     the table of an earlier day, nothing is run
"""

import sys

from measuring import collection

PROGRAMS = (
    "pack_images",
    "convert_images",
    "prepare_table",
    "pack_objects",
    "prepare_workers",
    "prepare_memory",
    "prepare_kills",
    "decode_images",
    "load_images",
)

if __name__ == "__main__":
    sys.exit(collection.main(__doc__, PROGRAMS))
