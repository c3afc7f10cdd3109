"""plan, execute, publish: whoever executes the tasks of a plan, and however often, the bytes are the same."""

import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest
from prepared_support import write_tables

FILES, ROWS = 12, 400
OPTIONS = ("--shard-records", "300", "--slice-size", "20kB")
SEED = int(os.environ.get("HEADRACE_SOAK_SEED", "44"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> pathlib.Path:
    """A table in many files: each a slice."""
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder, FILES, ROWS)
    return folder


@pytest.fixture(scope="module")
def expected(headrace, tables, tmp_path_factory) -> dict[str, bytes]:
    """The dataset that one process makes."""
    folder = tmp_path_factory.mktemp("expected") / "data"
    headrace("prepare", tables, folder, *OPTIONS)
    return content(folder)


def content(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def plan(headrace, tables, folder) -> int:
    return json.loads(headrace("plan", tables, folder, *OPTIONS, "--json").stdout)["read_tasks"]


def start(build, *arguments) -> subprocess.Popen:
    return subprocess.Popen(
        [build / "bin" / "headrace", *map(str, arguments), "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_tasks_by_number_in_any_order_and_twice(headrace, tables, expected, tmp_path):
    slices = plan(headrace, tables, tmp_path / "data")
    assert slices == FILES
    early = headrace("execute", tmp_path / "data", "--task", FILES, check=False)
    assert early.returncode == 1 and "12 of 12 slices have not been read yet" in early.stderr
    draw = random.Random(SEED)
    for task in draw.sample(range(slices), slices) + [3]:
        headrace("execute", tmp_path / "data", "--task", task)
    missing = headrace("publish", tmp_path / "data", check=False)
    assert missing.returncode == 1 and f"task {FILES} of" in missing.stderr
    shards = int(missing.stderr.split(" of ")[1].split()[0]) - slices
    for task in draw.sample(range(slices, slices + shards), shards):
        headrace("execute", tmp_path / "data", "--task", task)
    beyond = headrace("execute", tmp_path / "data", "--task", slices + shards, check=False)
    assert beyond.returncode == 1 and "there is no task" in beyond.stderr
    made = json.loads(headrace("publish", tmp_path / "data", "--json").stdout)
    assert made["counts"]["written"] == FILES * ROWS
    assert content(tmp_path / "data") == expected
    again = json.loads(headrace("publish", tmp_path / "data", "--json").stdout)
    assert again["was_published"] and again["manifest_digest"] == made["manifest_digest"]
    headrace("verify", tmp_path / "data")


def test_ranks_share_the_tasks(headrace, build, tables, expected, tmp_path):
    plan(headrace, tables, tmp_path / "data")
    ranks = [
        start(build, "execute", tmp_path / "data", "--rank", rank, "--world-size", 3) for rank in range(3)
    ]
    for rank in ranks:
        assert rank.wait(timeout=120) == 0, rank.stderr.read()
    headrace("publish", tmp_path / "data")
    assert content(tmp_path / "data") == expected


def test_a_rank_whose_others_do_not_come_says_so(headrace, tables, tmp_path):
    plan(headrace, tables, tmp_path / "data")
    options = ("--rank", "0", "--world-size", "2", "--patience", "1")
    done = headrace("execute", tmp_path / "data", *options, check=False)
    assert done.returncode == 1 and "task 1 and 5 others were left to other processes" in done.stderr


@pytest.mark.slow
def test_processes_share_by_leases_through_a_store(headrace, build, tables, expected, s3_url, tmp_path):
    plan(headrace, tables, f"{s3_url}/data")
    workers = [start(build, "execute", f"{s3_url}/data") for _ in range(4)]
    for worker in workers:
        assert worker.wait(timeout=120) == 0, worker.stderr.read()
    headrace("publish", f"{s3_url}/data")
    headrace("cp", "-r", f"{s3_url}/data", tmp_path / "copy")
    assert content(tmp_path / "copy") == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["file", "s3"])
def test_killed_processes_lose_their_leases_and_change_nothing(
    request, headrace, build, tables, expected, tmp_path, kind
):
    url = request.getfixturevalue(f"{kind}_url") + "/data"
    plan(headrace, tables, url)
    draw = random.Random(SEED)
    for _ in range(10):
        worker = start(build, "execute", url, "--lease", 2)
        time.sleep(draw.uniform(0.01, 0.2))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker.stderr.close()
    # The killed processes' leases last two seconds; this process executes the other tasks and then waits for
    # them.
    headrace("execute", url, "--workers", "2", "--lease", "2")
    headrace("publish", url)
    headrace("cp", "-r", url, tmp_path / "copy")
    assert content(tmp_path / "copy") == expected
    assert not [path for path in (tmp_path / "copy/_headrace/work").rglob("*") if path.is_file()]


def test_another_plan_is_refused(headrace, tables, tmp_path):
    plan(headrace, tables, tmp_path / "data")
    other = headrace("plan", tables, tmp_path / "data", "--seed", "45", check=False)
    assert other.returncode == 1 and "seed was 44 and is now 45" in other.stderr
    none = headrace("execute", tmp_path / "none", check=False)
    assert none.returncode == 1 and "headrace plan FROM TO" in none.stderr
