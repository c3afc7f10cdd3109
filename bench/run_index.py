"""How long does a table of runs take, from a store and from the local index, and what does it cost?

1,000 runs of 100 metrics with 1,000 steps, in MinIO: a table of the last values of all metrics without an
index (cold), with an index (warm), and with an index but without asking the store; and the requests of the
warm table. For comparison, MLflow's search_runs on as many runs and last values, in SQLite. Also the bytes
that such points take in the store. 100,000 runs with 10 metrics on the local disk: a page of 50, sorted by a
metric and filtered.

    ./dev bench run_index --json bench/results/<date>/run_index.json
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import measuring
from measuring import object_store, peers

RUNS, METRICS, STEPS = 1_000, 100, 1_000
MANY = 100_000
FILTER = "params.lr >= 1e-3 AND status = 'finished'"
PAGE = ["--metric", "layer_0/metric_0", "--param", "lr", "--sort", "metrics.`layer_0/metric_0`"]
PAGE += ["--where", FILTER, "--limit", "50"]


def make_runs(url: str, first: int, count: int, metrics: int, steps: int, values: str) -> dict:
    program = measuring.build("headrace_bench_make_runs")
    command = [program, url, *map(str, (first, count, metrics, steps)), values]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def table(url: str, cache: str, *options: str) -> float:
    """Seconds of `runs ls`, including the start of its process."""
    command = [measuring.headrace(), "runs", "ls", url, *options]
    environment = os.environ | {"XDG_CACHE_HOME": cache}
    start = time.monotonic()
    done = subprocess.run(command, env=environment, check=True, capture_output=True)
    seconds = time.monotonic() - start
    assert len(done.stdout) > 1_000, done.stderr
    return seconds


def requests_of(url: str, cache: str) -> float:
    """The requests of a table without new data."""
    with tempfile.NamedTemporaryFile("r") as file:
        table(url, cache, "--metric", "*", "--csv", "--metrics", f"file://{file.name}")
        lines = dict(
            line.split() for line in pathlib.Path(file.name).read_text().splitlines() if line[0] != "#"
        )
    return float(lines["headrace_store_requests_total"])


def small_store(raw: dict) -> None:
    url = f"s3://{object_store.BUCKET}/runs"
    with object_store.minio(), tempfile.TemporaryDirectory(dir=measuring.WORK) as folder:
        raw["curves"] = make_runs(url, 0, RUNS, METRICS, STEPS, "curves")
        raw["random"] = make_runs(f"s3://{object_store.BUCKET}/random", 0, 10, METRICS, STEPS, "random")
        shown = ("--metric", "*", "--csv")
        caches = [f"{folder}/{number}" for number in range(2)]
        raw["cold_s"] = [table(url, cache, *shown) for cache in caches]
        raw["warm_s"] = [table(url, caches[0], *shown) for _ in range(9)]
        raw["warm_no_refresh_s"] = [table(url, caches[0], *shown, "--no-refresh") for _ in range(9)]
        raw["one_column_warm_s"] = [table(url, caches[0], "--metric", "layer_0/metric_0") for _ in range(9)]
        raw["idle_requests"] = requests_of(url, caches[0])
        raw["index_bytes"] = sum(file.stat().st_size for file in pathlib.Path(caches[0]).rglob("*.sqlite*"))


def large_folder(raw: dict) -> None:
    with tempfile.TemporaryDirectory(dir=measuring.WORK) as folder:
        url = f"{folder}/runs"
        pathlib.Path(url).mkdir()
        make_runs(f"file://{url}", 0, MANY, 10, 1, "none")
        cache = f"{folder}/cache"
        raw["many_cold_s"] = [table(url, cache, *PAGE)]
        raw["many_refreshed_s"] = [table(url, cache, *PAGE) for _ in range(3)]
        raw["many_page_s"] = [table(url, cache, *PAGE, "--no-refresh") for _ in range(15)]
        raw["many_index_bytes"] = sum(file.stat().st_size for file in pathlib.Path(cache).rglob("*.sqlite*"))
        shutil.rmtree(url)


def mlflow_table() -> dict | str:
    with tempfile.TemporaryDirectory(dir=measuring.WORK) as folder:
        return peers.run_own(
            "table_mlflow", folder, RUNS, METRICS, on=measuring.cores(), environment="mlflow-server"
        )


def summarise(raw: dict) -> tuple[dict, dict]:
    keys = RUNS * 4 / 1_000  # start, end, series, segment; the two of the catalog are not counted
    summary = {
        "table of 1,000 runs' last values, cold from S3, s (must be <= 5)": statistics.median(raw["cold_s"]),
        "the same, warm, with a listing of what is new, s": statistics.median(raw["warm_s"]),
        "the same, warm, s (must be <= 0.1)": statistics.median(raw["warm_no_refresh_s"]),
        "page of 100,000 runs, sorted and filtered, warm, s (must be <= 0.1)": statistics.median(
            raw["many_page_s"]
        ),
        "the same, with a listing of what is new, s": statistics.median(raw["many_refreshed_s"]),
        "requests of an idle reader for 1,000 keys (must be <= 2)": raw["idle_requests"] / keys,
        "bytes a point, single precision, regular steps (must be <= 4)": raw["curves"]["segment_bytes"]
        / raw["curves"]["points"],
        "bytes a point, random doubles (must be <= 10)": raw["random"]["segment_bytes"]
        / raw["random"]["points"],
    }
    compared = {}
    if isinstance(raw["mlflow"], dict):
        compared["the same, warm, s (must be <= 0.1)"] = f"MLflow, SQLite: {raw['mlflow']['table_s']:.2f} s"
    return summary, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=1).parse_args()
    measuring.WORK.mkdir(parents=True, exist_ok=True)
    raw: dict = {}
    small_store(raw)
    large_folder(raw)
    raw["mlflow"] = mlflow_table()
    summary, compared = summarise(raw)
    failed = {} if isinstance(raw["mlflow"], dict) else {"table_mlflow": raw["mlflow"]}
    measuring.report(arguments.json, summary, raw, compared | peers.account(failed, "mlflow-server"))


if __name__ == "__main__":
    main()
