"""Runs that are disturbed: ranks that are killed again and again, stores that refuse, secrets."""

import csv
import json
import os
import pathlib
import random
import signal
import subprocess
import sys

import boto3
import pytest

import headrace as hr

SECONDS = 120
RANKS = 4
# Logs until it is killed; prints each step once `flush` has acknowledged it. Each attempt has a metric of its
# own, so that a point of any of them that is lost or counted twice shows.
LOGGER = """
import sys
import headrace as hr

root, rank, ranks, attempt = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
run = hr.init(root, run_id="killed", rank=rank, world_size=ranks, system_metrics_each=None)
step = 0
while True:
    run.log({f"attempt/{attempt}": step + rank / 10}, step=step)
    if step % 50 == 0:
        run.flush()
        print(step, flush=True)
    step += 1
"""
BEGIN = "import sys, headrace as hr\nhr.init(sys.argv[1])"
OF_A_REPOSITORY = """
import sys
import headrace as hr
import numpy

with hr.init(sys.argv[1], run_id="mine", config={"api_key": "canary-a", "lr": 0.5}, console=True) as run:
    print("password=canary-c")
    run.log({"loss": 1.0})
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch) -> pathlib.Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/headrace/metrics"


def run_program(*words, env=None, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        **options,
    )


def killed_after(process, acknowledgements: int) -> int:
    """The last step that was acknowledged."""
    lines = [process.stdout.readline() for _ in range(acknowledgements)]
    process.send_signal(signal.SIGKILL)
    lines += process.communicate(timeout=SECONDS)[0].splitlines(keepends=True)
    return int([line for line in lines if line.endswith("\n")][-1])


@pytest.mark.slow
@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.soak)])
def test_four_ranks_that_are_killed_again_and_again_have_each_point_once(headrace, s3_url, tmp_path, kills):
    seed = int(os.environ.get("HEADRACE_SOAK_SEED", "1"))
    draw = random.Random(seed)
    acknowledged: dict[tuple[int, int], int] = {}  # attempt and rank → step
    for attempt in range(kills // RANKS):
        program = [sys.executable, "-c", LOGGER, s3_url]
        loggers = [
            subprocess.Popen(
                [*program, str(rank), str(RANKS), str(attempt)], stdout=subprocess.PIPE, text=True
            )
            for rank in range(RANKS)
        ]
        for rank, logger in enumerate(loggers):
            acknowledged[attempt, rank] = killed_after(logger, draw.randint(1, 20))
    headrace("runs", "recover")
    assert json.loads(headrace("runs", "recover", "--json").stdout)["recovered"] == []
    headrace("verify", s3_url)
    headrace("runs", "export", s3_url, tmp_path / "all.csv", "killed")
    found: dict[tuple[int, int], list[tuple[int, float]]] = {key: [] for key in acknowledged}
    with open(tmp_path / "all.csv", newline="") as file:
        for row in csv.DictReader(file):
            attempt = int(row["metric"].removeprefix("attempt/"))
            found[attempt, int(row["rank"])].append((int(row["step"]), float(row["value"])))
    for (attempt, rank), last in acknowledged.items():
        points = found[attempt, rank]
        assert len(points) > last, (seed, attempt, rank)
        assert points == [(step, step + rank / 10) for step in range(len(points))], (seed, attempt, rank)


def test_without_credentials_it_says_what_is_missing(s3_url, tmp_path):
    environment = {
        "AWS_ACCESS_KEY_ID": "",
        "AWS_SECRET_ACCESS_KEY": "",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }
    done = run_program("-c", BEGIN, s3_url, env=environment)
    assert done.returncode == 1
    assert "headrace.errors." in done.stderr and "AWS_ACCESS_KEY_ID" in done.stderr, done.stderr


def test_a_bucket_that_may_only_be_read_refuses_runs_and_shows_them(headrace, s3_url, tmp_path):
    with hr.init(s3_url, run_id="there") as run:
        run.log({"loss": 0.5})
    reading = [
        {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::*"]}
    ]
    keys = boto3.client(
        "sts", endpoint_url=os.environ["AWS_ENDPOINT_URL_S3"], region_name="us-east-1"
    ).assume_role(
        RoleArn="arn:aws:iam::1:role/x",
        RoleSessionName="test",
        DurationSeconds=900,
        Policy=json.dumps({"Version": "2012-10-17", "Statement": reading}),
    )["Credentials"]
    reader = {
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
    }
    refused = run_program("-c", BEGIN, s3_url, env=reader)
    assert refused.returncode == 1
    assert "PermissionDeniedError" in refused.stderr and s3_url in refused.stderr, refused.stderr
    assert not list((tmp_path / "state/headrace/metrics").glob("*"))
    shown = headrace("runs", "metrics", s3_url, "there", "--metric", "loss", env=reader).stdout
    assert shown.split()[-1] == "0.5"
    listed = json.loads(headrace("runs", "ls", s3_url, "--json", env=reader).stdout)
    assert [each["id"] for each in listed["runs"]] == ["there"]


def test_the_commit_and_the_packages_are_kept_and_no_secret(headrace, file_url, tmp_path):
    program = tmp_path / "repository/train.py"
    program.parent.mkdir()
    program.write_text(OF_A_REPOSITORY)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", program.parent]
    for words in (["init", "-q"], ["add", "train.py"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True, timeout=SECONDS)
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()

    def versions() -> dict[str, str]:
        done = run_program(program, file_url, "--token", "canary-b", env={"WANDB_API_KEY": "canary-d"})
        assert done.returncode == 0, done.stderr
        return json.loads(headrace("runs", "show", file_url, "mine", "--json").stdout)["start"]["versions"]

    seen = versions()
    assert seen["git"] == commit
    assert {"headrace", "python", "numpy"} <= set(seen)
    assert all(isinstance(version, str) and len(version) <= 64 for version in seen.values())
    program.write_text(OF_A_REPOSITORY + "\n")
    assert versions()["git"] == f"{commit} with changes"
    kept = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert kept and not [path for path in kept if b"canary" in path.read_bytes()]


def test_names_and_settings_may_have_anything_in_them(headrace, file_url):
    odd = "a\n\x1b[31m/../\u00e9\0 'q\"\\"
    config = {odd: odd, "": 1, "k" * 3000: "v" * 100_000, "lone": "\ud800", "set": {1}, "nan": float("nan")}
    with hr.init(file_url, run_id="odd", name=odd, config=config) as run:
        run.log({odd: 1.0})
        run.config["late"] = "\udcff"
    shown = json.loads(headrace("runs", "show", file_url, "odd", "--json").stdout)
    parameters = shown["start"]["parameters"]
    assert parameters["name"] == parameters[odd] == odd
    assert parameters["lone"] == r"\ud800" and shown["end"]["parameters"] == {"late": r"\udcff"}
    for command in (["ls"], ["show"], ["metrics"], ["compare", "odd", "odd"]):
        done = headrace("runs", command[0], file_url, *command[1:])
        assert "\x1b" not in done.stdout and "\0" not in done.stdout, command
    headrace("verify", file_url)


def test_words_of_the_command_line_that_are_no_text_are_kept(headrace, file_url):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN, file_url, b"data-\xff.csv"],
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(headrace("runs", "ls", file_url, "--json").stdout)["runs"]
    assert run["start"]["command_line"][-1] == r"data-\udcff.csv"
