"""`headrace tensorboard` of a folder of runs: the stock TensorBoard shows the metrics of their segments."""

import json
import urllib.parse
import urllib.request

import numpy as np
import pytest
from headrace.summary import Writer
from tensorboard_support import headrace_tensorboard, wait_until

import headrace as hr

METRICS = "_headrace/metrics"

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.exhaustive
def test_metric_segments_are_shown_beside_event_files(build, headrace, s3_url, tmp_path):
    values = [1 / (step + 1) for step in range(200)]
    with hr.init(s3_url, run_id="done", system_metrics_each=None) as run:
        for step, value in enumerate(values):
            run.log({"loss": value, "nested": {"deep": float(step)}}, step=step)
    for attempt, from_step, steps in ((0, None, range(6)), (1, 4, range(4, 8))):
        with hr.init(s3_url, run_id="again", from_step=from_step, system_metrics_each=None) as run:
            for step in steps:
                run.log({"loss": step + attempt / 2}, step=step)
                if attempt == 0:  # the later attempt supersedes it, though it does not log it
                    run.log({"first": step}, step=step)
    for rank in (0, 1):
        with hr.init(s3_url, run_id="ranks", rank=rank, world_size=2, system_metrics_each=None) as run:
            run.log({"loss": float(rank)}, step=0)
    with Writer(f"{s3_url}/events") as writer:
        writer.scalar("noise", 0.5, step=1)
    live = hr.init(s3_url, run_id="live", system_metrics_each=None)
    live.log({"loss": 0.5}, step=3)

    with headrace_tensorboard(build, s3_url, tmp_path / "errors") as (_, address):

        def ask(path: str, **query: str):
            with urllib.request.urlopen(
                f"{address}data/plugin/scalars/{path}?{urllib.parse.urlencode(query)}"
            ) as it:
                return json.load(it)

        def points(run: str, tag: str = "loss") -> list[tuple[int, float]]:
            return [(step, value) for _, step, value in ask("scalars", run=f"{METRICS}/{run}", tag=tag)]

        expected = {
            f"{METRICS}/done": {"loss", "nested/deep"},
            f"{METRICS}/again": {"loss", "first"},
            f"{METRICS}/ranks": {"loss"},
            f"{METRICS}/ranks/rank-1": {"loss"},
            f"{METRICS}/live": {"loss"},
            "events": {"noise"},
        }

        def tags() -> dict[str, set[str]]:
            return {run: set(of_run) for run, of_run in ask("tags").items()}

        wait_until(lambda: tags() == expected, f"all runs; {(tmp_path / 'errors').read_text()}")
        assert points("done") == [(step, float(np.float32(value))) for step, value in enumerate(values)]
        assert points("again") == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4.5), (5, 5.5), (6, 6.5), (7, 7.5)]
        assert points("again", "first") == [(0, 0), (1, 1), (2, 2), (3, 3)]
        assert points("ranks/rank-1") == [(0, 1)]
        lines = headrace("runs", "metrics", s3_url, "done", "--metric", "loss").stdout.splitlines()
        times = [float(line.split("\t")[2]) for line in lines]
        assert [time for time, _, _ in ask("scalars", run=f"{METRICS}/done", tag="loss")] == times

        live.log({"loss": 0.25}, step=4)
        wait_until(lambda: points("live") == [(3, 0.5), (4, 0.25)], "the new point of the live run")
        live.finish()
