"""Runs of one's own programs: hr.init, run.log, `headrace runs metrics` and `headrace runs recover`."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import tfrecords

import headrace as hr
from headrace import errors

# Logs until it is killed; prints each step once `flush` has acknowledged it.
LOGGER = """
import sys
import headrace as hr

root, rank, ranks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
run = hr.init(root, run_id="killed", rank=rank, world_size=ranks)
step = 0
while True:
    run.log({"loss": step + rank / 10, f"only/{rank}": float(step)}, step=step)
    if step % 50 == 0:
        run.flush()
        print(step, flush=True)
    step += 1
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Where journals are: empty, and of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/headrace/metrics"


def points(headrace, root, run, metric) -> dict[int, list[tuple[int, float]]]:
    """rank → steps and values"""
    lines = headrace("runs", "metrics", root, run, "--metric", metric).stdout.splitlines()
    found: dict[int, list[tuple[int, float]]] = {}
    for rank, step, _, value in (line.split("\t") for line in lines):
        found.setdefault(int(rank), []).append((int(step), float(value)))
    return found


def test_what_is_logged_is_in_the_store_and_in_the_record(headrace, s3_url, state):
    config = {"lr": 1e-3, "optimizer": {"name": "adam"}}
    with hr.init(s3_url, name="first", config=config) as run:
        run.log({"loss": 0.5, "nested": {"accuracy": 0.25}})
        run.log({"loss": math.nan, "big": 2**60, "flag": True})
        run.log({"loss": 0.125}, step=10)
        run.log({"loss": 0.1})
        run.summary["best"] = 0.1
        run.config["optimizer"]["momentum"] = 0.9
        run.config["lr"] = 1e-4
    assert points(headrace, s3_url, run.id, "loss")[0][2:] == [(10, 0.125), (11, 0.1)]
    assert math.isnan(points(headrace, s3_url, run.id, "loss")[0][1][1])
    assert points(headrace, s3_url, run.id, "nested/accuracy") == {0: [(0, 0.25)]}
    assert points(headrace, s3_url, run.id, "big") == {0: [(1, float(2**60))]}
    record = json.loads(headrace("runs", "show", s3_url, run.id, "--json").stdout)
    assert record["status"] == "finished"
    parameters = {"lr": "0.001", "optimizer/name": "adam", "name": "first"}
    assert record["start"]["parameters"] == parameters
    assert record["end"]["parameters"] == {"lr": "0.0001", "optimizer/momentum": "0.9"}
    assert "lr = 0.0001\n" in headrace("runs", "show", s3_url, run.id).stdout
    assert record["end"]["metrics"]["loss"] == 0.1
    assert record["end"]["metrics"]["best"] == 0.1
    assert not list(state.iterdir())


def test_where_the_time_of_a_training_goes_is_logged(headrace, file_url, tmp_path):
    folder = tfrecords.write_numbered(tmp_path / "data", 100)
    with hr.init(file_url, system_metrics_each=3600) as run:
        loader = hr.open(folder).loader(batch_size=10, shuffle=False, columns={"number": hr.int64})
        run.log_loader(loader)
        time.sleep(0.2)
        assert sum(len(batch["number"]) for batch in loader) == 100
    shown = points(headrace, file_url, run.id, "loader/records_per_s")[0]
    assert len(shown) == 1 and 0 < shown[0][1] <= 100 / 0.2
    shares = [
        points(headrace, file_url, run.id, f"loader/{part}_percent")[0][0][1]
        for part in ("input", "hand_over", "compute")
    ]
    assert sum(shares) == pytest.approx(100) and min(shares) >= 0
    assert shares[1] == 0 and shares[2] > 0  # nothing was converted, and it slept
    record = json.loads(headrace("runs", "show", file_url, run.id, "--json").stdout)
    assert record["end"]["metrics"] == {}
    with pytest.raises(errors.InvalidArgumentError, match="before `finish`"):
        run.log_loader(loader)
    silent = hr.init(file_url, system_metrics_each=None)
    with silent, pytest.raises(errors.InvalidArgumentError, match="remove system_metrics_each=None"):
        silent.log_loader(loader)


