"""How fast do GZIP shards become batches in the trainer's buffers? Beside tf.data, in the same run, on the
same shards: the pipeline as the well-known tutorial writes it (parse_single_example, then batch), and the
best way of tf.data (batch, then parse_example). Examples per second of CPU time, all on one pinned core,
taking turns; then wall time on two cores, and the anonymous memory at ten times the data.

    ./dev bench read_batches --json bench/results/2026-01-31/read_batches.json
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "bench"
BATCH = 128
SHARD_RECORDS = 500


def build() -> pathlib.Path:
    commands = [
        [
            "cmake",
            "-S",
            ROOT,
            "-B",
            BUILD,
            "-G",
            "Ninja",
            "-DCMAKE_BUILD_TYPE=Release",
            "-DHEADRACE_BENCH=ON",
            "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache",
        ],
        ["cmake", "--build", BUILD, "--target", "headrace_bench_read_batches"],
    ]
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return BUILD / "bin" / "headrace_bench_read_batches"


def processor() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def headrace(program: pathlib.Path, folder: pathlib.Path, cores: list[int], threads: int) -> dict:
    pinned = ["taskset", "-c", ",".join(map(str, cores))]
    command = [*pinned, program, "read", f"file://{folder}", "2", str(threads)]
    done = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    # The first epoch of a process pays for its memory; tf.data has had a turn before it is measured, too.
    return {
        "records": done["records"],
        "cpu_s": done["cpu_s"][1],
        "wall_s": done["wall_s"][1],
        "anonymous_kib": done["anonymous_kib"],
    }


def peers(folder: pathlib.Path) -> dict:
    import tensorflow as tf

    features = {
        "sentence": tf.io.FixedLenFeature([512], tf.float32),
        "label": tf.io.FixedLenFeature([2], tf.int64),
    }
    tune = tf.data.AUTOTUNE
    files = str(folder / "*.tfrecord.gz")

    def shards() -> "tf.data.Dataset":
        names = tf.data.Dataset.list_files(files, shuffle=True, seed=44)
        return names.interleave(lambda name: tf.data.TFRecordDataset(name, "GZIP"), num_parallel_calls=tune)

    def parse(record: "tf.Tensor") -> tuple:
        parsed = tf.io.parse_single_example(record, features)
        return parsed["sentence"], parsed["label"]

    def parse_batch(records: "tf.Tensor") -> tuple:
        parsed = tf.io.parse_example(records, features)
        return parsed["sentence"], parsed["label"]

    def drain(dataset: "tf.data.Dataset") -> int:
        def count(before: "tf.Tensor", batch: tuple) -> "tf.Tensor":
            return before + tf.shape(batch[0], tf.int64)[0]

        return int(dataset.reduce(tf.constant(0, tf.int64), count).numpy())

    def tutorial() -> int:
        return drain(shards().map(parse, num_parallel_calls=tune).batch(BATCH).prefetch(tune))

    def batched() -> int:
        return drain(shards().batch(BATCH).map(parse_batch, num_parallel_calls=tune).prefetch(tune))

    return {"tutorial": tutorial, "batched": batched}


def measure(run) -> dict:
    before, start = os.times(), time.monotonic()
    records = run()
    after = os.times()
    return {
        "records": records,
        "cpu_s": after.user + after.system - before.user - before.system,
        "wall_s": time.monotonic() - start,
    }


def take_turns(program: pathlib.Path, folder: pathlib.Path, cores: list[int], repeats: int) -> dict:
    # TensorFlow sizes its thread pools when it is imported: each set of cores is a process of its own.
    os.sched_setaffinity(0, cores)
    pipelines = peers(folder)
    for run in pipelines.values():
        run()
    raw = {name: [] for name in ("headrace", *pipelines)}
    for _ in range(repeats):
        raw["headrace"].append(headrace(program, folder, cores, len(cores)))
        for name, run in pipelines.items():
            raw[name].append(measure(run))
    counts = {entry["records"] for entries in raw.values() for entry in entries}
    assert len(counts) == 1, f"not all read the same: {counts}"
    return raw


def in_child(program: pathlib.Path, folder: pathlib.Path, cores: list[int], repeats: int) -> dict:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(write, "w") as out:
            json.dump(take_turns(program, folder, cores, repeats), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise SystemExit("bench: the measuring process failed")
    return json.loads(text)


def rate(entries: list[dict], clock: str) -> float:
    return statistics.median(entry["records"] / entry[clock] for entry in entries)


def summarise(one: dict, two: dict, small: dict, large: dict) -> dict:
    out = {}
    for name in one:
        out[f"{name}: examples per CPU-second, one core"] = rate(one[name], "cpu_s")
        out[f"{name}: examples per second, two cores, wall"] = rate(two[name], "wall_s")
    for name in ("tutorial", "batched"):
        need = " (must be >= 10)" if name == "tutorial" else ""
        ratio = rate(one["headrace"], "cpu_s") / rate(one[name], "cpu_s")
        out[f"headrace over {name}, one core{need}"] = ratio
    out["anonymous memory, MB"] = small["anonymous_kib"] * 1.024e-3
    out["anonymous memory at 10 times the data, MB (must be <= 300)"] = large["anonymous_kib"] * 1.024e-3
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=pathlib.Path, help="where to write all values")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--cores", type=int, nargs=2, default=sorted(os.sched_getaffinity(0))[:2])
    parser.add_argument("--program", type=pathlib.Path, help="a built headrace_bench_read_batches")
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    program = arguments.program or build()
    with tempfile.TemporaryDirectory() as folder:
        data, more = pathlib.Path(folder, "data"), pathlib.Path(folder, "more")
        for target, records in ((data, arguments.records), (more, 10 * arguments.records)):
            command = [program, "write", f"file://{target}", str(records), str(SHARD_RECORDS)]
            subprocess.run(command, check=True)
        raw = {
            "one": in_child(program, data, arguments.cores[:1], arguments.repeats),
            "two": in_child(program, data, arguments.cores, arguments.repeats),
            "small": headrace(program, data, arguments.cores, 1),
            "large": headrace(program, more, arguments.cores, 1),
        }
    report = {
        "processor": processor(),
        "load_average": os.getloadavg(),
        "summary": summarise(**raw),
        "raw": raw,
    }
    for name, value in report["summary"].items():
        print(f"{name:60} {value:.4g}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
