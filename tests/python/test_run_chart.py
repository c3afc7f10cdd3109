"""Charts of runs: `headrace runs chart`."""

import json
import math
import re

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
    one, two = chart["series"]
    assert (chart["x"], one["x_first"], one["x_last"]) == ("step", 0, 999)
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
    assert all(series["x_first"] == 0 and 0 < series["x_last"] < 600e6 for series in chart["series"])
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


def drawn_at(page: str) -> list[list[float]]:
    """Where the points of each line are, between 0 and 1."""
    return [
        [round((float(point.split(",")[0]) - 84) / 860, 3) for point in line.split()]
        for line in re.findall(r'<polyline points="([^"]*)"', page)
    ]


def labels(page: str) -> list[tuple[float, str]]:
    """The labels below the charts, and where they are."""
    found = re.findall(r'<text x="([^"]*)" y="350.0" text-anchor="middle">([^<]*)<', page)
    return [(round((float(x) - 84) / 860, 3), text) for x, text in found]


def test_each_metric_has_its_own_range_but_in_one_svg(headrace, file_url, tmp_path):
    with hr.init(file_url) as run:
        for step in range(0, 100_000, 100):
            run.log({"loss": 1 / (1 + step)}, step=step)
        for epoch in range(3):
            run.log({"val/loss": float(epoch)}, step=epoch)
    loss, val = charted(headrace, file_url)["series"]
    assert (loss["x_first"], loss["x_last"], len(loss["x"])) == (0, 99_900, 860)
    assert (val["x_first"], val["x_last"], val["x"]) == (0, 2, [0, 1, 2])
    shown = headrace("runs", "chart", file_url).stdout.splitlines()
    assert [line.strip() for line in shown if " step " in line] == ["step 0 to 99900", "step 0 to 2"]
    page = headrace("runs", "chart", file_url, "--to", "-").stdout
    assert drawn_at(page)[1] == [0, 0.5, 1]
    assert labels(page)[5:] == [(0, "0"), (0.5, "1"), (1, "2")]
    headrace("runs", "chart", file_url, "--to", tmp_path / "all.svg")
    assert len(drawn_at((tmp_path / "all.svg").read_text())[1]) == 1


def test_steps_that_are_left_out_draw_nothing_outside(headrace, file_url):
    with hr.init(file_url) as run:
        for step in (100, 101, 400):
            run.log({"loss": 1.0}, step=step)
    for steps, first, last, count in (
        (":50", 50, 50, 0),
        ("500:", 500, 500, 0),
        (":100", 100, 100, 1),
        ("101:", 101, 400, 2),
        ("-9000000000000000000:9000000000000000000", -9 * 10**18, 9 * 10**18, 3),
    ):
        (loss,) = charted(headrace, file_url, f"--steps={steps}")["series"]
        assert (loss["x_first"], loss["x_last"], sum(loss["finite"])) == (first, last, count)
        page = headrace("runs", "chart", file_url, f"--steps={steps}", "--to", "-").stdout
        assert labels(page)[0] == (0.5 if first == last else 0, str(first))
        assert labels(page)[-1][1] == str(last) and len(labels(page)) in (1, 5)


def test_values_that_are_nearly_equal_are_drawn(headrace, file_url):
    with hr.init(file_url) as run:
        for value in (1000.0, math.nextafter(1000.0, 2000.0)):
            run.log({"loss": value})
    shown = headrace("runs", "chart", file_url, "--log").stdout.splitlines()
    assert shown[0].startswith("loss") and len(shown) == 14
    assert "nan" not in headrace("runs", "chart", file_url, "--log", "--to", "-").stdout


def test_too_many_columns_are_refused(headrace, file_url):
    with hr.init(file_url) as run:
        run.log({f"metric {i}": 1.0 for i in range(21)})
    refused = headrace("runs", "chart", file_url, "--columns", "100000", "--json", check=False)
    assert refused.returncode != 0 and "ask for fewer columns" in refused.stderr


def test_times_that_no_calendar_has_are_left_out(headrace, all_packages, file_url, tmp_path):
    run = tmp_path / "mlruns/0/one"
    (run / "metrics").mkdir(parents=True)
    (run.parent / "meta.yaml").write_text("name: far\n")
    (run / "meta.yaml").write_text("run_id: one\nstart_time: 1000\nend_time: 2000\nstatus: 3\n")
    far = 9 * 10**15  # milliseconds
    (run / "metrics/loss").write_text(f"{-far} 1.0 0\n1000 2.0 1\n{far} 3.0 2\n")
    headrace("runs", "import", tmp_path / "mlruns", file_url)
    for axis in ("time", "relative"):
        (loss,) = charted(headrace, file_url, "--x", axis)["series"]
        assert loss["x_last"] - loss["x_first"] == (2**63 - 1) // 1000 * 2 and sum(loss["finite"]) == 1
        assert len(labels(headrace("runs", "chart", file_url, "--x", axis, "--to", "-").stdout)) == 5


def test_a_metric_that_would_be_read_whole_has_no_plot_if_it_is_large(headrace, file_url):
    with hr.init(file_url, system_metrics_each=None) as run:
        for i in range(1_000_001):
            run.log({"back": 1.0}, step=i ^ 1)
        for i in range(100):
            run.log({"small": 1.0}, step=i ^ 1)
    _, back, small = headrace("runs", "metrics", file_url).stdout.splitlines()
    assert back.split()[:2] == ["back", "1000001"] and "▁" not in back
    assert small.split()[0] == "small" and "▁" in small
