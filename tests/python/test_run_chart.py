"""Charts of runs: `headrace runs chart`."""

import json
import math

import pytest

import headrace as hr

pytestmark = pytest.mark.usefixtures("journals")


@pytest.fixture
def two_runs(file_url) -> str:
    for run_id, spike in (("one", 700), ("two", 300)):
        with hr.init(file_url, run_id=run_id) as run:
            for step in range(1000):
                run.log({"loss": 50.0 if step == spike else 1 / (1 + step), "odd": [math.nan, 1.0][step % 2]})
    return file_url


def charted(headrace, *arguments: str) -> dict:
    return json.loads(headrace("runs", "chart", *arguments, "--json").stdout)


def test_a_spike_is_in_its_column_and_all_points_count(headrace, two_runs):
    chart = charted(headrace, two_runs, "one", "two", "--metric", "loss", "--columns", "10")
    assert (chart["x"], chart["first"], chart["last"]) == ("step", 0, 999)
    one, two = chart["series"]
    assert (one["run"], one["metric"], one["rank"]) == ("one", "loss", 0)
    assert one["x"] == list(range(0, 1000, 100))
    assert sum(one["finite"]) == sum(two["finite"]) == 1000
    assert [column for column, value in enumerate(one["maximum"]) if value == 50] in ([6], [7])
    assert [column for column, value in enumerate(two["maximum"]) if value == 50] in ([2], [3])
    assert one["last"][-1] == 1 / 1000
    (zoomed,) = charted(headrace, two_runs, "one", "--metric", "loss", "--steps", "690:709")["series"]
    assert zoomed["x"] == list(range(690, 710)) and zoomed["maximum"][10] == 50
    (odd,) = charted(headrace, two_runs, "one", "--metric", "odd", "--columns", "4")["series"]
    assert sum(odd["finite"]) == sum(odd["not_finite"]) == 500


def test_relative_times_begin_at_the_first_point_of_each_run(headrace, two_runs):
    chart = charted(headrace, two_runs, "one", "two", "--x", "relative", "--columns", "50")
    assert chart["first"] == 0 and 0 < chart["last"] < 600e6
    assert {series["metric"] for series in chart["series"]} == {"loss", "odd"}
    assert all(sum(series["finite"] + series["not_finite"]) == 1000 for series in chart["series"])


def test_it_is_drawn_in_the_terminal_and_into_files(headrace, two_runs, tmp_path):
    shown = headrace("runs", "chart", two_runs, "one", "--metric", "loss").stdout.splitlines()
    assert shown[0] == "loss  one" and shown[1].split()[0] == "50" and shown[-1].strip() == "step 0 to 999"
    assert any("\u2800" < letter <= "\u28ff" for letter in shown[1])
    headrace("runs", "chart", two_runs, "one", "two", "--smooth", "0.9", "--log", "--to", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert page.count("<polyline") == 4 and "<script" not in page and ">two</text>" in page
    headrace("runs", "chart", two_runs, "--metric", "loss", "--to", tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert headrace("runs", "chart", two_runs, "--to", "-").stdout.startswith("<!DOCTYPE html>")


def test_what_cannot_be_drawn_is_told(headrace, two_runs):
    missing = headrace("runs", "chart", two_runs, "--metric", "nothing", check=False)
    assert missing.returncode == 1 and "no metric nothing was logged" in missing.stderr
    for steps in ("5", "9:1", "a:b"):
        refused = headrace("runs", "chart", two_runs, "--steps", steps, check=False)
        assert refused.returncode == 2 and "FIRST:LAST" in refused.stderr
    both = headrace("runs", "chart", two_runs, "--steps", "1:2", "--x", "time", check=False)
    assert both.returncode == 2 and "--steps needs --x step" in both.stderr
