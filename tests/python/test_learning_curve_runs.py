"""headrace learning-curve DATASET --model: real trainings of a small model, kept and continued."""

import json
import pathlib
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.usefixtures("tracing_environment")

DIGITS = pathlib.Path(__file__).parents[2] / "examples" / "digits"
SMALL = ["--model", "headrace.models:dense_classifier", "--epochs", "2", "--replicates", "200", "--json"]


def scores(folder: pathlib.Path) -> dict[str, dict]:
    """By the name of the object."""
    return {path.name: json.loads(path.read_text()) for path in sorted((folder / "scores").glob("*.json"))}


def last_run(headrace, url) -> dict:
    runs = json.loads(headrace("runs", "ls", url, "--json").stdout)["runs"]
    return runs[-1]["end"] | {"run": runs[-1]["id"]}


@pytest.fixture(scope="module")
def curve(headrace, real_reviews, tracing_environment, tmp_path_factory):
    """A curve of three sizes and two seeds: its folder and the printed document."""
    folder = tmp_path_factory.mktemp("curves") / "dense"
    done = headrace("learning-curve", real_reviews, *SMALL, "--sizes", "3", "--seeds", "2", "--to", folder)
    return folder, json.loads(done.stdout)


@pytest.mark.exhaustive
def test_each_size_is_trained_with_each_seed_and_scored_on_the_same_test_split(curve, headrace, real_reviews):
    folder, document = curve
    kept = scores(folder)
    sizes = sorted({score["records"] for score in kept.values()})
    assert len(kept) == 6
    assert [point["size"] for point in document["points"]] == sizes
    assert all(2 * small - large in (0, 1) for small, large in zip(sizes, sizes[1:], strict=False))
    assert all(0.2 < score["metrics"]["accuracy"] < 0.9 for score in kept.values())
    assert all(score["seconds"] > 0 for score in kept.values())
    assert {score["configuration"]["test split"] for score in kept.values()} == {"test"}
    assert not list((folder / "leases").glob("*"))


def test_the_report_and_the_record_of_the_run_say_what_came_from_what(curve, headrace, real_reviews):
    folder, document = curve
    end = last_run(headrace, folder)
    assert end["status"] == "finished" and end["counts"] == {"scores": 6, "trained": 6}
    assert [artifact["url"] for artifact in end["inputs"]] == [f"file://{real_reviews}"]
    report = folder / "reports" / end["run"]
    assert {pathlib.Path(artifact["url"]).name for artifact in end["outputs"]} == {
        "scores.csv",
        "report.html",
        "learning-curve.json",
    }
    assert json.loads((report / "learning-curve.json").read_text()) == document
    again = headrace("learning-curve", "--from", report / "scores.csv", "--replicates", "200", "--json")
    assert json.loads(again.stdout) == document, "the table says the same"
    assert str(real_reviews) in headrace("lineage", report / "report.html").stdout


def test_a_second_call_only_adds_and_another_metric_trains_nothing(curve, headrace, real_reviews):
    folder, document = curve
    before = scores(folder)
    target = ["--metric", "accuracy", "--target", "0.7", "--sizes", "4", "--seeds", "2"]
    done = headrace("learning-curve", real_reviews, *SMALL, *target, "--to", folder)
    wider = json.loads(done.stdout)
    measured = [(point["size"], point["mean"], point["seconds"]) for point in wider["points"]]
    assert measured[1:] == [(p["size"], p["mean"], p["seconds"]) for p in document["points"]]
    assert wider["target"]["error"] == pytest.approx(0.3)
    assert last_run(headrace, folder)["counts"] == {"scores": 8, "trained": 2}
    assert scores(folder).items() > before.items()
    loss = ["--metric", "loss", "--sizes", "4", "--seeds", "2"]
    document = json.loads(headrace("learning-curve", real_reviews, *SMALL, *loss, "--to", folder).stdout)
    assert last_run(headrace, folder)["counts"] == {"scores": 8, "trained": 0}
    losses = [s["metrics"]["loss"] for s in before.values() if s["records"] == document["points"][-1]["size"]]
    assert document["points"][-1]["mean"] == pytest.approx(sum(losses) / 2, rel=1e-5)


