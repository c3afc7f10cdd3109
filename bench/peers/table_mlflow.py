"""A table of the last values of all metrics of all runs, from MLflow's own store in SQLite:

python table_mlflow.py FOLDER RUNS METRICS
"""

import json
import os
import sqlite3
import sys
import time

os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true"}

import mlflow  # noqa: E402

REPEATS = 3
TIME_MS = 1_795_000_000_000
STEP = 999


def write(path: str, experiment: str, runs: int, metrics: int) -> None:
    """Creates runs with MLflow, but writes their values directly into its tables, because MLflow would take
    minutes."""
    client = mlflow.MlflowClient()
    ids = [client.create_run(experiment).info.run_id for _ in range(runs)]
    names = [f"layer_{i // 10}/metric_{i % 10}" for i in range(metrics)]
    with sqlite3.connect(path) as database:
        for table in ("metrics", "latest_metrics"):
            rows = (
                (name, number / (i + 1), TIME_MS, run, STEP, 0)
                for number, run in enumerate(ids)
                for i, name in enumerate(names)
            )
            database.executemany(
                f"insert into {table} (key, value, timestamp, run_uuid, step, is_nan)"
                " values (?, ?, ?, ?, ?, ?)",
                rows,
            )
        database.executemany(
            "insert into params (key, value, run_uuid) values ('lr', ?, ?)",
            ((str(1e-4 * (1 + number % 97)), run) for number, run in enumerate(ids)),
        )


def main() -> None:
    folder, runs, metrics = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    path = f"{folder}/mlflow.db"
    mlflow.set_tracking_uri(f"sqlite:///{path}")
    experiment = mlflow.MlflowClient().create_experiment(
        "table", artifact_location=f"file://{folder}/artifacts"
    )
    write(path, experiment, runs, metrics)
    seconds = []
    for _ in range(REPEATS):
        start = time.monotonic()
        table = mlflow.search_runs([experiment], max_results=runs)
        seconds.append(time.monotonic() - start)
        values = [column for column in table.columns if column.startswith("metrics.")]
        assert len(values) == metrics and table[values].count().sum() == runs * metrics
    print(json.dumps({"table_s": sorted(seconds)[REPEATS // 2]}))


if __name__ == "__main__":
    main()
