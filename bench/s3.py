"""The figures that the S3 store must reach: runs the programs that measure them, one after the other, and
prints one table of those that have a requirement. All values, met or not, are kept under
bench/results/<date>/.

    ./dev bench s3                       all
    ./dev bench s3 --only read_objects   some
    ./dev bench s3 --show 2026-01-31     the table of an earlier day, nothing is run
"""

import sys

from measuring import collection

PROGRAMS = (
    "read_objects",
    "write_objects",
    "read_small_objects",
    "load_from_store",
    "late_answers",
    "queued_reads",
)

if __name__ == "__main__":
    sys.exit(collection.main(__doc__, PROGRAMS))
