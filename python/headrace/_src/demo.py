"""`headrace demo`: prepare, stream and train on a small dataset that it makes, without a network.

The texts are made of a few words. The demo checks that the installation works; it does not measure a model.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from headrace._src.program import find_program

_TEXTS = 8000
_SEED = 44
_EPOCHS = 5
_WORDS = {
    "pos": ("loved", "great", "wonderful", "moving", "superb", "charming", "brilliant", "touching", "fresh"),
    "neg": ("hated", "awful", "boring", "dull", "clumsy", "tedious", "lifeless", "painful", "stale"),
}
_COMMON = (
    *("the", "film", "plot", "acting", "script", "scenes", "music", "ending", "director", "cast", "story"),
    *("was", "is", "felt", "with", "and", "a", "rather", "quite", "more", "less", "than", "last", "first"),
    *("another", "time", "hours", "camera", "dialogue", "pace"),
)


@dataclass
class _Stage:
    name: str
    records: int
    seconds: float
    result: str


def _text(generator: random.Random, label: str) -> str:
    words = generator.choices(_COMMON, k=generator.randint(8, 60))
    for word in generator.choices(_WORDS[label], k=generator.randint(1, 4)):
        words.insert(generator.randrange(len(words)), word)
    return " ".join(words)


def write_texts(path: Path, count: int, seed: int) -> None:
    """An archive laid out as the Large Movie Review Dataset; equal arguments give equal bytes."""
    generator = random.Random(seed)
    with tarfile.open(path, "w") as archive:
        for number in range(count):
            label = ("pos", "neg")[number % 2]
            split = "test" if number % 5 == 4 else "train"
            data = _text(generator, label).encode()
            member = tarfile.TarInfo(f"aclImdb/{split}/{label}/{number}_5.txt")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def _run(*arguments: str) -> dict:
    """Runs the program and returns the document that it prints."""
    environment = {"HEADRACE_PYTHON": sys.executable, **os.environ}
    command = [str(find_program()), *arguments, "--json", "--quiet"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return json.loads(done.stdout)


def _prepare(folder: Path) -> _Stage:
    archive = folder / "reviews.tar"
    write_texts(archive, _TEXTS, _SEED)
    start = time.perf_counter()
    result = _run(
        "prepare", str(archive), str(folder / "data"), "--encoder", "hash:512", "--seed", str(_SEED)
    )
    records = result["counts"]["written"]
    return _Stage("prepare", records, time.perf_counter() - start, f"{result['shards']} shards")


def _stream(folder: Path) -> _Stage:
    from headrace._src.columns import float32, int64
    from headrace._src.dataset import open as open_dataset

    data = open_dataset(folder / "data")
    columns = {"sentence": float32[512], "label": int64[2]}
    loader = data.loader(batch_size=128, seed=_SEED, epochs=_EPOCHS, columns=columns)
    start = time.perf_counter()
    labels = sum(int(batch["label"].sum()) for batch in loader)
    if labels != len(data) * _EPOCHS:
        raise SystemExit(f"headrace: demo: {labels} labels in {len(data) * _EPOCHS} records")
    seconds = time.perf_counter() - start
    return _Stage("stream", labels, seconds, f"{_EPOCHS} epochs of {loader.batches_per_epoch} batches")


def _train(folder: Path) -> list[_Stage]:
    data, run = str(folder / "data"), str(folder / "run")
    start = time.perf_counter()
    _run("train", data, run, "--model", "headrace.models:dense_classifier", "--epochs", str(_EPOCHS))
    trained = time.perf_counter()
    evaluation = _run("evaluate", run, "--data", data, "--split", "test")
    evaluated = time.perf_counter()
    return [
        _Stage("train", _TEXTS * 4 // 5 * _EPOCHS, trained - start, f"{_EPOCHS} epochs"),
        _Stage(
            "evaluate", _TEXTS // 5, evaluated - trained, f"accuracy {evaluation['metrics']['accuracy']:.3f}"
        ),
    ]


def _table(stages: list[_Stage]) -> str:
    lines = [f"{'stage':<10}{'records':>10}{'seconds':>10}{'records/s':>12}  result"]
    for stage in stages:
        rate = stage.records / max(stage.seconds, 1e-9)
        lines.append(
            f"{stage.name:<10}{stage.records:>10,}{stage.seconds:>10.2f}{rate:>12,.0f}  {stage.result}"
        )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="headrace demo", description=__doc__)
    parser.add_argument(
        "folder", nargs="?", type=Path, help="keep everything in this folder; default: a temporary folder"
    )
    parser.add_argument("--no-train", action="store_true", help="skip training, which needs TensorFlow")
    options = parser.parse_args(arguments)
    has_tensorflow = "HEADRACE_PYTHON" in os.environ or importlib.util.find_spec("tensorflow") is not None
    if not options.no_train and not has_tensorflow:
        parser.error("training needs TensorFlow: pip install 'headrace[tensorflow]', or give --no-train")
    with tempfile.TemporaryDirectory(prefix="headrace-demo-") as temporary:
        folder = (options.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        stages = [_prepare(folder), _stream(folder)]
        if not options.no_train:
            stages += _train(folder)
        print(_table(stages))
        if options.folder:
            print(f"\nLook at it: headrace inspect {folder / 'data'}")
    return 0
