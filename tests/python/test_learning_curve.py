"""headrace learning-curve on tables that were measured elsewhere."""

import json
import os
import pathlib
import subprocess

import pytest

SIDES = (-1.0, 0.2, 0.8)


def table(path: pathlib.Path, error, noise: float = 0.02) -> pathlib.Path:
    rows = [
        f"{size},{error(size) * (1 + noise * side):.6f},{seed},{0.36 * size}"
        for size in (1000, 2000, 4000, 8000, 16000, 32000)
        for seed, side in enumerate(SIDES)
    ]
    path.write_text("\n".join(["size,score,seed,seconds", *rows]) + "\n")
    return path


def falling(size: float) -> float:
    return 0.02 + 8 * size**-0.5


def learning_curve(*arguments) -> subprocess.CompletedProcess:
    program = pathlib.Path(os.environ["HEADRACE_BUILD"]) / "bin" / "headrace"
    return subprocess.run([program, "learning-curve", *map(str, arguments)], capture_output=True, text=True)


def answer(*arguments) -> dict:
    done = learning_curve("--replicates", "200", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_answers_hold_the_truth_and_the_prices(tmp_path):
    curve = table(tmp_path / "curve.csv", falling)
    target = falling(64_000)
    document = answer("--from", curve, "--target", target, "--price-per-record", 0.01, "--price-per-hour", 2)
    assert document["format"] == "headrace.learning-curve"
    assert document["state"] == "falling"
    for forecast in document["forecasts"]:
        assert forecast["error"]["low"] <= falling(forecast["size"]) <= forecast["error"]["high"]
    assert document["target"]["size"]["low"] <= 64_000 <= document["target"]["size"]["high"]
    assert document["more_records"]["cost"] == pytest.approx(10_000 * 0.01 + 2)
    assert document["one_hour"]["size"] == pytest.approx(42_000)


def test_the_same_table_and_seed_give_the_same_bytes_and_another_seed_others(tmp_path):
    curve = table(tmp_path / "curve.csv", falling)
    first = answer("--from", curve, "--seed", 5)
    assert first == answer("--from", curve, "--seed", 5)
    assert first != answer("--from", curve, "--seed", 6)


def test_an_accuracy_is_read_as_one(tmp_path):
    curve = table(tmp_path / "error.csv", falling, noise=0)
    accuracy = table(tmp_path / "accuracy.csv", lambda size: 1 - falling(size), noise=0)
    by_error = answer("--from", curve, "--target", 0.05)
    by_accuracy = answer("--from", accuracy, "--metric", "accuracy", "--target", 0.95)
    # The rounding of the tables' cells remains.
    middle = by_error["forecasts"][0]["error"]["median"]
    assert by_accuracy["forecasts"][0]["error"]["median"] == pytest.approx(middle, rel=0.01)
    assert by_accuracy["target"]["error"] == pytest.approx(0.05)


def test_a_metric_that_rises_is_not_predicted(tmp_path):
    curve = table(tmp_path / "accuracy.csv", lambda size: 1 - falling(size))
    done = learning_curve("--from", curve)
    assert done.returncode == 0
    assert "the error rises with the data" in done.stdout


def test_two_curves_are_compared(tmp_path):
    flat = table(tmp_path / "flat.csv", lambda size: 0.3 * (size / 64_000) ** -0.2, noise=0.01)
    steep = table(tmp_path / "steep.csv", lambda size: 0.3 * (size / 64_000) ** -0.6, noise=0.01)
    comparison = answer("--from", flat, "--compare", steep)["comparison"]
    assert comparison["at"][0]["first_is_better"] > 0.95
    assert comparison["crossing"]["low"] <= 64_000 <= comparison["crossing"]["high"]


def test_page_and_document_are_written_and_can_be_written_again(tmp_path):
    curve = table(tmp_path / "curve.csv", falling)
    for _ in range(2):
        done = learning_curve("--from", curve, "--target", 0.05, "--to", tmp_path / "out")
        assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "report.html").read_text()
    assert done.stdout.splitlines()[0] in page
    assert "<script" not in page
    assert json.loads((tmp_path / "out" / "learning-curve.json").read_text())["target"]["error"] == 0.05


def test_a_folder_keeps_its_curve_and_is_completed_after_a_kill(tmp_path):
    mine, other = table(tmp_path / "a.csv", falling), table(tmp_path / "b.csv", lambda size: size**-0.3)
    document, page = (tmp_path / "out" / name for name in ("learning-curve.json", "report.html"))
    assert learning_curve("--from", mine, "--to", tmp_path / "out").returncode == 0
    whole = document.read_bytes(), page.read_bytes()
    document.unlink()  # as if the command had been killed, or had stalled, before it
    refused = learning_curve("--from", other, "--to", tmp_path / "out")
    assert refused.returncode != 0
    assert "belongs to another learning curve; choose another folder" in refused.stderr
    assert not document.exists() and page.read_bytes() == whole[1]
    assert learning_curve("--from", mine, "--to", tmp_path / "out").returncode == 0
    assert (document.read_bytes(), page.read_bytes()) == whole


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("size,score\n100,0.5\n", [], "it needs 3 to 100"),
        ("size,score\n100,0.5\n200,nan\n400,0.1\n", [], "line 3: column 2 must be a number, not 'nan'"),
        ("size,score\n100,0.5\n200,0\n400,0.1\n", [], "errors above 0"),
        ("records,loss\n100,0.5\n", [], "size and score"),
        ("", [], "empty"),
        (None, [], "NOT_FOUND"),
        ("size,score\n1,3\n2,2\n3,1\n", ["--target", "0"], "must be above 0"),
        ("size,score\n1,3\n2,2\n3,1\n", ["--price-per-record", "-1"], "price-per-record"),
    ],
)
def test_what_is_no_curve_is_refused_with_its_place(tmp_path, text, arguments, message):
    curve = tmp_path / "curve.csv"
    if text is not None:
        curve.write_text(text)
    done = learning_curve("--from", curve, "--json", *arguments)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


def test_without_a_table_the_command_line_is_wrong():
    done = learning_curve()
    assert done.returncode == 2
    assert "--from is missing" in done.stderr
