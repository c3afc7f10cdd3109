"""What does a change cost? Runs the work of the main job, the loader, the S3 store and `prepare` with this
checkout and with another one, taking turns. Both need a finished build/release.

    ./dev bench compare_builds OTHER --json bench/results/<date>/compare_builds.json

Each figure is OTHER's seconds over this checkout's: below 1, this checkout is slower. Jobs without a server
count CPU seconds of all their threads and children. Jobs with MinIO count wall time, because client and
server share the cores. Figures are medians; every job runs in a separate process.
"""

import contextlib
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from unittest import mock

import measuring
import prepare_table
from measuring import object_store, photos, preparing

LEAST = 0.97
TEXTS = 20_000
ROWS = 1_000_000
IMAGES = 4_000
LARGE_BYTES = 1 << 30
SMALL_OBJECTS = 5_000


class Checkout:
    """One of the two checkouts, and the folder where it writes."""

    def __init__(self, root: pathlib.Path, work: pathlib.Path):
        self.root, self.work = root, work
        self.folders = 0  # number of folders that were written to the store
        work.mkdir()

    @property
    def stored(self) -> str:
        """The folder of the store that was last written."""
        return f"s3://{object_store.BUCKET}/{self.work.name}-{self.folders}"

    @contextlib.contextmanager
    def environment(self) -> Iterator[None]:
        build = {"HEADRACE_BUILD": str(self.root / "build" / "release")}
        with mock.patch.dict(os.environ, {**build, "PYTHONPATH": str(self.root / "python")}):
            yield

    def run(self, *arguments) -> measuring.Done:
        return measuring.run([measuring.headrace(), *arguments, "--quiet"], measuring.cores())


def prepare(source: pathlib.Path, name: str, *options) -> Callable:
    def job(checkout: Checkout) -> measuring.Done:
        shutil.rmtree(checkout.work / name, ignore_errors=True)
        return checkout.run("prepare", source, checkout.work / name, *options)

    return job


def train(checkout: Checkout) -> measuring.Done:
    options = ("--overwrite", "--validation", "0", "--batch-size", "128", "--epochs", "20")
    return checkout.run("train", checkout.work / "texts", checkout.work / "run", *options)


def evaluate(checkout: Checkout) -> measuring.Done:
    return checkout.run("evaluate", checkout.work / "run", "--data", checkout.work / "texts")


def predict(checkout: Checkout) -> measuring.Done:
    shutil.rmtree(checkout.work / "answers", ignore_errors=True)
    options = ("--data", checkout.work / "texts", "--to", checkout.work / "answers")
    return checkout.run("predict", checkout.work / "run", *options)


def load(what: str, name: str, epochs: int) -> Callable:
    """Reads epochs with the loader in Python."""

    def job(checkout: Checkout) -> measuring.Done:
        program = measuring.ROOT / "bench" / "peers" / "load_headrace.py"
        command = [sys.executable, program, what, f"file://{checkout.work / name}", 1, epochs]
        return measuring.run(command, measuring.cores())

    return job


def copy(source: str, target: str) -> Callable:
    return lambda checkout: checkout.run("cp", source, target)


def write_small(small: pathlib.Path, is_new: bool) -> Callable:
    """Writes into a new folder, or over the last written folder, which is listed first."""

    def job(checkout: Checkout) -> measuring.Done:
        checkout.folders += is_new
        return checkout.run("cp", "--recursive", small, checkout.stored)

    return job


def write_files(folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    large, small = folder / "large", folder / "small"
    with large.open("wb") as file:
        for _ in range(LARGE_BYTES >> 20):
            file.write(os.urandom(1 << 20))
    small.mkdir()
    for number in range(SMALL_OBJECTS):
        (small / f"{number:05}").write_bytes(os.urandom(4096))
    return large, small


def local_jobs() -> dict[str, Callable]:
    texts, table = measuring.archive(TEXTS), prepare_table.write_table(ROWS)
    resize = ("--compression", "none", "--resize", "150x150")
    return {
        "main: prepare texts": prepare(texts, "texts", "--encoder", "hash:512"),
        "main: train": train,
        "main: evaluate": evaluate,
        "main: predict": predict,
        "prepare: a table": prepare(table, "table", "--compression", "none"),
        "prepare: images": prepare(photos.folder(IMAGES), "images", *resize),
        "stream: GZIP shards of texts": load("examples", "texts", 10),
        "stream: images": load("pixels", "images", 3),
    }


def store_jobs(large: pathlib.Path, small: pathlib.Path) -> dict[str, Callable]:
    bucket = f"s3://{object_store.BUCKET}"
    return {
        "s3: write a large object": copy(str(large), f"{bucket}/large"),
        "s3: read a large object": lambda checkout: checkout.run(
            "cp", f"{bucket}/large", checkout.work / "large"
        ),
        "s3: write small objects": write_small(small, is_new=True),
        "s3: write small objects over others": write_small(small, is_new=False),
        "s3: read small objects": lambda checkout: checkout.run(
            "cp", "--recursive", checkout.stored, checkout.work / "small"
        ),
    }


def compare(jobs: dict[str, Callable], checkouts: dict[str, Checkout], clock: str, repeats: int) -> dict:
    """The order of the two alternates; the first round does not count."""
    raw: dict = {name: {which: [] for which in checkouts} for name in jobs}
    for round_number in range(repeats + 1):
        order = list(checkouts) if round_number % 2 else list(reversed(checkouts))
        for name, job in jobs.items():
            for which in order:
                preparing.sync(measuring.DATA)
                with checkouts[which].environment():
                    seconds = getattr(job(checkouts[which]), clock)
                if round_number:
                    raw[name][which].append(seconds)
    return raw


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=5)
    parser.add_argument("other", type=pathlib.Path, help="another checkout with a finished build")
    parser.add_argument("--only", nargs="+", choices=("local", "store"), default=["local", "store"])
    arguments = parser.parse_args()
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    raw: dict = {}
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        work = pathlib.Path(folder)
        checkouts = {
            "this": Checkout(measuring.ROOT, work / "this"),
            "other": Checkout(arguments.other.resolve(), work / "other"),
        }
        if "local" in arguments.only:
            raw |= compare(local_jobs(), checkouts, "cpu_s", arguments.repeats)
        if "store" in arguments.only:
            with object_store.minio():
                raw |= compare(store_jobs(*write_files(work)), checkouts, "wall_s", arguments.repeats)
    medians = {
        name: {which: measuring.median(values) for which, values in of_job.items()}
        for name, of_job in raw.items()
    }
    summary = {
        f"{name} (must be >= {LEAST})": seconds["other"] / seconds["this"]
        for name, seconds in medians.items()
    }
    compared = {
        f"{name} (must be >= {LEAST})": f"{seconds['other']:.3f} s; this {seconds['this']:.3f} s"
        for name, seconds in medians.items()
    }
    measuring.report(arguments.json, summary, raw, compared)


if __name__ == "__main__":
    main()
