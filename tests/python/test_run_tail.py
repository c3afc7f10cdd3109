"""`headrace runs tail` beside processes that log, end, fail and are killed."""

import json
import os
import pathlib
import signal
import sys

import pytest
from headrace.summary import Writer
from live_program import Program
from relay_support import Relay

import headrace as hr

# Logs what standard input says: "0 0.5" is a step and a loss. Its end ends the run.
LOGGER = """
import sys
import headrace as hr

run = hr.init(sys.argv[1], run_id=sys.argv[2], system_metrics_each=0.5)
print("begun", flush=True)
for line in sys.stdin:
    if line == "fail\\n":
        raise ValueError("my own fault")
    step, loss = line.split()
    run.log({"loss": float(loss), "other/thing": 1 / 3}, step=int(step))
    run.flush()
    print(line, end="", flush=True)
"""

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def start_logger():
    started: list[Program] = []

    def start(url: str, run: str) -> Program:
        logger = Program(sys.executable, "-c", LOGGER, url, run)
        started.append(logger)
        assert logger.line() == "begun"
        return logger

    yield start
    for logger in started:
        logger.__exit__()


def log(logger: Program, step: int, loss: float) -> None:
    logger.say(f"{step} {loss}")
    assert logger.line() == f"{step} {loss}"


def columns(line: str) -> list[str]:
    """The words of "step 3  TIME  loss=0.5" but for the time: ["3", "loss=0.5"]."""
    words = line.split()
    assert words[0] == "step" and words[2].startswith("20") and words[2].endswith("Z")
    return [words[1], *words[3:]]


@pytest.mark.exhaustive
def test_a_live_run_is_followed_while_its_store_comes_and_goes(build, s3_url, start_logger):
    relay = Relay(os.environ["AWS_ENDPOINT_URL_S3"].removeprefix("http://"))
    logger = start_logger(s3_url, "live")
    log(logger, 0, 0.5)
    command = [build / "bin/headrace", "runs", "tail", s3_url]
    with Program(*command, env={"AWS_ENDPOINT_URL_S3": relay.url}) as tail:
        assert columns(tail.line()) == ["0", "loss=0.5", "other/thing=0.333333"]
        log(logger, 1, 0.25)
        assert columns(tail.line()) == ["1", "loss=0.25", "other/thing=0.333333"]
        relay.close()
        assert "trying again" in tail.line("stderr")
        log(logger, 2, 0.125)
        relay.is_open = True
        assert "can be read again" in tail.line("stderr")
        assert columns(tail.line())[:2] == ["2", "loss=0.125"]
        log(logger, 3, 2)
        logger.process.stdin.close()
        lines = tail.rest()
        assert columns(lines[0])[:2] == ["3", "loss=2"]
        assert len(lines) == 2 and lines[1].startswith("the run live has finished after ")
        assert tail.code() == 0


def test_a_run_that_fails_ends_with_its_error(build, file_url, start_logger):
    logger = start_logger(file_url, "failing")
    command = [build / "bin/headrace", "runs", "tail", file_url, "fail", "--json", "--metric", "loss"]
    with Program(*command) as tail:
        log(logger, 7, 0.1)
        shown = json.loads(tail.line())
        assert shown.pop("time_us") > 1_700_000_000_000_000
        assert shown == {"run": "failing", "rank": 0, "step": 7, "metrics": {"loss": 0.1}}
        logger.say("fail")
        end, error = map(json.loads, tail.rest())
        assert end == {"run": "failing", "status": "failed", "error": "ValueError: my own fault"}
        assert "my own fault" in error["error"]["message"]
        assert tail.code() == 1


@pytest.mark.exhaustive
def test_a_killed_run_is_seen_on_its_machine_and_waited_for_elsewhere(
    build, file_url, start_logger, tmp_path
):
    logger = start_logger(file_url, "killed")
    log(logger, 1, 0.5)
    command = [build / "bin/headrace", "runs", "tail", file_url]
    elsewhere = {"XDG_STATE_HOME": str(tmp_path / "elsewhere")}
    with Program(*command) as here, Program(*command, env=elsewhere) as there:
        for tail in (here, there):
            assert columns(tail.line())[:2] == ["1", "loss=0.5"]
        logger.process.kill()
        assert here.code() == 1
        (error,) = here.rest("stderr")
        assert "has stopped without an end" in error and "headrace runs recover" in error
        assert there.process.poll() is None
        there.process.send_signal(signal.SIGINT)
        assert there.code() == 1
        assert any("the run goes on" in line for line in there.rest("stderr"))


def test_an_ended_run_shows_its_last_steps(headrace, file_url):
    with hr.init(file_url, run_id="ended", system_metrics_each=None) as run:
        for step in range(20):
            run.log({"loss": step / 2, **({"rare": 1.0} if step == 5 else {})}, step=step)
    lines = headrace("runs", "tail", file_url, "-n", "2").stdout.splitlines()
    assert [columns(line) for line in lines[:2]] == [["18", "loss=9"], ["19", "loss=9.5"]]
    assert len(lines) == 3
    rare = headrace("runs", "tail", file_url, "--metric", "rare").stdout.splitlines()
    assert columns(rare[0]) == ["5", "rare=1"]
    (end,) = headrace("runs", "tail", file_url, "--lines=0").stdout.splitlines()
    assert end.startswith("the run ended has finished")
    default = headrace("runs", "tail", file_url).stdout.splitlines()
    assert [columns(line)[0] for line in default[:-1]] == [str(step) for step in range(10, 20)]
    with pytest.raises(RuntimeError), hr.init(file_url, run_id="bad", system_metrics_each=None) as run:
        raise RuntimeError("no luck")
    failed = headrace("runs", "tail", file_url, check=False)
    assert failed.returncode == 1 and "the run bad has failed: RuntimeError: no luck" in failed.stderr
    stopped = hr.init(file_url, run_id="stopped", system_metrics_each=None)
    stopped._end_by(KeyboardInterrupt())
    failed = headrace("runs", "tail", file_url, "stopped", check=False)
    assert failed.returncode == 1 and "was stopped" in failed.stderr


@pytest.mark.exhaustive
def test_event_files_are_followed_too(build, file_url, tmp_path: pathlib.Path):
    run = hr.init(file_url, system_metrics_each=None)
    command = [build / "bin/headrace", "runs", "tail", file_url, "--json"]
    with Writer(str(tmp_path / "logs")) as writer, Program(*command) as tail:
        run.event_files(tmp_path / "logs", name="keras")
        for step in range(3):
            writer.scalar("loss", step / 2, step=step)
            writer.flush()
            shown = json.loads(tail.line())
            assert (shown["step"], shown["metrics"]) == (step, {"keras/loss": step / 2})
        run.finish()
        (end,) = map(json.loads, tail.rest())
        assert end["status"] == "finished"
        assert tail.code() == 0