@pytest.mark.exhaustive
def test_stratified_parts_add_their_scores_to_that_of_all_records(curve, headrace, real_reviews):
    folder, document = curve
    asked = ["--stratify", "label", "--sizes", "3", "--seeds", "2", "--to", folder]
    stratified = json.loads(headrace("learning-curve", real_reviews, *SMALL, *asked).stdout)
    assert last_run(headrace, folder)["counts"] == {"scores": 6, "trained": 4}, "all records are shared"
    sizes, plain = ([point["size"] for point in of["points"]] for of in (stratified, document))
    assert sizes == pytest.approx(plain, abs=1) and sizes[-1] == plain[-1]
    subsets = {score["configuration"]["subset"] for score in scores(folder).values()}
    assert {f"{size:.0f} by label from {place}" for size in plain[:-1] for place in (0, 1)} <= subsets
    headrace("learning-curve", real_reviews, *SMALL, *asked)
    assert last_run(headrace, folder)["counts"] == {"scores": 6, "trained": 0}


@pytest.mark.exhaustive
def test_a_killed_call_goes_on_to_the_same_scores(curve, headrace, build, real_reviews, tmp_path):
    arguments = [
        "learning-curve",
        real_reviews,
        *SMALL,
        "--sizes",
        "3",
        "--seeds",
        "2",
        "--to",
        tmp_path / "b",
    ]
    process = subprocess.Popen(
        [build / "bin" / "headrace", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 120
    while not scores(tmp_path / "b"):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    process.kill()
    process.wait()
    left = len(scores(tmp_path / "b"))
    headrace(*arguments)
    assert last_run(headrace, tmp_path / "b")["counts"] == {"scores": 6, "trained": 6 - left}
    whole = {name: score["metrics"] for name, score in scores(curve[0]).items()}
    continued = {name: score["metrics"] for name, score in scores(tmp_path / "b").items()}
    assert continued.items() <= whole.items(), "bit for bit, though the folder is another one"


@pytest.mark.exhaustive
def test_what_gives_no_curve_is_refused(headrace, real_reviews, tmp_path):
    def refused(*arguments) -> str:
        done = headrace("learning-curve", *arguments, check=False)
        assert done.returncode != 0
        return done.stderr

    model = ["--model", "headrace.models:dense_classifier", "--to", tmp_path / "curve"]
    assert "records that were learnt" in refused(real_reviews, *model, "--test-split", "train")
    assert "holdout" in refused(real_reviews, *model, "--test-split", "holdout")
    assert "give fewer --sizes" in refused(real_reviews, *model, "--sizes", "15")
    assert "is not a dataset" in refused(tmp_path / "nothing", *model)
    assert "DATASET" in refused(*model)
    assert "leave DATASET out" in refused(real_reviews, "--from", tmp_path / "x.csv")
    assert "not both" in refused(real_reviews, *model, "--from", tmp_path / "x.csv")
    assert "--validation above 0" in refused(real_reviews, *model, "--early-stop", "2", "--validation", "0")
    assert "the dataset has id bytes, label" in refused(real_reviews, *model, "--stratify", "lable")
    assert "--stratify text" in refused(real_reviews, *model, "--stratify", "text")
    diverged = refused(real_reviews, *model, "--learning-rate", "1e30", "--seeds", "1")
    assert "try a smaller --learning-rate" in diverged
    assert "RUN" not in diverged and "overwrite" not in diverged and "checkpoint" not in diverged
    assert not scores(tmp_path / "curve")


@pytest.mark.exhaustive
def test_a_run_carries_the_errors_of_one_pass_and_its_weights_are_the_same(headrace, real_reviews, tmp_path):
    options = ["--epochs", "2", "--seed", "1"]
    headrace("train", real_reviews, tmp_path / "plain", *options)
    headrace("train", real_reviews, tmp_path / "scored", *options, "--curve")
    plain, scored = (
        next((tmp_path / run / "export").rglob("variables.data-*")) for run in ("plain", "scored")
    )
    assert plain.read_bytes() == scored.read_bytes()

    logged = json.loads(headrace("runs", "metrics", tmp_path / "scored", "--json").stdout)["metrics"]
    points = {metric["name"]: metric["points"] for metric in logged}
    assert points["train/curve_loss"] == points["train/curve_accuracy"] == 4, "a thirtieth of 120 steps"
    asked = ["--replicates", "200", "--metric", "loss", "--json"]
    document = json.loads(headrace("runs", "curve", tmp_path / "scored", *asked).stdout)
    assert [point["size"] for point in document["points"]][:2] == [128, 512]
    assert any("errors of one pass" in remark for remark in document["remarks"])

    refused = headrace("runs", "curve", tmp_path / "plain", check=False)
    assert refused.returncode == 1 and "headrace train --curve logs one" in refused.stderr
    keras = headrace("train", real_reviews, tmp_path / "x", "--curve", "--loop", "keras", check=False)
    assert keras.returncode == 2 and "--curve needs the native loop" in keras.stderr


@pytest.fixture(scope="module")
def many_digits(headrace, tmp_path_factory):
    """The digits of the example, with more pictures than it draws, since it is learnt from a few hundred."""
    folder = tmp_path_factory.mktemp("digits")
    drawing = (DIGITS / "make_data.py").read_text()
    assert drawing.count("range(600)") == 1
    drawing = drawing.replace("range(600)", "range(2400)")
    subprocess.run([sys.executable, "-c", drawing], cwd=folder, check=True)
    headrace("prepare", folder / "train", folder / "data", "--split", "train=0.8,test=0.2")
    return folder / "data"


def forecast_from_a_quarter(headrace, folder, data, metric, *model) -> tuple[dict, list[float]]:
    """The forecast of scores up to a quarter of the records for all of them, and their scores."""
    asked = ["--sizes", "6", "--seeds", "5", "--metric", metric, "--to", folder]
    headrace("learning-curve", data, *model, *asked, "--json")
    rows = [
        row.split(",") for row in next((folder / "reports").glob("*/scores.csv")).read_text().splitlines()
    ]
    names, rows = rows[0], [[float(cell) for cell in row] for row in rows[1:]]
    size, score = names.index("size"), names.index("score")
    most = max(row[size] for row in rows)
    known = [row for row in rows if row[size] <= most / 4 + 1]
    assert len({row[size] for row in known}) == 4
    table = folder / "quarter.csv"
    table.write_text("size,score\n" + "".join(f"{row[size]},{row[score]}\n" for row in known))
    more = int(most - max(row[size] for row in known))
    asked = ["--from", table, "--metric", metric, "--more-records", more, "--json"]
    forecast = json.loads(headrace("learning-curve", *asked).stdout)["more_records"]
    return forecast, [row[score] for row in rows if row[size] == most]


def is_forecast(forecast: dict, truths: list[float]) -> bool:
    """Whether the interval holds the mean of all seeds, and that of one training holds each seed."""
    error, one = forecast["error"], forecast["one_training"]
    return error["low"] <= sum(truths) / len(truths) <= error["high"] and all(
        one["low"] <= truth <= one["high"] for truth in truths
    )


@pytest.mark.soak
def test_a_quarter_of_the_reviews_predicts_what_all_of_them_give(headrace, real_reviews, tmp_path):
    model = ["--model", "headrace.models:dense_classifier"]
    found = forecast_from_a_quarter(headrace, tmp_path / "curve", real_reviews, "error", *model)
    assert is_forecast(*found), found


@pytest.mark.soak
def test_a_quarter_of_the_digits_predicts_what_all_of_them_give(headrace, many_digits, tmp_path):
    model = ["--model", f"{DIGITS / 'model.py'}:build", "--epochs", "20", "--batch-size", "32"]
    images = ["--augment", "crop=24x24,brightness=0.05", "--image-size", "26x26"]
    found = forecast_from_a_quarter(headrace, tmp_path / "curve", many_digits, "loss", *model, *images)
    assert is_forecast(*found), found
