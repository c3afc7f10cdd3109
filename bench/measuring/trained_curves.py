"""Curves of real trainings: the cost of a whole curve compared with one full run, whether a quarter of the
data predicts the error for all of it, and the cost and result of `train --curve`. Uses the demo's reviews,
encoder and model; the prediction from a quarter also uses the digits of examples/. Traces are in the cache
before anything is measured. Processes take turns."""

import csv
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from . import ROOT, WORK, cores, headrace, median, run

MODEL = "headrace.models:dense_classifier"
EPOCHS = (10, 40)  # a default training, and one whose start hardly counts
SEEDS = 5
DIGITS = 2400  # pictures
SIZES_OF_QUARTER = 6  # N, N/2, and four sizes up to a quarter
MOST_RATIO = 2.2
MOST_SLOWDOWN = 0.03


def timed(*command) -> dict:
    done = run([headrace(), *command, "--quiet", "--json"], cores())
    return {"wall_s": done.wall_s, "cpu_s": done.cpu_s, "answer": json.loads(done.output)}


def without(folder: pathlib.Path) -> pathlib.Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def prepared_reviews(folder: pathlib.Path) -> pathlib.Path:
    script = ROOT / "tools" / "reviews.py"
    subprocess.run([sys.executable, script, folder / "reviews.tar.gz"], check=True, stdout=sys.stderr)
    timed("prepare", folder / "reviews.tar.gz", folder / "data")
    return folder / "data"


def full_run(data: pathlib.Path, folder: pathlib.Path, epochs: int) -> dict:
    """Training on all records and the evaluation, as two commands."""
    trained = timed("train", data, without(folder / "run"), "--seed", 1, "--epochs", epochs)
    evaluated = timed("evaluate", folder / "run", "--data", data)
    return {name: trained[name] + evaluated[name] for name in ("wall_s", "cpu_s")}


def whole_curve(data: pathlib.Path, folder: pathlib.Path, epochs: int) -> dict:
    """Trains five sizes with one seed, one run at a time."""
    of_one = ["--seeds", 1, "--at-once", 1, "--epochs", epochs, "--to", without(folder / "curve")]
    done = timed("learning-curve", data, "--model", MODEL, *of_one)
    return {name: done[name] for name in ("wall_s", "cpu_s")}


def costs(data: pathlib.Path, folder: pathlib.Path, rounds: int) -> tuple[dict, dict]:
    summary, raw = {}, {}
    for epochs in EPOCHS:
        kept = [(full_run(data, folder, epochs), whole_curve(data, folder, epochs)) for _ in range(rounds)]
        raw[f"{epochs} epochs"] = [{"full_run": full, "curve": curve} for full, curve in kept]
        for name, clock in (("cpu_s", "CPU time"), ("wall_s", "wall")):
            title = f"whole curve against one full run, per seed, {epochs} epochs, {clock}"
            summary[f"{title} (must be <= {MOST_RATIO})"] = median(
                curve[name] / full[name] for full, curve in kept
            )
    return summary, raw


