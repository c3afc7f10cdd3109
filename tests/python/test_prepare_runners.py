"""prepare --runner: whoever executes the tasks of a plan, and whoever is killed, the bytes are the same."""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from prepared_support import write_tables

FILES, ROWS = 40, 200
PLAN = ("--shard-records", "300", "--slice-size", "10kB", "--report", "all")
OPTIONS = (*PLAN, "--max-rejects", "1%")
WAIT_S = 120


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> pathlib.Path:
    """A table in many files, each a slice; in every fifth a row that is rejected."""
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder, FILES, ROWS, bad_each=5)
    return folder


def digests(folder: pathlib.Path) -> dict[str, str]:
    """SHA-256 of every object, but for the records of runs; manifests and entries of ownership without what
    tells who made them, and without their CRC."""
    out = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        data = path.read_bytes()
        if name.startswith("_headrace/runs/"):
            continue
        if name.startswith("_headrace/manifest"):
            manifest = json.loads(data)
            is_entry = manifest["format"] == "headrace.ownership"
            assert manifest.pop("actor" if is_entry else "created_by") and manifest.pop("zz_crc32c")
            data = json.dumps(manifest, sort_keys=True).encode()
        out[name] = hashlib.sha256(data).hexdigest()
    return out


@pytest.fixture(scope="module")
def expected(headrace, tables, tmp_path_factory) -> dict[str, str]:
    """The dataset that one thread makes."""
    folder = tmp_path_factory.mktemp("expected") / "data"
    headrace("prepare", tables, folder, *OPTIONS, "--runner", "local:1")
    out = digests(folder)
    assert sum(name.endswith(".tfrecord.gz") for name in out) > 20
    assert sum(name.startswith("_headrace/report/") for name in out) > 20
    return out


@pytest.fixture
def copied(headrace, tmp_path):
    """The digests of what lies at a URL."""

    def run(url: str) -> dict[str, str]:
        headrace("cp", "-r", url, tmp_path / "copy")
        return digests(tmp_path / "copy")

    return run


@pytest.fixture
def start(build):
    """Starts the command; what still runs at the end of the test is killed."""
    running = []

    def run(*arguments, env: dict[str, str] | None = None) -> subprocess.Popen:
        process = subprocess.Popen(
            [build / "bin" / "headrace", *map(str, arguments), "--quiet"],
            env={**os.environ, **(env or {})},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def wait_until(condition, running: list[subprocess.Popen] | None = None) -> None:
    """Until it is so, while all of `running` run."""
    end = time.monotonic() + WAIT_S
    while not condition():
        for process in running or []:
            assert process.poll() is None, f"ended with {process.returncode}: {process.communicate()[1]}"
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def lives(process: str) -> bool:
    """Whether it is there, and no zombie."""
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except (FileNotFoundError, ProcessLookupError):
        return False


def succeed(*processes: subprocess.Popen) -> None:
    for process in processes:
        _, errors = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0, errors


def test_seven_threads(headrace, tables, expected, tmp_path):
    headrace("prepare", tables, tmp_path / "data", *OPTIONS, "--runner", "local:7")
    assert digests(tmp_path / "data") == expected


def test_ranks_that_a_scheduler_numbered(start, tables, expected, tmp_path):
    command = ("prepare", tables, tmp_path / "data", *OPTIONS, "--runner", "ranks")
    succeed(*[start(*command, env={"RANK": str(rank), "WORLD_SIZE": "3"}) for rank in range(3)])
    assert digests(tmp_path / "data") == expected


def test_a_rank_with_other_options_is_told_which_differ(headrace, tables, tmp_path):
    headrace("plan", tables, tmp_path / "data", *PLAN)
    env = {"RANK": "1", "WORLD_SIZE": "2"}
    command = ("prepare", tables, tmp_path / "data", *OPTIONS, "--runner", "ranks")
    other = headrace(*command, "--seed", "45", env=env, check=False)
    assert other.returncode == 1 and "seed was 44 and is now 45" in other.stderr
    alone = headrace(*command, "--patience", "1", env=env, check=False)
    assert alone.returncode == 1 and "were left to other processes" in alone.stderr
    nobody = headrace(*command, env={"RANK": ""}, check=False)
    assert nobody.returncode == 1 and "no scheduler says which rank this is" in nobody.stderr


@pytest.fixture(scope="module")
def hanging_map(tmp_path_factory) -> pathlib.Path:
    """The folder of a map that changes nothing, and never returns where HANG is set."""
    folder = tmp_path_factory.mktemp("maps")
    text = """
import os, time

def same(row):
    time.sleep(1000 if "HANG" in os.environ else 0)
    return row
"""
    (folder / "hanging.py").write_text(text)
    return folder


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["file", pytest.param("s3", marks=pytest.mark.slow)])
def test_the_same_command_anywhere_at_any_time(
    request, headrace, start, tables, hanging_map, copied, tmp_path, kind
):
    url = request.getfixturevalue(f"{kind}_url") + "/data"
    schema = tmp_path / "schema.toml"
    schema.write_text(headrace("prepare", tables, url, "--print-schema").stdout)  # plans call no map then
    mapped = ("--map", "hanging:same", "--map-timeout", "900", "--workers", "1")
    options = (*OPTIONS, *mapped, "--schema", schema)
    works = {"PYTHONPATH": os.pathsep.join([str(hanging_map), *sys.path])}
    headrace("prepare", tables, tmp_path / "alone", *options, "--runner", "local:1", env=works)
    command = ("prepare", tables, url, *options, "--runner", "store", "--lease", "5")
    # Two hold a lease each, for ever, and die: what they held is taken over five seconds later.
    doomed = [start(*command, env=works | {"HANG": "1"}) for _ in range(2)]
    wait_until(lambda: headrace("ls", "-r", url, check=False).stdout.count("/lease-") == len(doomed), doomed)
    others = [start(*command, env=works) for _ in range(2)]
    wait_until(lambda: "/slice-" in headrace("ls", "-r", url).stdout, doomed + others)
    for process in doomed:
        process.send_signal(signal.SIGKILL)
    succeed(*others)
    assert copied(url) == digests(tmp_path / "alone")
    again = json.loads(headrace(*command, "--json", env=works).stdout)
    assert again["was_published"] and again["counts"]["rejected"] == FILES // 5
    assert not [line for line in headrace("ls", "-r", url).stdout.splitlines() if "/work/" in line]


