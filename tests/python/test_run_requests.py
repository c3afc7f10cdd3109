"""Requests of a run: docs/reference/run-requests.md."""

import time

import pytest

import headrace as hr


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(
    ("options", "start", "finish"),
    [
        ({"system_metrics_each": None}, 3, 1),  # the start, its catalog, the series; the end
        ({"run_id": "given", "system_metrics_each": None}, 4, 1),  # and whether the id is another run's
        ({"console": True, "system_metrics_each": None}, 4, 1),
    ],
)
def test_a_run_begins_and_ends_with_few_requests(s3_url, options, start, finish):
    store = hr.store(s3_url)

    def requests() -> int:
        return store.counters()["requests_total"]

    before = requests()
    run = hr.init(s3_url, **options)
    begun, at = requests(), time.monotonic()
    assert begun - before <= start
    for step in range(1000):
        run.log({"loss": 1 / (step + 1)})
        if "console" in options:
            print("step", step)
    run.finish()
    segments_and_pieces = 2 if "console" in options else 1
    of_a_slow_machine = 2 * int((time.monotonic() - at) // 10)  # one in ten seconds of each
    assert requests() - begun <= finish + segments_and_pieces + of_a_slow_machine
