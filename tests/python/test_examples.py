"""examples/*/run.sh: raw rows become a dataset, a model learns from it, is measured, and answers new rows."""

import csv
import gzip
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]


@pytest.fixture
def run_example(root, tmp_path):
    def run(name: str) -> tuple[dict, list[dict], dict[str, dict]]:
        """The evaluation's target; the answers to new rows; what would have been right, by id."""
        path = os.pathsep.join([str(root / "build/release/bin"), str(root / ".venv/bin"), os.environ["PATH"]])
        done = subprocess.run(
            [root / "examples" / name / "run.sh"],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (evaluation,) = tmp_path.glob("run/evaluations/*.json")
        (target,) = json.loads(evaluation.read_text())["targets"]
        with (tmp_path / "truth.csv").open(newline="", encoding="utf-8") as file:
            truth = {row["id"]: row for row in csv.DictReader(file)}
        return target, answers_in(tmp_path / "answers"), truth

    return run


def answers_in(folder: pathlib.Path) -> list[dict]:
    out = []
    for path in sorted(folder.glob("*.csv.gz")):
        with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
            out += csv.DictReader(file)
    return out


def share_right(answers: list[dict], truth: dict[str, dict], column: str) -> float:
    assert sorted(answer["id"] for answer in answers) == sorted(truth)
    return sum(answer["label"] == truth[answer["id"]][column] for answer in answers) / len(truth)


@pytest.mark.parametrize(
    ("name", "kind", "column"),
    [
        pytest.param("income", "binary", "rich", marks=pytest.mark.soak),
        ("digits", "classes", "digit"),
        pytest.param("two_inputs", "classes", "genre", marks=pytest.mark.soak),
    ],
)
def test_classes_are_learnt_and_answered(run_example, name, kind, column):
    target, answers, truth = run_example(name)
    assert target["kind"] == kind
    assert target["accuracy"] > 0.85
    assert share_right(answers, truth, column) > 0.85


def test_numbers_are_learnt_and_answered(run_example):
    target, answers, truth = run_example("house_prices")
    assert target["numbers"][0]["r_squared"] > 0.95
    errors = [float(answer["value"]) - float(truth[answer["id"]]["price"]) for answer in answers]
    assert len(errors) == len(truth)
    assert np.abs(errors).mean() < 20


def test_several_labels_are_learnt_and_answered(run_example):
    target, answers, truth = run_example("topics")
    assert [label["label"] for label in target["classes"]] == ["sport", "money", "weather"]
    assert target["accuracy"] > 0.95
    for answer in answers:
        named = {topic for topic, applies in truth[answer["id"]].items() if applies == "1" and topic != "id"}
        assert len(named ^ set(json.loads(answer["labels"]))) <= 1
