"""How fast do uncompressed shards become shuffled NumPy batches in Python, compared with tf.data at its best?
And how many accelerators can a core feed with the records of MLPerf Storage's ResNet-50: 114,660 bytes each,
1,786 a second for one H100, in batches of 400? Figures are per second of CPU time on one pinned core; each
program is a separate process, and they take turns.

    ./dev bench load_batches --json bench/results/<date>/load_batches.json

The datasets have no manifest, so both read plain TFRecord files. Headrace's passes to find the blocks run
before the measurement, and their results are kept.
"""

import gzip
import pathlib

import measuring
from measuring import peers

RECORDS = 50_000
SHARD_RECORDS = 500
IMAGE_RECORDS = 8_000
IMAGE_BYTES = 114_660
IMAGES_A_FILE = 1_000
ACCELERATOR_RATE = 1_786
BUSY = 0.9
INNER_REPEATS = 3


def write_examples(program: pathlib.Path) -> pathlib.Path:
    """Decompressed shards of long texts with dense vectors, as `headrace prepare` makes them."""
    target = measuring.DATA / f"load-examples-{RECORDS}"
    if not target.exists():
        packed = measuring.DATA / f"load-examples-{RECORDS}-gzip"
        measuring.run([program, "write", f"file://{packed}", RECORDS, SHARD_RECORDS], measuring.cores())
        parts = target.with_suffix(".making")
        parts.mkdir(parents=True, exist_ok=True)
        for shard in sorted(packed.glob("*.tfrecord.gz")):
            (parts / shard.name.removesuffix(".gz")).write_bytes(gzip.decompress(shard.read_bytes()))
        parts.rename(target)
    return target


def write_images() -> pathlib.Path:
    """Random bytes, because nothing here decodes an image."""
    import numpy as np
    import tensorflow as tf

    target = measuring.DATA / f"load-images-{IMAGE_RECORDS}"
    if not target.exists():
        parts = target.with_suffix(".making")
        parts.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(44)
        for first in range(0, IMAGE_RECORDS, IMAGES_A_FILE):
            with tf.io.TFRecordWriter(str(parts / f"train-{first:05}.tfrecord")) as writer:
                for _ in range(IMAGES_A_FILE):
                    image = tf.train.BytesList(value=[random.bytes(IMAGE_BYTES)])
                    features = tf.train.Features(feature={"image": tf.train.Feature(bytes_list=image)})
                    writer.write(tf.train.Example(features=features).SerializeToString())
        parts.rename(target)
    return target


def measure(program: pathlib.Path, repeats: int) -> dict:
    core = measuring.cores()[0]
    folders = {"examples": write_examples(program), "images": write_images()}

    def ours(what: str, folder: pathlib.Path) -> dict | str:
        return peers.run_project("load_headrace", what, f"file://{folder}", 1, INNER_REPEATS, on=[core])

    def theirs(what: str) -> dict | str:
        return peers.run_project("load_tf_data", what, folders[what], INNER_REPEATS, on=[core])

    programs = {}
    for what, folder in folders.items():
        programs[f"headrace, {what}"] = lambda what=what, folder=folder: ours(what, folder)
        programs[f"tf.data, {what}"] = lambda what=what: theirs(what)
    raw, failed = measuring.take_turns(programs, repeats)
    assert not failed, failed
    return raw


def summarise(raw: dict) -> tuple[dict, dict]:
    rates = {name: measuring.rate(answers, answers[0]["records"]) for name, answers in raw.items()}
    mine, best = rates["headrace, examples"], rates["tf.data, examples"]
    key = "load uncompressed shards as shuffled numpy batches, over tf.data at its best (must be >= 5)"
    summary = {key: mine / best}
    compared = {key: f"{best:,.0f} examples/CPU-s; Headrace {mine:,.0f}"}
    mine, best = rates["headrace, images"], rates["tf.data, images"]
    fed = {name: rate / (ACCELERATOR_RATE * BUSY) for name, rate in (("headrace", mine), ("tf.data", best))}
    key = "load ResNet-50's records as MLPerf Storage has them, over tf.data (must be >= 3)"
    summary[key] = mine / best
    compared[key] = (
        f"{best:,.0f} records/CPU-s feed {fed['tf.data']:.2f} H100 at 90 %; "
        f"Headrace {mine:,.0f}, {fed['headrace']:.2f}"
    )
    return summary, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    raw = measure(measuring.build("headrace_bench_read_batches"), arguments.repeats)
    summary, compared = summarise(raw)
    measuring.report(arguments.json, summary, raw, compared)


if __name__ == "__main__":
    main()
