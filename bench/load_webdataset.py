"""How fast do tars of WebDataset samples become shuffled batches in Python, compared with the webdataset
library? Samples have 100 kB: a file of random bytes and a label, neither of which is decoded. Figures are per
second of CPU time on one pinned core, from the page cache; each program is a separate process, and they take
turns.

    ./dev bench load_webdataset --json bench/results/<date>/load_webdataset.json

Headrace's pass to find the samples of the tars runs before the measurement, and its result is kept.
"""

import io
import pathlib
import tarfile

import measuring
from measuring import peers

SAMPLES = 4_000
SHARD_SAMPLES = 500
IMAGE_BYTES = 100_000
INNER_REPEATS = 5


def write_tars() -> pathlib.Path:
    import numpy as np

    target = measuring.DATA / f"webdataset-{SAMPLES}"
    if not target.exists():
        parts = target.with_suffix(".making")
        parts.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(44)
        for first in range(0, SAMPLES, SHARD_SAMPLES):
            with tarfile.open(parts / f"train-{first:06}.tar", "w") as tar:
                for number in range(first, first + SHARD_SAMPLES):
                    files = {"jpg": random.bytes(IMAGE_BYTES), "cls": b"%d" % (number % 1000)}
                    for field, data in files.items():
                        info = tarfile.TarInfo(f"{number:08}.{field}")
                        info.size = len(data)
                        tar.addfile(info, io.BytesIO(data))
        parts.rename(target)
    return target


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    core = measuring.cores()[0]
    folder = write_tars()
    programs = {
        "headrace": lambda: peers.run_project(
            "load_headrace", "webdataset", f"file://{folder}", 1, INNER_REPEATS, on=[core]
        ),
        "webdataset": lambda: peers.run_own("load_webdataset", folder, INNER_REPEATS, on=[core]),
    }
    raw, failed = measuring.take_turns(programs, arguments.repeats)
    assert not failed, failed
    rates = {name: measuring.rate(answers, answers[0]["records"]) for name, answers in raw.items()}
    mine, theirs = rates["headrace"], rates["webdataset"]
    key = "load WebDataset tars as shuffled batches, over webdataset"
    compared = {key: f"{theirs:,.0f} samples/CPU-s; Headrace {mine:,.0f}"}
    measuring.report(arguments.json, {key: mine / theirs}, raw, compared)


if __name__ == "__main__":
    main()
