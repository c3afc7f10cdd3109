"""How fast do GZIP shards become batches in the trainer's buffers? The competitor is tf.data, in the same
run, on the same shards: the pipeline as the well-known tutorial writes it (parse_single_example, then batch),
and tf.data's best way (batch, then parse_example). Figures are examples per second of CPU time, all on one
pinned core, taking turns; then wall time on two cores, and the anonymous memory at ten times the data.

    ./dev bench read_batches --json bench/results/<date>/read_batches.json

There are three kinds of shards. The demo's shards: real reviews of one line with USE's vectors, stored
without compression because they hardly shrink. Shards of long texts with `--encoder hash:512`. And long texts
with vectors like a neural encoder's: the whole shrinks by a quarter, the floats hardly, and inflating is most
of the work for all programs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import measuring

BATCH = 128
SHARD_RECORDS = 500
RECORDS = 50_000
KINDS = ("short reviews with USE", "long texts with hash:512", "long texts with dense vectors")


def prepare(archive: pathlib.Path, folder: pathlib.Path, encoder: str) -> pathlib.Path:
    command = [measuring.headrace(), "prepare", f"file://{archive}", f"file://{folder}"]
    measuring.run([*command, "--encoder", encoder, "--shard-records", SHARD_RECORDS], measuring.cores())
    return folder


def real_reviews(folder: pathlib.Path) -> pathlib.Path:
    target = folder / "reviews.tar.gz"
    subprocess.run(
        [sys.executable, measuring.ROOT / "tools" / "reviews.py", target], check=True, stdout=sys.stderr
    )
    return target


def write_dense(program: pathlib.Path, folder: pathlib.Path, records: int) -> pathlib.Path:
    measuring.run([program, "write", f"file://{folder}", records, SHARD_RECORDS], measuring.cores())
    return folder


def headrace(program: pathlib.Path, folder: pathlib.Path, cores: list[int]) -> dict:
    done = json.loads(measuring.run([program, "read", f"file://{folder}", 2, len(cores)], cores).output)
    # The first epoch of a process pays for its memory; tf.data also gets a turn before it is measured.
    return {
        "records": done["records"],
        "cpu_s": done["cpu_s"][1],
        "wall_s": done["wall_s"][1],
        "anonymous_kib": done["anonymous_kib"],
    }


def tf_data(folder: pathlib.Path) -> dict:
    import tensorflow as tf

    features = {
        "sentence": tf.io.FixedLenFeature([512], tf.float32),
        "label": tf.io.FixedLenFeature([2], tf.int64),
    }
    files = str(folder / "train-*.tfrecord.gz")
    tune = tf.data.AUTOTUNE

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
        def count(total: "tf.Tensor", sentence: "tf.Tensor", _: "tf.Tensor") -> "tf.Tensor":
            return total + tf.shape(sentence, tf.int64)[0]

        zero = tf.constant(0, tf.int64)
        return int(dataset.reduce(zero, lambda total, batch: count(total, *batch)).numpy())

    return {
        "tutorial": lambda: drain(shards().map(parse, num_parallel_calls=tune).batch(BATCH).prefetch(tune)),
        "batched": lambda: drain(
            shards().batch(BATCH).map(parse_batch, num_parallel_calls=tune).prefetch(tune)
        ),
    }


def timed(run) -> dict:
    before, start = os.times(), time.monotonic()
    records = run()
    after = os.times()
    cpu_s = after.user + after.system - before.user - before.system
    return {"records": records, "cpu_s": cpu_s, "wall_s": time.monotonic() - start}


def take_turns(program: pathlib.Path, folder: pathlib.Path, cores: list[int], repeats: int) -> dict:
    os.sched_setaffinity(0, cores)
    pipelines = tf_data(folder)
    for run in pipelines.values():
        run()
    raw: dict = {name: [] for name in ("headrace", *pipelines)}
    for _ in range(repeats):
        raw["headrace"].append(headrace(program, folder, cores))
        for name, run in pipelines.items():
            raw[name].append(timed(run))
    assert len({entry["records"] for entries in raw.values() for entry in entries}) == 1, (
        "not all read the same"
    )
    return raw


def in_child(program: pathlib.Path, folder: pathlib.Path, cores: list[int], repeats: int) -> dict:
    """TensorFlow sizes its thread pools when it is imported, so each set of cores gets a separate process."""
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
    return measuring.median(entry["records"] / entry[clock] for entry in entries)


def summarise(raw: dict) -> tuple[dict, dict]:
    summary, peers = {}, {}
    for kind in KINDS:
        one, two = raw[kind]["one"], raw[kind]["two"]
        for name in one:
            summary[f"{kind}, {name}: examples per CPU-second, one core"] = rate(one[name], "cpu_s")
            summary[f"{kind}, {name}: examples per second, two cores, wall"] = rate(two[name], "wall_s")
        mine, tutorial, batched = (rate(one[name], "cpu_s") for name in ("headrace", "tutorial", "batched"))
        key = f"read {kind}, over the tutorial's tf.data, one core (must be >= 10)"
        summary[key] = mine / tutorial
        peers[key] = f"{tutorial:,.0f} examples/CPU-s; Headrace {mine:,.0f}"
        summary[f"{kind}, over tf.data at its best, one core"] = mine / batched
    small, large = raw["small"]["anonymous_kib"], raw["large"]["anonymous_kib"]
    summary["reading, anonymous memory, MB"] = small * 1.024e-3
    summary["reading ten times the data, anonymous memory, MB (must be <= 300)"] = large * 1.024e-3
    return summary, peers


def measure(records: int, repeats: int) -> dict:
    program, cores = measuring.build("headrace_bench_read_batches"), measuring.cores()
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    raw: dict = {}
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as name:
        folder = pathlib.Path(name)
        data = (
            prepare(real_reviews(folder), folder / "reviews", "use-multilingual-v3"),
            prepare(measuring.archive(RECORDS), folder / "hashed", "hash:512"),
            write_dense(program, folder / "dense", records),
        )
        for kind, shards in zip(KINDS, data, strict=True):
            raw[kind] = {
                "one": in_child(program, shards, cores[:1], repeats),
                "two": in_child(program, shards, cores, repeats),
            }
        raw["small"] = headrace(program, folder / "dense", cores[:1])
        raw["large"] = headrace(program, write_dense(program, folder / "more", 10 * records), cores[:1])
    return raw


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=7)
    parser.add_argument("--records", type=int, default=20_000, help="with dense vectors")
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    raw = measure(arguments.records, arguments.repeats)
    summary, peers = summarise(raw)
    measuring.report(arguments.json, summary, raw, peers)


if __name__ == "__main__":
    main()
