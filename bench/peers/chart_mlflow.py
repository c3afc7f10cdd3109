"""Charts of 20 series from MLflow's SQLite store, made with the call with which its server answers
GetMetricHistoryBulkInterval: 2,000 evenly sampled points of each run.

python chart_mlflow.py FOLDER POINTS ZOOMS
"""

import json
import random
import sqlite3
import sys
import time

SERIES = 20
COLUMNS = 2000


def write(folder: str, points: int) -> tuple:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    path = f"{folder}/mlflow.db"
    store = SqlAlchemyStore(f"sqlite:///{path}", f"file://{folder}/artifacts")
    experiment = store.create_experiment("bench")
    runs = [store.create_run(experiment, "me", 0, [], f"run{i}").info.run_id for i in range(SERIES)]
    with sqlite3.connect(path) as database:
        for run in runs:
            rows = (("loss", 1 / (step + 1), step, run, step, 0) for step in range(points // SERIES))
            database.executemany(
                "insert into metrics (key, value, timestamp, run_uuid, step, is_nan)"
                " values (?, ?, ?, ?, ?, ?)",
                rows,
            )
    return store, runs


def draw(store, runs: list[str], first: int, last: int) -> int:
    return len(store.get_metric_history_bulk_interval(runs, "loss", COLUMNS, first, last))


def main() -> None:
    folder, points, zooms = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    store, runs = write(folder, points)
    rng = random.Random(11)
    length = points // SERIES
    wall_s = []
    for _ in range(zooms):
        some = int(min(length, COLUMNS * (length / COLUMNS) ** rng.random()))
        first = rng.randrange(length - some + 1)
        start = time.monotonic()
        assert draw(store, runs, first, first + some - 1) == SERIES * min(some, COLUMNS)
        wall_s.append(time.monotonic() - start)
    print(json.dumps({"wall_s": wall_s}))


if __name__ == "__main__":
    main()