def table(path: pathlib.Path) -> list[dict]:
    with path.open() as file:
        return [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


@dataclasses.dataclass(frozen=True)
class Job:
    """A dataset, and the training of a model on it."""

    name: str
    data: pathlib.Path
    metric: str
    options: tuple = ("--model", MODEL)


def prepared_digits(folder: pathlib.Path) -> Job:
    """The example with more pictures than it draws, because a few hundred already suffice to learn it."""
    example = ROOT / "examples" / "digits"
    drawing = (example / "make_data.py").read_text()
    assert "range(600)" in drawing, "the example draws another number of pictures now"
    drawing = drawing.replace("range(600)", f"range({DIGITS})")
    subprocess.run([sys.executable, "-c", drawing], cwd=folder, check=True)
    timed("prepare", folder / "train", folder / "digits", "--split", "train=0.8,test=0.2")
    model = ("--model", f"{example / 'model.py'}:build", "--epochs", 20, "--batch-size", 32)
    images = ("--augment", "crop=24x24,brightness=0.05", "--image-size", "26x26")
    return Job("digits", folder / "digits", "loss", (*model, *images))


def quarter(job: Job, folder: pathlib.Path) -> tuple[dict, dict, dict]:
    """The summary, the raw values, and what the whole curve says."""
    kept = folder / f"quarter-{job.name}"
    measure = ["--sizes", SIZES_OF_QUARTER, "--seeds", SEEDS, "--metric", job.metric, "--to", kept]
    whole = timed("learning-curve", job.data, *job.options, *measure)["answer"]
    rows = table(next((kept / "reports").glob("*/scores.csv")))
    most = max(row["size"] for row in rows)
    known = [row for row in rows if row["size"] <= most / 4 + 1]
    lines = ["size,score,seconds", *(f"{row['size']},{row['score']},{row['seconds']}" for row in known)]
    (folder / "quarter.csv").write_text("\n".join(lines) + "\n")
    more = int(most - max(row["size"] for row in known))
    ask = ["--from", folder / "quarter.csv", "--metric", job.metric, "--more-records", more]
    answer = timed("learning-curve", *ask)["answer"]
    error, one = (answer["more_records"][name] for name in ("error", "one_training"))
    truths = [row["score"] for row in rows if row["size"] == most]
    mean = sum(truths) / len(truths)
    title = f"from a quarter of the {job.name}"
    summary = {
        f"{title}: predicted {job.metric} at all of them": error["median"],
        f"{title}: low end of the interval": error["low"],
        f"{title}: high end of the interval": error["high"],
        f"{title}: mean {job.metric} of {SEEDS} seeds at all of them": mean,
        f"{title}: low end of the interval of one training": one["low"],
        f"{title}: high end of the interval of one training": one["high"],
        f"{title}: seeds of {SEEDS} within it": sum(one["low"] <= truth <= one["high"] for truth in truths),
    }
    return summary, {"scores": rows, "answer": answer}, whole


def free_curve(data: pathlib.Path, folder: pathlib.Path, rounds: int, whole: dict) -> tuple[dict, dict]:
    def train(epochs: int, *options) -> dict:
        arguments = [without(folder / "run"), "--seed", 1, "--epochs", epochs, *options]
        done = timed("train", data, *arguments)
        return {"training_s": done["answer"]["training_seconds"], "cpu_s": done["cpu_s"]}

    summary, raw = {}, {}
    for epochs in sorted(EPOCHS, reverse=True):  # the last run is a default one
        kept = [{"without": train(epochs), "with": train(epochs, "--curve")} for _ in range(rounds)]
        raw[f"{epochs} epochs"] = kept
        # Other work on the machine only adds time, so the minimum is the figure.
        without_curve, with_curve = (min(one[name]["cpu_s"] for one in kept) for name in ("without", "with"))
        title = f"train --curve: slowdown of the command, {epochs} epochs, CPU time"
        summary[f"{title} (must be <= {MOST_SLOWDOWN})"] = with_curve / without_curve - 1
    answer = timed("runs", "curve", folder / "run")["answer"]
    for name, of in (("one pass", answer), ("trained models", whole)):
        if of["exponent"]:
            for part, value in of["exponent"].items():
                summary[f"exponent of {name}, {part}"] = value
    return summary, {"rounds": raw, "one_pass": answer, "whole": whole}


def measure(rounds: int) -> tuple[dict, dict]:
    """The summary and the raw values; without rounds, only figures that do not depend on the machine's
    speed."""
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK) as name:
        folder = pathlib.Path(name)
        data = prepared_reviews(folder)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        summary, raw = {}, {}
        if rounds:
            full_run(data, folder, 1)
            summary, raw["costs"] = costs(data, folder, rounds)
        of_reviews, raw["quarter"], whole = quarter(Job("reviews", data, "error"), folder)
        of_digits, raw["quarter_of_digits"], _ = quarter(prepared_digits(folder), folder)
        summary |= of_reviews | of_digits
        if rounds:
            of_one_pass, raw["free"] = free_curve(data, folder, 4 * rounds, whole)
            summary |= of_one_pass
    return summary, raw
