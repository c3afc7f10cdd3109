"""The figures that the record of runs must reach: runs the programs that measure them, one after the other,
and prints one table of those that have a requirement. All values, met or not, are kept under
bench/results/<date>/.

    ./dev bench track                     all
    ./dev bench track --only run_chart    some
    ./dev bench track --show 2026-01-31   the table of an earlier day, nothing is run
"""

import sys

from measuring import collection

PROGRAMS = ("log_metrics", "log_mlflow", "serve_mlflow", "run_index", "run_chart", "run_requests")

if __name__ == "__main__":
    sys.exit(collection.main(__doc__, PROGRAMS))