def test_what_cannot_go_together_is_refused_at_once(headrace, tables, tmp_path):
    def refused(*options) -> str:
        done = headrace("prepare", tables, tmp_path / "data", *options, check=False)
        assert done.returncode == 2
        return done.stderr

    assert "headrace plan --overwrite once" in refused("--runner", "store", "--overwrite")
    assert "must be local, local:THREADS, store" in refused("--runner", "local:0")
    assert "must be key=value" in refused("--runner", "ray", "--runner-option", "num_cpus")
    assert "is for --runner ray and beam" in refused("--runner-option", "a=b")
    assert not (tmp_path / "data").exists()


def test_a_list_of_tasks_says_what_is_left(headrace, tables, tmp_path):
    def execute(*options, check=True):
        return headrace("execute", tmp_path / "data", "--max-rejects", "1%", *options, check=check)

    def look() -> dict:
        return json.loads(execute("--list", "--json").stdout)

    headrace("plan", tables, tmp_path / "data", *PLAN)
    execute("--task", f"5-{FILES - 1}", "--task", "2")
    assert look()["unread"] == [0, 1, 3, 4] and look()["write_tasks"] is None
    execute("--task", "0-4")
    state = look()
    shards = state["write_tasks"]
    assert state["unread"] == [] and state["undone"] == list(range(FILES, FILES + shards))
    execute("--task", f"{FILES}-{FILES + shards - 2}")
    assert look()["undone"] == [FILES + shards - 1]
    beyond = execute("--task", FILES + shards, "--json", check=False)
    assert beyond.returncode == 1
    assert json.loads(beyond.stdout)["error"]["code"] == "OUT_OF_RANGE"
    execute()
    headrace("publish", tmp_path / "data", "--max-rejects", "1%")
    execute("--task", "0-3", "--task", FILES)  # there is nothing left to be done
    assert look()["published"] and look()["undone"] == []
    wrong = execute("--task", "9-3", check=False)
    assert wrong.returncode == 2 and "a range such as 3-9" in wrong.stderr


@pytest.mark.exhaustive
def test_beam(headrace, engines, tables, expected, tmp_path):
    env = {"HEADRACE_PYTHON": str(engines)}
    command = ("prepare", tables, tmp_path / "data", *OPTIONS, "--runner", "beam:DirectRunner")
    made = json.loads(headrace(*command, "--json", env=env).stdout)
    assert made["counts"]["rejected"] == FILES // 5
    assert digests(tmp_path / "data") == expected


