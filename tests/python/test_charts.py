"""Charts of recorded runs as arrays: `headrace.chart`."""

import json
import math

import numpy as np
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


def test_columns_are_arrays_and_hold_every_point(two_runs):
    chart = hr.chart(two_runs, ["one", "two"], "loss", columns=10)
    one, two = chart.series
    assert (one.run, one.metric, one.rank, two.run) == ("one", "loss", 0, "two")
    assert chart.x.dtype == np.int64 and chart.x.tolist() == list(range(0, 1000, 100))
    for series in chart.series:
        assert {array.dtype for array in (series.minimum, series.maximum, series.last)} == {np.dtype("f8")}
        assert {array.dtype for array in (series.finite, series.not_finite)} == {np.dtype("i8")}
        assert series.finite.shape == (10,) and series.finite.sum() == 1000
    assert np.flatnonzero(one.maximum == 50)[0] in (6, 7)
    assert np.flatnonzero(two.maximum == 50)[0] in (2, 3)
    assert one.last[-1] == one.minimum[-1] == 1 / 1000


def test_the_arrays_are_those_of_the_command(headrace, two_runs):
    told = json.loads(
        headrace("runs", "chart", two_runs, "one", "--metric", "loss", "--columns", "70", "--json").stdout
    )
    (series,) = hr.chart(two_runs, "one", "loss", columns=70).series
    (same,) = told["series"]
    for name in ("minimum", "maximum", "last", "finite", "not_finite"):
        assert getattr(series, name).tolist() == same[name]


def test_steps_may_be_chosen_and_places_without_numbers_are_nan(two_runs):
    chart = hr.chart(two_runs, "one", "odd", first=690, last=1009)
    (odd,) = chart.series
    assert chart.x.tolist() == list(range(690, 1010))
    assert odd.last[1] == 1 and np.isnan(odd.last[0]) and np.isnan(odd.maximum[-1])
    assert odd.not_finite.sum() == odd.finite.sum() == 155


def test_the_newest_run_and_all_its_metrics_are_the_default(two_runs):
    chart = hr.chart(two_runs)
    assert [(series.run, series.metric) for series in chart.series] == [("two", "loss"), ("two", "odd")]


def test_times_have_units(two_runs):
    chart = hr.chart(two_runs, ["one", "two"], "loss", x="time", columns=5)
    assert chart.x.dtype == "datetime64[us]"
    assert abs(chart.x[0] - np.datetime64("now", "us")) < np.timedelta64(1, "D")
    chart = hr.chart(two_runs, ["one", "two"], "loss", x="relative", columns=5)
    assert chart.x.dtype == "timedelta64[us]" and chart.x[0] == np.timedelta64(0, "us")
    assert all(series.finite.sum() == 1000 for series in chart.series)


def test_a_notebook_shows_a_picture(two_runs):
    chart = hr.chart(two_runs, ["one", "two"], "loss")
    assert chart._repr_svg_().startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert chart._repr_svg_().count("<polyline") == 2
    assert chart.svg(smooth=0.9, log=True) != chart.svg()
    assert repr(chart) == "<headrace.Chart: 2 series of 1000 columns>"


def test_a_run_that_goes_on_is_read_as_far_as_it_is_stored(file_url):
    with hr.init(file_url, run_id="live") as run:
        run.log({"loss": 1.0}, step=0)
        run.flush()
        with pytest.raises(hr.Error, match="no "):
            hr.chart(file_url, "live", "acuracy")
    assert hr.chart(file_url, "live", "loss").series[0].finite.sum() == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": "epoch"}, "x is 'epoch'"),
        ({"x": "time", "first": 1}, "need x='step'"),
        ({"first": 2, "last": 1}, "after last"),
        ({"columns": 0}, "columns is 0"),
        ({"columns": 100_001}, "columns is 100001"),
        ({"runs": ["one"] * 21}, "21 runs"),
        ({"runs": []}, "0 runs"),
    ],
)
def test_arguments_out_of_range_are_refused(tmp_path, arguments, message):
    with pytest.raises(hr.errors.InvalidArgumentError, match=message):
        hr.chart(tmp_path, **arguments)


def test_what_is_not_there_is_not_found(two_runs, tmp_path):
    with pytest.raises(hr.errors.NotFoundError, match="no metric los was logged"):
        hr.chart(two_runs, "one", "los")
    with pytest.raises(hr.errors.NotFoundError, match="three"):
        hr.chart(two_runs, "three")
    with pytest.raises(hr.errors.NotFoundError, match="no run is recorded"):
        hr.chart(tmp_path)