def test_how_busy_the_machine_is_is_logged_beside(headrace, file_url, tmp_path, monkeypatch):
    gpus = tmp_path / "bin/nvidia-smi"
    gpus.parent.mkdir()
    gpus.write_text("#!/bin/sh\nprintf '40, 1024\\n7, 1\\n'\n")
    gpus.chmod(0o755)
    monkeypatch.setenv("PATH", f"{gpus.parent}:{os.environ['PATH']}")
    with hr.init(file_url, system_metrics_each=0.05) as run:
        run.log({"loss": 0.5})
        end = time.monotonic() + 60
        while "system/cpu_percent" not in run._native.last_values():
            assert time.monotonic() < end
            sum(range(100_000))
        run.log({"loss": 0.25})
        seen = run._native.last_values()
    assert points(headrace, file_url, run.id, "loss") == {0: [(0, 0.5), (1, 0.25)]}
    assert 0 < seen["system/cpu_percent"] <= 100 * (os.cpu_count() or 1) * 1.5
    assert 0 <= seen["system/machine_cpu_percent"] <= 100
    assert 1e6 < seen["system/resident_bytes"] < seen["system/machine_available_bytes"] * 100
    for rate in ("disk_read", "disk_write", "network_received", "network_sent"):
        assert seen[f"system/{rate}_bytes_per_s"] >= 0
    assert seen["system/gpu0_percent"] == 40 and seen["system/gpu1_used_bytes"] == 2**20
    record = json.loads(headrace("runs", "show", file_url, run.id, "--json").stdout)
    assert record["end"]["metrics"] == {"loss": 0.25}
    with hr.init(file_url, system_metrics_each=None) as alone:
        assert not any(thread.name == "headrace-system-metrics" for thread in threading.enumerate())
    assert alone.id != run.id
    with pytest.raises(errors.InvalidArgumentError, match="seconds, or None"):
        hr.init(file_url, system_metrics_each=-1.0)