@pytest.fixture
def cluster(engines, root, tmp_path, build):
    """A cluster of Ray, on whose nodes the program waits until `tmp_path / "open"` is there."""
    program = tmp_path / "gated/bin/headrace"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\ntouch "{tmp_path}/started-$PPID-$$"\n'
        f'while [ ! -e "{tmp_path}/open" ]; do sleep 0.05; done\nexec "{build}/bin/headrace" "$@"\n'
    )
    program.chmod(0o755)
    process = subprocess.Popen(
        [engines, root / "tests/python/ray_cluster.py"],
        env={**os.environ, "HEADRACE_BUILD": str(program.parents[1]), "RAY_USAGE_STATS_ENABLED": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    (tmp_path / "open").touch()
    process.communicate(timeout=WAIT_S)


@pytest.mark.exhaustive
def test_ray_that_loses_a_node(start, engines, cluster, tables, expected, tmp_path):
    address = cluster.stdout.readline().strip()
    assert address, "no cluster"
    env = {"HEADRACE_PYTHON": str(engines), "RAY_ADDRESS": address}
    job = start("prepare", tables, tmp_path / "data", *OPTIONS, "--runner", "ray", env=env)

    def started() -> int:
        return len(list(tmp_path.glob("started-*")))

    wait_until(lambda: started() == 3 or job.poll() is not None)  # one on each node
    cluster.stdin.write("remove\n")
    cluster.stdin.flush()
    assert cluster.stdout.readline() == "removed\n"
    workers = [path.name.split("-")[1] for path in tmp_path.glob("started-*")]
    wait_until(lambda: not all(map(lives, workers)))
    (tmp_path / "open").touch()
    succeed(job)
    assert digests(tmp_path / "data") == expected
    shards = sum(name.endswith(".tfrecord.gz") for name in expected)
    assert started() > FILES + shards  # the lost node's task was begun again


@pytest.mark.parametrize("runner", [pytest.param("ray", marks=pytest.mark.soak), "beam"])
@pytest.mark.exhaustive
def test_engines_pass_on_why_a_task_failed(headrace, engines, tables, tmp_path, runner):
    env = {"HEADRACE_PYTHON": str(engines)}
    command = ("prepare", tables, tmp_path / "data", *PLAN, "--runner", runner, "--max-rejects")
    rejected = headrace(*command, "0", env=env, check=False)
    assert rejected.returncode == 1
    assert rejected.stderr.splitlines()[-1].startswith(f"headrace: {runner}: on ")
    assert (
        "row 202 is rejected: wrong number of cells" in rejected.stderr and "Traceback" not in rejected.stderr
    )
    nowhere = {**env, "HEADRACE_BUILD": str(tmp_path / "none")}
    missing = headrace(*command, "1%", env=nowhere, check=False)
    assert missing.returncode == 1 and "the program is neither in" in missing.stderr


def test_an_engine_that_is_not_installed_is_named_with_the_remedy(headrace, tables, tmp_path):
    for runner, package in (("ray", "ray"), ("beam:DirectRunner", "apache-beam")):
        done = headrace(
            "prepare", tables, tmp_path / runner, *OPTIONS, "--runner", runner,
            env={"HEADRACE_PYTHON": sys.executable}, check=False,
        )  # fmt: skip
        assert done.returncode == 1 and f"{sys.executable} -m pip install {package}" in done.stderr


def test_faults_that_may_pass_are_told_from_those_that_stay(tmp_path, monkeypatch):
    from headrace._src.runners.tasks import Plan, TaskError, TransientTaskError, groups, message_of

    program = tmp_path / "bin/headrace"
    program.parent.mkdir()
    monkeypatch.setenv("HEADRACE_BUILD", str(tmp_path))

    def failure(script: str) -> TaskError:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        with pytest.raises(TaskError) as caught:
            Plan("file:///x", ("--max-rejects=3",)).execute([1, 2])
        return caught.value

    def answer(code: str) -> str:
        return f"""echo '{{"error": {{"code": "{code}", "message": "m"}}}}'; echo "$@" >&2; exit 1"""

    assert isinstance(failure(answer("UNAVAILABLE")), TransientTaskError)
    assert isinstance(failure("kill -KILL $$"), TransientTaskError)
    lasting = failure(answer("INVALID_ARGUMENT"))
    assert not isinstance(lasting, TransientTaskError)
    assert "execute file:///x --json --quiet --max-rejects=3 --task=1 --task=2" in str(lasting)
    traceback = RuntimeError(f"Traceback …\n  x.TaskError: {lasting} [while running 'execute-1']")
    assert message_of(traceback) == str(lasting)
    assert "lack the Python package headrace" in message_of(ModuleNotFoundError("No module named 'headrace'"))
    assert groups(range(3)) == [[0], [1], [2]] and groups([]) == []
    assert sorted(sum(groups(range(10_000)), [])) == list(range(10_000)) and len(groups(range(10_000))) < 300


def judge(engines: pathlib.Path, program: str, text: str) -> str:
    """The output of a program about a text, run by the Python with the validators."""
    done = subprocess.run(
        [engines, "-c", program], input=text, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_the_manifest_for_kubernetes_fits_its_schema(headrace, engines):
    manifest = headrace(
        "prepare", "s3://raw/it's", 's3://data/"x"', "--split", "train=0.5,test=0.5", "--print-manifest",
        "kubernetes", "--world-size", "5", "--image", "registry/headrace:1",
    ).stdout  # fmt: skip
    program = (
        "import json, sys, yaml, kubernetes_validate\n"
        "job = yaml.safe_load(sys.stdin)\n"
        "kubernetes_validate.validate(job, '1.33', strict=True)\n"
        "print(json.dumps(job))"
    )
    spec = json.loads(judge(engines, program, manifest))["spec"]
    assert spec["completionMode"] == "Indexed" and spec["completions"] == spec["parallelism"] == 5
    container = spec["template"]["spec"]["containers"][0]
    options = ["--split=train=0.5,test=0.5", "--runner=ranks"]
    assert container["args"] == ["prepare", "s3://raw/it's", 's3://data/"x"', *options]
    assert container["env"] == [{"name": "WORLD_SIZE", "value": "5"}]
    assert container["image"] == "registry/headrace:1"
    wrong = manifest.replace("completionMode", "completionMood")
    with pytest.raises(AssertionError, match="completionMood"):
        judge(engines, program, wrong)


@pytest.mark.exhaustive
def test_the_dockerfile_has_the_command_as_its_entry_point(headrace, engines):
    program = (
        "import io, json, sys, dockerfile_parse\n"
        "parser = dockerfile_parse.DockerfileParser(fileobj=io.BytesIO(sys.stdin.buffer.read()))\n"
        "print(json.dumps([[step['instruction'], step['value']] for step in parser.structure]))"
    )
    steps = json.loads(
        judge(engines, program, headrace("prepare", "a", "b", "--print-manifest", "dockerfile").stdout)
    )
    assert steps[0] == ["FROM", "python:3.11-slim"] and steps[-1] == ["ENTRYPOINT", '["headrace"]']
    assert ["RUN", "pip install --no-cache-dir headrace==0.1.0"] in steps


def test_a_job_is_printed_only_if_its_processes_share_the_work(headrace):
    for manifest in ("slurm", "kubernetes"):
        for options, message in (
            (("--overwrite",), "headrace plan --overwrite once"),
            (("--overwrite", "--runner", "store"), "headrace plan --overwrite once"),
            (("--runner", "local"), "--print-manifest is for --runner ranks and store"),
            (("--runner", "local:8"), "--print-manifest is for --runner ranks and store"),
        ):
            done = headrace("prepare", "a", "b", "--print-manifest", manifest, *options, check=False)
            assert done.returncode == 2 and message in done.stderr and not done.stdout


def test_a_task_says_why_it_failed_below_a_call_of_python_too(build, tmp_path, monkeypatch):
    from headrace._src.runners.tasks import Plan, TaskError

    monkeypatch.setenv("HEADRACE_BUILD", str(build))
    monkeypatch.setenv("HEADRACE_ERRORS", "json")  # as headrace.prepare sets it
    with pytest.raises(TaskError, match="headrace: there is no plan at"):
        Plan(f"file://{tmp_path}/none").execute([0])


def test_what_is_no_text_is_refused_in_a_job_of_kubernetes(headrace):
    name = os.fsdecode(b"s3://raw/Z\xfcrich")
    done = headrace("prepare", name, "b", "--print-manifest", "kubernetes", check=False)
    assert done.returncode == 1 and "not UTF-8" in done.stderr and not done.stdout


def test_an_engine_that_says_nonsense_is_no_reason_to_break(headrace, tables, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho '{\"error\": 5}'\necho '[\"error\"]'\nexit 3\n")
    python.chmod(0o755)
    command = ("prepare", tables, tmp_path / "data", *OPTIONS, "--runner", "ray")
    done = headrace(*command, env={"HEADRACE_PYTHON": str(python)}, check=False)
    assert done.returncode == 1 and "ray: it ended with status 3" in done.stderr


def test_the_script_for_slurm_runs_as_an_array(headrace, build, tables, expected, tmp_path):
    script = tmp_path / "prepare.sh"
    data = tmp_path / "it's $HOME"
    script.write_text(
        headrace("prepare", tables, data, *OPTIONS, "--print-manifest", "slurm", "--world-size", "3").stdout
    )
    subprocess.run(["bash", "-n", script], check=True, timeout=WAIT_S)
    assert "#SBATCH --array=0-2\n" in script.read_text()
    path = f"{build}/bin:{os.environ['PATH']}"
    array = {"SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_MAX": "2", "SLURM_ARRAY_TASK_COUNT": "3"}
    succeed(
        *[
            subprocess.Popen(
                ["bash", script],
                env={**os.environ, **array, "PATH": path, "SLURM_ARRAY_TASK_ID": str(rank)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(3)
        ]
    )
    assert digests(data) == expected
