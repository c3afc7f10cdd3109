"""Does a quarter of the data predict the error at all of it? Real trainings on reviews and on an example."""

import csv
import json
import pathlib
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("tracing_environment")]

SEEDS = 5
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "digits"


@pytest.fixture(scope="module")
def digits(headrace, tmp_path_factory) -> pathlib.Path:
    """The example's pictures, and more: it is learnt from a few hundred."""
    folder = tmp_path_factory.mktemp("digits")
    drawing = (EXAMPLE / "make_data.py").read_text().replace("range(600)", "range(2400)")
    subprocess.run([sys.executable, "-c", drawing], cwd=folder, check=True)
    headrace("prepare", folder / "train", folder / "data", "--split", "train=0.8,test=0.2")
    return folder / "data"


IMAGES = ("--augment", "crop=24x24,brightness=0.05", "--image-size", "26x26")
DIGITS = ("--model", f"{EXAMPLE / 'model.py'}:build", "--epochs", 20, "--batch-size", 32, *IMAGES)


@pytest.mark.parametrize(
    ("data", "metric", "options"),
    [
        ("real_reviews", "error", ("--model", "headrace.models:dense_classifier")),
        ("digits", "loss", DIGITS),
    ],
)
def test_a_quarter_predicts_all_within_its_interval(request, headrace, tmp_path, data, metric, options):
    measure = ["--sizes", "6", "--seeds", SEEDS, "--metric", metric, "--to", tmp_path / "curve"]
    headrace("learning-curve", request.getfixturevalue(data), *options, *measure)
    with next((tmp_path / "curve" / "reports").glob("*/scores.csv")).open() as file:
        rows = list(csv.DictReader(file))
    most = max(int(row["size"]) for row in rows)
    known = [row for row in rows if int(row["size"]) <= most / 4 + 1]
    lines = ["size,score", *(f"{row['size']},{row['score']}" for row in known)]
    (tmp_path / "quarter.csv").write_text("\n".join(lines) + "\n")
    more = most - max(int(row["size"]) for row in known)
    asked = ["--from", tmp_path / "quarter.csv", "--metric", metric, "--more-records", more, "--json"]
    interval = json.loads(headrace("learning-curve", *asked).stdout)["more_records"]["error"]
    truths = [float(row["score"]) for row in rows if int(row["size"]) == most]
    assert len(truths) == SEEDS
    assert all(interval["low"] <= truth <= interval["high"] for truth in truths), (interval, truths)