@pytest.mark.slow
def test_media_are_in_event_files_that_the_record_names(headrace, s3_url, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    pixels = np.zeros((4, 6, 3), "uint8")
    with hr.init(s3_url) as run:
        run.log({"loss": 0.5, "sample": hr.Image(pixels)})
        run.log({"nested": {"weights": hr.Histogram([1.0, 2.0, 4.0])}, "note": hr.Text("# Hello")})
        run.log({"loss": 0.25})
        with pytest.raises(errors.InvalidArgumentError, match="channels"):
            run.log({"sample": hr.Image(np.zeros(3))})
        with pytest.raises(errors.InvalidArgumentError, match="words is not a number"):
            run.log({"words": "one two", "sample": hr.Image(pixels)})
    assert points(headrace, s3_url, run.id, "loss") == {0: [(0, 0.5), (2, 0.25)]}
    record = json.loads(headrace("runs", "show", s3_url, run.id, "--json").stdout)
    (series,) = (each for each in record["end"]["series"] if each["name"] == "media")
    assert series["kind"] == "event_files"
    headrace("cp", "-r", "-q", series["url"], tmp_path / "copy")
    seen = EventAccumulator(str(tmp_path / "copy"), size_guidance={"tensors": 0}).Reload()
    steps = {tag: [event.step for event in seen.Tensors(tag)] for tag in seen.Tags()["tensors"]}
    assert steps == {"sample": [0], "nested/weights": [1], "note": [1]}
    assert list(seen.Tensors("sample")[0].tensor_proto.string_val)[:2] == [b"6", b"4"]


def test_runs_are_compared(headrace, file_url):
    for run_id, rate, accuracy in (("one", 0.1, 0.5), ("two", 0.2, 0.75), ("three", 0.2, 0.625)):
        with hr.init(file_url, run_id=run_id, config={"rate": rate, "batch": 8}) as run:
            run.log({"accuracy": accuracy})
    compared = json.loads(headrace("runs", "compare", file_url, "one", "two", "--json").stdout)
    assert compared["runs"] == ["one", "two"]
    assert compared["metrics"] == {"accuracy": [0.5, 0.75]}
    assert compared["parameters"] == {"rate": ["0.1", "0.2"]} and compared["versions"] == {}
    whole = json.loads(headrace("runs", "compare", file_url, "one", "two", "--all", "--json").stdout)
    assert whole["parameters"] == {"batch": ["8", "8"], "rate": ["0.1", "0.2"]}
    lines = headrace("runs", "compare", file_url).stdout.splitlines()
    assert lines[0].split() == ["run", "two", "three"]
    assert "metric accuracy" in lines[3] and lines[3].split()[2:] == ["0.75", "0.625"]
    assert not any("rate" in line for line in lines)
    alone = headrace("runs", "compare", file_url, "one", check=False)
    assert alone.returncode == 1 and "at least two runs" in alone.stderr


def assert_duckdb_reads(parquet: os.PathLike, names: list[str]) -> None:
    """The points of run "two", whose odd values no JSON has."""
    import duckdb

    with duckdb.connect() as database:
        database.read_parquet(str(parquet)).create_view("points")
        sums = database.execute("select metric, sum(step) from points group by metric").fetchall()
        odd = database.execute("select value from points where metric = 'odd' order by step").fetchall()
        newest = database.execute("select max(epoch(time_us)) from points").fetchone()[0]
    assert sorted(sums) == sorted((name, 3) for name in [*names, "odd"])
    assert math.isnan(odd[0][0]) and odd[1][0] == math.inf and math.copysign(1, odd[2][0]) == -1
    assert abs(newest - time.time()) < 600


@pytest.mark.slow
def test_points_become_a_table(headrace, all_packages, file_url, s3_url, tmp_path):
    import pandas

    names = ["loss", 'a "b", c', "nested/x"]
    for run_id, shift in (("one", 0.1), ("two", 1e300)):
        with hr.init(file_url, run_id=run_id) as run:
            for step in range(3):
                run.log({name: step + shift for name in names} | {"odd": [math.nan, math.inf, -0.0][step]})
    headrace("runs", "export", file_url, tmp_path / "all.csv")
    headrace("runs", "export", file_url, f"{s3_url}/two.parquet", "two")
    whole = pandas.read_csv(tmp_path / "all.csv", dtype={"metric": str})
    assert len(whole) == 2 * 3 * 4 and set(whole["metric"]) == {*names, "odd"}
    one = whole[(whole["run"] == "one") & (whole["metric"] == names[1])]
    assert one["step"].tolist() == [0, 1, 2] and one["value"].tolist() == [0.1, 1.1, 2.1]
    (tmp_path / "two.parquet").write_bytes(hr.store(s3_url).read("two.parquet"))
    two = pandas.read_parquet(tmp_path / "two.parquet")
    assert set(two["run"]) == {"two"} and len(two) == 12
    odd = two[two["metric"] == "odd"]["value"].tolist()
    assert math.isnan(odd[0]) and odd[1] == math.inf and math.copysign(1, odd[2]) == -1
    assert abs(two["time_us"].iloc[0].timestamp() - time.time()) < 600
    assert_duckdb_reads(tmp_path / "two.parquet", names)
    refused = headrace("runs", "export", file_url, tmp_path / "all.xls", check=False)
    assert refused.returncode == 1 and "neither in .csv nor in .parquet" in refused.stderr


def test_names_may_have_anything_in_them(headrace, file_url):
    names = ["a b", "ü/é", 'quote"s\n', "../../up", "x" * 1024]
    with hr.init(file_url) as run:
        run.log({name: float(number) for number, name in enumerate(names)})
    listed = json.loads(headrace("runs", "metrics", file_url, run.id, "--verify", "--json").stdout)
    assert sorted(metric["name"] for metric in listed["metrics"]) == sorted(names)


@pytest.mark.parametrize(
    "values",
    [
        {"a": "text"},
        {"": 1.0},
        {"x" * 1025: 1.0},
        {3: 1.0},
        {"a": {"b": None}},
        {"\ud800": 1.0},
        {"a": 10**400},
        {"a": 1j},
    ],
)
def test_what_is_no_number_or_name_is_refused(file_url, values):
    with hr.init(file_url) as run, pytest.raises(errors.InvalidArgumentError):
        run.log(values)


@pytest.mark.parametrize("step", [1.5, "7", math.nan, 2**63, -(2**63) - 1])
def test_a_step_that_is_no_integer_is_refused_and_changes_nothing(headrace, file_url, step):
    with hr.init(file_url) as run:
        run.log({"a": 1.0})
        with pytest.raises(errors.InvalidArgumentError, match="the step is"):
            run.log({"a": 2.0}, step=step)
        run.log({"a": 3.0})
        run.log({"a": 4.0}, step=np.int64(-(2**63)))
    assert points(headrace, file_url, run.id, "a") == {0: [(0, 1.0), (1, 3.0), (-(2**63), 4.0)]}


def test_a_finished_run_takes_no_more(file_url):
    run = hr.init(file_url)
    run.finish()
    run.finish()
    with pytest.raises(errors.InvalidArgumentError, match="finished"):
        run.log({"a": 1.0})


def test_an_exception_is_why_it_failed(headrace, file_url):
    with pytest.raises(ZeroDivisionError), hr.init(file_url) as run:
        run.log({"a": 1 / 0})
    record = json.loads(headrace("runs", "show", file_url, run.id, "--json").stdout)
    assert record["status"] == "failed"
    assert record["end"]["error"] == "ZeroDivisionError: division by zero"


def test_a_program_that_does_not_finish_its_run_ends_it(headrace, file_url):
    program = "import sys, headrace as hr\nrun = hr.init(sys.argv[1], run_id='{}')\nrun.log(dict(a=1.0))\n{}"
    for name, end, status in [("well", "", "finished"), ("badly", "raise ValueError('why')", "failed")]:
        command = [sys.executable, "-c", program.format(name, end), file_url]
        subprocess.run(command, capture_output=True, timeout=60, check=status == "finished")
        record = json.loads(headrace("runs", "show", file_url, name, "--json").stdout)
        assert record["status"] == status
        assert points(headrace, file_url, name, "a") == {0: [(0, 1.0)]}


def start_logger(root, rank, ranks):
    command = [sys.executable, "-c", LOGGER, root, str(rank), str(ranks)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def kill_after(process, lines) -> int:
    """The last step that was acknowledged."""
    for _ in range(lines):
        acknowledged = process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = process.communicate(timeout=60)[0].split("\n")
    whole = [line for line in rest[:-1] if line]
    return int(whole[-1] if whole else acknowledged)


def test_ranks_that_are_killed_lose_nothing_that_was_acknowledged(headrace, s3_url, state):
    loggers = [start_logger(s3_url, rank, 4) for rank in range(4)]
    steps = [kill_after(process, 3 + 5 * rank) for rank, process in enumerate(loggers)]
    headrace("runs", "recover")  # unless a rank that started later has done it
    headrace("runs", "metrics", s3_url, "killed", "--verify")
    read = points(headrace, s3_url, "killed", "loss")
    for rank, last in enumerate(steps):
        assert [step for step, _ in read[rank]] == list(range(len(read[rank])))
        assert len(read[rank]) > last
        assert all(value == step + rank / 10 for step, value in read[rank])
    assert json.loads(headrace("runs", "recover", "--json").stdout)["recovered"] == []
    assert not list(state.iterdir())


def test_the_next_run_writes_what_a_killed_one_has_left(headrace, file_url, state):
    last = kill_after(start_logger(file_url, 0, 1), 3)
    with hr.init(file_url):
        end = time.monotonic() + 60
        while len(list(state.iterdir())) > 1 and time.monotonic() < end:
            time.sleep(0.05)
    assert len(points(headrace, file_url, "killed", "loss")[0]) > last


def test_a_later_attempt_counts_from_its_step_on(headrace, file_url):
    for attempt, (from_step, steps) in enumerate([(None, range(0, 6)), (4, range(4, 8))]):
        with hr.init(file_url, run_id="again", from_step=from_step) as run:
            for step in steps:
                run.log({"loss": step + attempt / 10}, step=step)
    values = points(headrace, file_url, "again", "loss")[0]
    assert values == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0), (4, 4.1), (5, 5.1), (6, 6.1), (7, 7.1)]


