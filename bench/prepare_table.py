"""How fast does a CSV table of 5,000,000 rows of ten numbers become TFRecord shards? The competitors are a
script that writes a tf.train.Example per row, and Ray Data's read_csv and write_tfrecords, on fewer rows.
Figures are per second of wall time until everything is on disk, from the page cache; each program is a
separate process on two cores, and they take turns.

    ./dev bench prepare_table --json bench/results/<date>/prepare_table.json

`headrace prepare` is measured from start to exit, and shuffles; the others are measured from after their
imports (Ray: after its start), and do not shuffle.
"""

import pathlib
import tempfile

import measuring
from measuring import peers, preparing

ROWS, PEER_ROWS = 5_000_000, 50_000
COLUMNS = 10
BLOCK_ROWS = 100_000
INNER_REPEATS = 1
LEAST = {"a script of tf.train.Examples": 10, "Ray Data": 5}


def write_table(rows: int) -> pathlib.Path:
    """One file; made once."""
    import numpy as np
    import pyarrow
    import pyarrow.csv

    target = measuring.DATA / f"numbers-{rows}.csv"
    if not target.exists():
        measuring.DATA.mkdir(parents=True, exist_ok=True)
        parts = target.with_suffix(".making")
        random = np.random.default_rng(44)
        names = [f"m{column}" for column in range(COLUMNS)]
        schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
        with pyarrow.csv.CSVWriter(parts, schema) as writer:
            for first in range(0, rows, BLOCK_ROWS):
                shape = (COLUMNS, min(BLOCK_ROWS, rows - first))
                columns = np.round(random.normal(0, 100, shape), 4)
                writer.write(pyarrow.table(dict(zip(names, columns, strict=True)), schema))
        parts.rename(target)
    return target


def measure(rows: int, repeats: int) -> tuple[dict, dict]:
    table, few = write_table(rows), write_table(min(rows, PEER_ROWS))
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        out = pathlib.Path(folder)
        script, with_ray = LEAST
        programs = {
            "headrace": lambda: preparing.prepare(table, out / "ours", rows, "--compression", "none"),
            script: lambda: peers.run_project(
                "table_script", few, out / "script", INNER_REPEATS, on=measuring.cores()
            ),
            with_ray: lambda: peers.run_own(
                "write_ray", "table", few, out / "ray", INNER_REPEATS, on=measuring.cores(), environment="ray"
            ),
        }
        return measuring.take_turns(programs, repeats)


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=5)
    parser.add_argument("--rows", type=int, default=ROWS)
    arguments = parser.parse_args()
    raw, failed = measure(arguments.rows, arguments.repeats)
    rates = preparing.rates(raw, "wall_s")
    summary, compared = preparing.compare(rates, "CSV of ten numbers to shards", "rows/s", LEAST)
    summary |= {f"{name}: rows per second": rate for name, rate in rates.items()}
    summary["headrace: rows per CPU-second"] = preparing.rates(raw, "cpu_s")["headrace"]
    measuring.report(arguments.json, summary, raw, compared, **peers.account(failed, "ray"))


if __name__ == "__main__":
    main()
