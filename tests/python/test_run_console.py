"""Lines that a run prints: hr.init(console=True) and `headrace runs console`."""

import json
import logging
import os
import signal
import subprocess
import sys
import time

import pytest

import headrace as hr

PROGRAM = """
import sys
import headrace as hr

run = hr.init(sys.argv[1], run_id="ended", console=True)
print("epoch", 1)
print("api_key=abcdef123456", file=sys.stderr)
sys.stdout.write("no end")
raise ValueError("no such luck")
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def lines(headrace, root, run, *options) -> list[tuple[str, str]]:
    shown = headrace("runs", "console", root, run, "--json", *options).stdout.splitlines()
    return [(line["stream"], line["text"]) for line in map(json.loads, shown)]


def test_what_is_printed_is_kept_until_the_run_is_finished(headrace, s3_url, capsys):
    handler = logging.StreamHandler(sys.stderr)  # before the run: it keeps the stream that it got
    print("before")
    with hr.init(s3_url, console=True) as run:
        print("one", end="")
        print(" and a half")
        sys.stderr.write("warning\n")
        sys.stdout.writelines(["two\n", "three\n"])
        handler.emit(logging.LogRecord("x", logging.INFO, "", 0, "past it", None, None))
        assert sys.stdout.encoding and sys.stdout.isatty() in (True, False)
        if (child := os.fork()) == 0:
            print("of the child")
            os._exit(0)
        os.waitpid(child, 0)
    print("after")
    assert lines(headrace, s3_url, run.id) == [
        ("stdout", "one and a half"),
        ("stderr", "warning"),
        ("stdout", "two"),
        ("stdout", "three"),
    ]
    shown = capsys.readouterr()
    assert shown.out == "before\none and a half\ntwo\nthree\nafter\n"
    text = headrace("runs", "console", s3_url, run.id, "--times").stdout.splitlines()
    assert text[0].endswith("Z  one and a half") and len(text) == 4
    series = json.loads(headrace("runs", "show", s3_url, run.id, "--json").stdout)["end"]["series"]
    assert {each["name"]: each["kind"] for each in series} == {
        "metrics": "metric_segments",
        "console": "console",
    }


def test_the_error_that_ends_a_program_is_kept_and_no_secret(headrace, file_url):
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, file_url], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1 and "no such luck" in ended.stderr
    kept = lines(headrace, file_url, "ended")
    assert kept[:2] == [("stdout", "epoch 1"), ("stderr", "api_key=***")]
    assert ("stderr", "ValueError: no such luck") in kept and ("stdout", "no end") in kept
    assert "abcdef123456" not in headrace("cat", f"{file_url}/_headrace/console/ended/**").stdout


def test_a_run_that_has_kept_nothing_says_so(headrace, file_url):
    with hr.init(file_url) as run:
        print("not kept")
    done = headrace("runs", "console", file_url, run.id, check=False)
    assert done.returncode == 1 and "hr.init(…, console=True)" in done.stderr


def test_attempts_and_ranks_have_consoles_of_their_own(headrace, file_url):
    for rank, text in ((0, "first"), (1, "other"), (0, "second")):
        with hr.init(file_url, run_id="job", rank=rank, world_size=2, console=True):
            print(text)
    assert lines(headrace, file_url, "job") == [("stdout", "first"), ("stdout", "second")]
    assert lines(headrace, file_url, "job", "--rank", "1") == [("stdout", "other")]


def test_verify_finds_a_flipped_bit(headrace, file_url, tmp_path):
    with hr.init(file_url, console=True):
        print("epoch 1")
    headrace("verify", file_url)
    (piece,) = (tmp_path / "store/_headrace/console").rglob("000000")
    piece.write_bytes(piece.read_bytes().replace(b"epoch 1", b"epoch 3"))
    done = headrace("verify", file_url, check=False)
    assert done.returncode == 1 and "BAD" in done.stdout and "000000" in done.stdout


@pytest.mark.exhaustive
def test_the_lines_of_a_killed_run_are_there_up_to_the_last_piece(headrace, file_url):
    program = PROGRAM.replace("raise", "print(flush=True)\nimport time\ntime.sleep(600)\nraise")
    process = subprocess.Popen([sys.executable, "-c", program, file_url], stdout=subprocess.PIPE, text=True)
    try:
        assert [process.stdout.readline() for _ in range(2)][1] == "no end\n"
        end = time.monotonic() + 60
        while not lines(headrace, file_url, "ended"):
            assert time.monotonic() < end
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert ("stdout", "no end") in lines(headrace, file_url, "ended")