def test_a_store_that_is_gone_stops_nobody(headrace, file_url, tmp_path, state):
    root = tmp_path / "store"
    run = hr.init(file_url)
    run.log({"loss": 1.0})
    root.rename(tmp_path / "away")
    root.write_text("no folder")
    run.log({"loss": 2.0})
    with pytest.raises(errors.Error):
        run.finish(timeout=0.5)
    assert list(state.iterdir())
    root.unlink()
    (tmp_path / "away").rename(root)
    name = run.id
    del run  # lets the journal go
    headrace("runs", "recover")
    assert points(headrace, file_url, name, "loss") == {0: [(0, 1.0), (1, 2.0)]}


def test_a_flipped_bit_is_found(headrace, file_url, tmp_path):
    with hr.init(file_url) as run:
        for step in range(500):
            run.log({"loss": 1 / (step + 3)})
    (segment,) = (tmp_path / "store/_headrace/metrics" / run.id).glob("*/000000")
    whole = segment.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 20)):
        segment.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        done = headrace("runs", "metrics", file_url, run.id, "--verify", check=False)
        assert done.returncode != 0, place
        assert "000000" in done.stderr


def test_a_forked_child_is_refused(file_url):
    with hr.init(file_url) as run:
        child = os.fork()
        if child == 0:
            try:
                run.log({"a": 1.0})
            except errors.FailedPreconditionError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        run.log({"a": 2.0})


def test_a_run_that_lacks_metrics_says_so(headrace, file_url):
    with hr.init(file_url) as run:
        pass
    done = headrace("runs", "metrics", file_url, run.id, check=False)
    assert done.returncode != 0
    assert "has logged no metrics" in done.stderr


@pytest.mark.slow
def test_keras_logs_its_metrics(headrace, file_url):
    import keras
    import numpy as np

    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", metrics=["mae"])
    numbers = np.random.default_rng(1).normal(size=(64, 2))
    with hr.init(file_url) as run:
        tracking = hr.keras.Track(run, every=2)
        arguments = {"batch_size": 16, "validation_split": 0.5, "verbose": 0, "callbacks": [tracking]}
        first = model.fit(numbers, numbers[:, :1], epochs=2, **arguments).history
        second = model.fit(numbers, numbers[:, :1], epochs=1, **arguments).history
    losses = points(headrace, file_url, run.id, "loss")[0]
    assert losses == list(zip([2, 4, 6], first["loss"] + second["loss"], strict=True))
    assert [value for _, value in points(headrace, file_url, run.id, "val_mae")[0]] == (
        first["val_mae"] + second["val_mae"]
    )
    assert [step for step, _ in points(headrace, file_url, run.id, "batch/mae")[0]] == [2, 4, 6]
