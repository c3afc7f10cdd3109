"""A table of the last values of all metrics of all runs, from MLflow's own store in SQLite:

python table_mlflow.py FOLDER RUNS METRICS
"""

import json
import os
import sys
import time

os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true"}

import mlflow  # noqa: E402
from mlflow.entities import Metric, Param  # noqa: E402


def main() -> None:
    folder, runs, metrics = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    client = mlflow.MlflowClient()
    experiment = client.create_experiment("table", artifact_location=f"file://{folder}/artifacts")
    start = time.monotonic()
    for number in range(runs):
        run = client.create_run(experiment).info.run_id
        values = [
            Metric(f"layer_{i // 10}/metric_{i % 10}", number / (i + 1), 1_795_000_000_000, 999)
            for i in range(metrics)
        ]
        client.log_batch(run, values, [Param("lr", str(1e-4 * (1 + number % 97)))])
        client.set_terminated(run)
    made_s = time.monotonic() - start
    seconds = []
    for _ in range(3):
        start = time.monotonic()
        table = mlflow.search_runs([experiment], max_results=runs)
        seconds.append(time.monotonic() - start)
        assert len(table) == runs
    print(json.dumps({"table_s": sorted(seconds)[1], "made_s": made_s}))


if __name__ == "__main__":
    main()
