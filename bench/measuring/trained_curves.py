"""Curves of real trainings: what a whole one costs beside one full run, whether a quarter of the data
predicts the error at all of it, and what `train --curve` costs and says. The demo's reviews with its encoder;
its model. Traces are in the cache before anything is measured. Processes take turns."""

import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from . import ROOT, WORK, cores, headrace, median, run

MODEL = "headrace.models:dense_classifier"
EPOCHS = (10, 40)  # a default training, and one in which starts hardly count
SEEDS = 5
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
    """Five sizes with one seed, one run at a time."""
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


def quarter(data: pathlib.Path, folder: pathlib.Path) -> tuple[dict, dict, dict]:
    """The summary, the raw values, and what the whole curve says."""
    measure = ["--sizes", SIZES_OF_QUARTER, "--seeds", SEEDS, "--to", without(folder / "quarter")]
    whole = timed("learning-curve", data, "--model", MODEL, *measure)["answer"]
    rows = table(next((folder / "quarter" / "reports").glob("*/scores.csv")))
    most = max(row["size"] for row in rows)
    known = [row for row in rows if row["size"] <= most / 4 + 1]
    lines = ["size,score,seconds", *(f"{row['size']},{row['score']},{row['seconds']}" for row in known)]
    (folder / "quarter.csv").write_text("\n".join(lines) + "\n")
    more = int(most - max(row["size"] for row in known))
    answer = timed("learning-curve", "--from", folder / "quarter.csv", "--more-records", more)["answer"]
    error = answer["more_records"]["error"]
    truths = [row["score"] for row in rows if row["size"] == most]
    mean = sum(truths) / len(truths)
    summary = {
        "from a quarter of the reviews: predicted error at all of them": error["median"],
        "from a quarter of the reviews: low end of the interval": error["low"],
        "from a quarter of the reviews: high end of the interval": error["high"],
        f"from a quarter of the reviews: mean error of {SEEDS} seeds at all of them": mean,
        f"from a quarter of the reviews: seeds of {SEEDS} within the interval": sum(
            error["low"] <= truth <= error["high"] for truth in truths
        ),
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
        # Other work on the machine only adds, so the least is the figure.
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
    """The summary and the raw values."""
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK) as name:
        folder = pathlib.Path(name)
        data = prepared_reviews(folder)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        full_run(data, folder, 1)
        cost_summary, cost_raw = costs(data, folder, rounds)
        quarter_summary, quarter_raw, whole = quarter(data, folder)
        free_summary, free_raw = free_curve(data, folder, 4 * rounds, whole)
    summary = cost_summary | quarter_summary | free_summary
    return summary, {"costs": cost_raw, "quarter": quarter_raw, "free": free_raw}
