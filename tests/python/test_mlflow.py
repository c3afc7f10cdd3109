"""MLflow's own client on Headrace's records: tracking URIs that begin with headrace+, and the same calls
through `headrace serve-mlflow`."""

import contextlib
import importlib
import json
import math
import os
import pathlib
import subprocess
import sys
import threading

import mlflow
import pytest
import tomllib
from headrace._src.mlflow import open_runs
from headrace._src.mlflow.state_log import StateLog
from mlflow import MlflowClient, MlflowException
from mlflow.entities import LoggedModelOutput, Metric, Param, RunTag, ViewType
from mlflow_server_support import serving_mlflow

import headrace as hr
from headrace import _headrace, errors
from headrace import mlflow as plugin

SECONDS = 120
# Logs into an experiment and into a run that others log into, too; then ends it if it is the last one.
LOGGER = """
import sys
import headrace.mlflow
import mlflow

headrace.mlflow.register()
uri, run, name = sys.argv[1:]
mlflow.set_tracking_uri(uri)
print("ready", flush=True)
sys.stdin.readline()
experiment = mlflow.set_experiment("shared")
client = mlflow.MlflowClient()
won = []
for i in range(20):
    client.log_metric(run, "loss", i if name == "left" else i + 0.5, step=i)
    client.log_metric(run, name, float(i), step=i)
    client.log_param(run, f"{name}-{i}", i)
    client.set_tag(run, "last", name)
    try:
        client.log_param(run, f"contested-{i}", name)
        won.append(i)
    except mlflow.MlflowException as error:
        assert error.error_code == "INVALID_PARAMETER_VALUE", error
print(experiment.experiment_id, *won, flush=True)
"""
KILLED = """
import os, signal
import headrace.mlflow
import mlflow

headrace.mlflow.register()
client = mlflow.MlflowClient(os.environ["TRACKING"])
run = client.create_run("0", run_name="killed").info.run_id
client.log_metric(run, "loss", 0.5, step=3)
client.get_metric_history(run, "loss")
print(run, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)  # set_tracking_uri sets it
    monkeypatch.delenv("MLFLOW_EXPERIMENT_ID", raising=False)
    monkeypatch.setattr("mlflow.tracking.fluent._active_experiment_id", None)
    plugin.register()


@pytest.fixture(params=["file_url", "s3_url"])
def url(request):
    yield request.getfixturevalue(request.param)
    open_runs.end_all_runs()


def tracking_of(how: str, url: str, build, folder):
    """The tracking URI of a store: that of the plug-in, or of a server."""
    if how == "plugin":
        return contextlib.nullcontext(f"headrace+{url}")
    return server_of(url, build, folder)


@contextlib.contextmanager
def server_of(url, build, folder):
    with serving_mlflow(build, folder / "server", url) as server:
        yield server.url
        assert server.stop() == 0, server.errors.read_text()


@pytest.fixture(params=["plugin", "server"])
def how(request):
    return request.param


@pytest.fixture
def client(how, file_url, build, tmp_path):
    with tracking_of(how, file_url, build, tmp_path) as uri:
        yield MlflowClient(uri)
        open_runs.end_all_runs()


@pytest.fixture
def tracking(how, url, build, tmp_path):
    with tracking_of(how, url, build, tmp_path) as uri:
        yield uri
        open_runs.end_all_runs()


def record(headrace, root, run) -> dict:
    return json.loads(headrace("runs", "show", root, run, "--json").stdout)


def refused(code: str):
    return pytest.raises(MlflowException, match=".", check=lambda error: error.error_code == code)


def test_a_program_logs_as_to_any_mlflow(headrace, how, tracking, url, tmp_path):
    mlflow.set_tracking_uri(tracking)
    mlflow.set_experiment("cats")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.txt").write_text("hello")
    with mlflow.start_run(run_name="first", tags={"team": "a"}) as run:
        mlflow.log_params({"lr": 0.1, "layers": [1, 2]})
        for step in range(5):
            mlflow.log_metric("loss", 1 / (step + 1), step=step)
        mlflow.log_metrics({"accuracy": 0.5, "nan": math.nan, "inf": math.inf}, step=2)
        mlflow.log_artifacts(tmp_path / "notes", "notes")
        mlflow.log_metric("later", 1.5, synchronous=False)
        with mlflow.start_run(run_name="child", nested=True) as child:
            mlflow.log_metric("loss", 7)
    key = run.info.run_id
    found = mlflow.get_run(key)
    assert (found.info.status, found.info.run_name) == ("FINISHED", "first")
    assert found.data.params == {"lr": "0.1", "layers": "[1, 2]"} and found.data.tags["team"] == "a"
    assert found.data.metrics["loss"] == 0.2 and found.data.metrics["inf"] == math.inf
    assert found.data.metrics["later"] == 1.5
    assert math.isnan(found.data.metrics["nan"])
    assert mlflow.get_run(child.info.run_id).data.tags["mlflow.parentRunId"] == key
    assert mlflow.search_runs(filter_string="metrics.loss < 0.3").run_id.to_list() == [key]
    assert mlflow.artifacts.load_text(f"{found.info.artifact_uri}/notes/a.txt") == "hello"
    # Headrace's own commands see it.
    shown = record(headrace, url, key)
    assert shown["status"] == "finished" and shown["start"]["parameters"]["name"] == "first"
    assert shown["end"]["parameters"] == {"lr": "0.1", "layers": "[1, 2]"}
    artifacts = f"{url}/_headrace/mlflow/artifacts/{found.info.experiment_id}/{key}/artifacts"
    assert shown["end"]["outputs"][0]["url"] == artifacts
    if how == "plugin":
        assert found.info.artifact_uri == f"headrace+{artifacts}"
    lines = headrace("runs", "metrics", url, key, "--metric", "loss").stdout.splitlines()
    assert [float(line.split("\t")[3]) for line in lines] == [1 / (step + 1) for step in range(5)]
    assert "first" in headrace("runs", "show", url, key).stdout
    headrace("runs", "metrics", url, key, "--verify")


def test_times_and_steps_are_kept_and_the_greatest_step_is_the_last(client):
    run = client.create_run("0").info.run_id
    client.log_metric(run, "loss", 0.5, timestamp=2_000, step=-3)
    client.log_metric(run, "loss", 0.25, timestamp=1_000, step=7)
    client.log_metric(run, "loss", 0.125, timestamp=3_000, step=1)
    client.log_batch(run, [Metric("loss", 9.0, 500, 7)], [Param("a", "b")], [RunTag("c", "d")])
    for _ in ("while it goes on", "when it has ended"):
        history = [(one.timestamp, one.step, one.value) for one in client.get_metric_history(run, "loss")]
        assert history == [(2_000, -3, 0.5), (1_000, 7, 0.25), (3_000, 1, 0.125), (500, 7, 9.0)]
        assert client.get_run(run).data.metrics == {"loss": 0.25}
        client.set_terminated(run)
    assert client.get_metric_history(run, "none") == []
    with refused("INVALID_PARAMETER_VALUE"):
        client.log_metric(run, "x" * 300, 1.0)


def test_runs_are_searched(client):
    experiment = client.create_experiment("searched")
    runs = []
    for i in range(5):
        run = client.create_run(experiment, start_time=1_000 + i, run_name=f"run-{i}").info.run_id
        client.log_metric(run, "loss", float(i % 3))
        client.log_param(run, "kind", "even" if i % 2 == 0 else "odd")
        client.set_tag(run, "with space", str(i))
        client.set_terminated(run, "FAILED" if i == 4 else "FINISHED", end_time=2_000)
        runs.append(run)

    def found(text="", **options):
        return [runs.index(one.info.run_id) for one in client.search_runs([experiment], text, **options)]

    assert found() == [4, 3, 2, 1, 0]
    assert found("params.kind = 'odd'") == [3, 1]
    assert found("metrics.loss >= 1 and params.kind = 'even'") == [4, 2]
    assert found("tags.`with space` = '2'") == [2]
    assert found("attributes.status = 'FAILED'") == [4]
    assert found("run_name LIKE 'run-%' AND attributes.start_time < 1002") == [1, 0]
    assert found(order_by=["metrics.loss DESC", "attributes.start_time ASC"]) == [2, 1, 4, 0, 3]
    page = client.search_runs([experiment], max_results=2, order_by=["attributes.start_time ASC"])
    rest = client.search_runs(
        [experiment], max_results=10, page_token=page.token, order_by=["attributes.start_time ASC"]
    )
    assert [runs.index(one.info.run_id) for one in [*page, *rest]] == [0, 1, 2, 3, 4] and not rest.token
    assert client.search_runs(["0"]) == []
    with refused("INVALID_PARAMETER_VALUE"):
        found("nonsense = 1")


def test_params_never_change_and_tags_do(client, how):
    run = client.create_run("0").info.run_id
    client.log_param(run, "lr", 0.1)
    client.log_param(run, "lr", 0.1)
    with refused("INVALID_PARAMETER_VALUE"):
        client.log_batch(run, params=[Param("new", "1"), Param("lr", "0.2")])
    assert client.get_run(run).data.params == {"lr": "0.1"}
    client.set_tag(run, "note", "one")
    text = "two \0 ü \U0001f40e \x7f" + ("\udc80" if how == "plugin" else "")  # protobuf's texts are UTF-8
    client.set_tag(run, "note", text)
    assert client.get_run(run).data.tags["note"] == text
    client.delete_tag(run, "note")
    with refused("RESOURCE_DOES_NOT_EXIST"):
        client.delete_tag(run, "note")
    client.set_tag(run, "mlflow.runName", "another")
    assert client.get_run(run).info.run_name == "another"
    client.update_run(run, name="third")
    assert client.get_run(run).data.tags["mlflow.runName"] == "third"


def test_deleted_runs_come_back(client, headrace, file_url):
    run = client.create_run("0").info.run_id
    client.log_metric(run, "loss", 0.5)
    client.delete_run(run)
    assert client.search_runs(["0"]) == []
    assert client.get_run(run).info.lifecycle_stage == "deleted"
    for log in (
        lambda: client.log_metric(run, "loss", 0.25),
        lambda: client.set_tag(run, "a", "b"),
        lambda: client.set_terminated(run),
    ):
        with refused("INVALID_PARAMETER_VALUE"):
            log()
    (deleted,) = client.search_runs(["0"], run_view_type=ViewType.DELETED_ONLY)
    assert deleted.info.run_id == run and run in headrace("runs", "ls", file_url).stdout
    client.restore_run(run)
    client.log_metric(run, "loss", 0.125, step=1)
    assert client.get_run(run).data.metrics == {"loss": 0.125}


def test_tables_of_runs_know_tags_params_and_states(client, headrace, file_url):
    first, second = (client.create_run("0").info.run_id for _ in range(2))
    client.set_tag(first, "team", "it's two \0 \U0001f40e")
    client.log_param(first, "lr", "0.1")
    client.set_tag(second, "team", "b")
    client.set_terminated(second, "FAILED")

    def found(where: str) -> list[str]:
        told = headrace("runs", "ls", file_url, "--where", where, "--json", check=False)
        return [run["id"] for run in json.loads(told.stdout)["runs"]] if told.returncode == 0 else []

    assert found("tags.team LIKE 'it%' AND params.lr >= 0.1") == [first]
    assert found("tags.team = 'b' AND attributes.status = 'failed'") == [second]
    assert found("status = 'running or killed'") == [first]
    client.set_tag(first, "team", "b")
    assert set(found("tags.team = 'b'")) == {first, second}
    # A kill comes between the state and the end of the record: lines and filters still agree.
    ends = list(pathlib.Path(file_url.removeprefix("file://")).glob(f"_headrace/runs/v2/{second}/*/end"))
    assert ends
    for end in ends:
        end.unlink()
    listed = json.loads(headrace("runs", "ls", file_url, "--json").stdout)["runs"]
    assert {run["id"]: run["status"] for run in listed} == {first: "running or killed", second: "failed"}
    assert found("status = 'failed'") == [second]


def test_experiments(client):
    key = client.create_experiment("one", tags={"a": "b"})
    other = client.create_experiment("other", artifact_location="file:///elsewhere")
    assert client.get_experiment_by_name("one").experiment_id == key and key != other
    assert client.create_run(other).info.artifact_uri.startswith("file:///elsewhere/")
    with refused("RESOURCE_ALREADY_EXISTS"):
        client.create_experiment("one")
    with refused("RESOURCE_ALREADY_EXISTS"):
        client.rename_experiment(other, "one")
    client.rename_experiment(key, "renamed")
    client.set_experiment_tag(key, "team", "x")
    client.set_experiment_tag(key, "team", "x")
    client.delete_experiment_tag(key, "a")
    assert client.get_experiment(key).tags == {"team": "x"}
    run = client.create_run(key).info.run_id
    client.delete_experiment(key)
    assert client.get_experiment(key).lifecycle_stage == "deleted"
    assert client.search_runs([key]) == [] and client.get_run(run).info.lifecycle_stage == "deleted"
    with refused("INVALID_STATE"):
        client.create_run(key)
    assert {one.name for one in client.search_experiments()} == {"Default", "other"}
    client.restore_experiment(key)
    assert [one.info.run_id for one in client.search_runs([key])] == [run]
    (found,) = client.search_experiments(filter_string="tags.team = 'x'")
    assert found.name == "renamed"
    with refused("RESOURCE_DOES_NOT_EXIST"):
        client.get_experiment("77")
    with refused("INVALID_PARAMETER_VALUE"):
        client.delete_experiment("0")


def test_runs_of_headrace_are_read_and_tagged(client, headrace, file_url):
    with hr.init(file_url, name="own", config={"lr": 1e-3}) as own:
        own.log({"loss": 0.5, "rare": 1.0})
        own.log({"loss": 0.25})
        own.summary["best"] = 0.125
    ranks = [hr.init(file_url, run_id="ranks", rank=rank, world_size=2) for rank in range(2)]
    for rank, part in enumerate(ranks):
        part.log({"loss": float(rank)})
        part.finish()
    found = client.get_run(own.id)
    assert (found.info.status, found.info.run_name) == ("FINISHED", "own")
    assert found.data.params["lr"] == "0.001" and found.data.tags["headrace.command"] == "log"
    assert found.data.metrics == {"loss": 0.25, "rare": 1.0, "best": 0.125}
    assert [one.value for one in client.get_metric_history(own.id, "loss")] == [0.5, 0.25]
    assert [one.value for one in client.get_metric_history(own.id, "best")] == [0.125]
    assert client.get_run("ranks").data.metrics == {"loss": 0.0, "loss/rank-1": 1.0}
    assert [one.value for one in client.get_metric_history("ranks", "loss/rank-1")] == [1.0]
    client.set_tag(own.id, "reviewed", "yes")
    with refused("INVALID_PARAMETER_VALUE"):
        client.log_param(own.id, "lr", "1")
    client.log_metric(own.id, "later", 3.0)
    client.set_terminated(own.id)
    (tagged,) = client.search_runs(["0"], "tags.reviewed = 'yes'")
    assert tagged.data.metrics["later"] == 3.0 and tagged.data.metrics["loss"] == 0.25
    assert record(headrace, file_url, own.id)["status"] == "finished"
    with refused("RESOURCE_DOES_NOT_EXIST"):
        client.get_run("none")


def test_a_stage_of_headrace_is_read_and_takes_no_metrics(client, headrace, file_url, tmp_path):
    (tmp_path / "texts.csv").write_text("text,label\na,0\nb,1\n")
    headrace("prepare", str(tmp_path / "texts.csv"), f"{file_url}/data", "--track", file_url, check=False)
    (run,) = client.search_runs(["0"])
    assert run.data.tags["headrace.command"] == "prepare" and run.info.status in ("FINISHED", "FAILED")
    with pytest.raises(MlflowException, match="log into a run of your own"):
        client.log_metric(run.info.run_id, "loss", 1.0)
    client.set_tag(run.info.run_id, "note", "kept")
    assert client.get_run(run.info.run_id).data.tags["note"] == "kept"


def test_a_run_goes_on_in_another_part(client, headrace, file_url):
    mlflow.set_tracking_uri(client.tracking_uri)
    with mlflow.start_run() as run:
        mlflow.log_metric("loss", 0.5, step=0)
    with mlflow.start_run(run.info.run_id):
        assert record(headrace, file_url, run.info.run_id)["status"] == "running or killed"
        mlflow.log_metric("loss", 0.25, step=1)
    with pytest.raises(ValueError, match="no luck"), mlflow.start_run(run.info.run_id):
        raise ValueError("no luck")
    assert [one.value for one in client.get_metric_history(run.info.run_id, "loss")] == [0.5, 0.25]
    found = client.get_run(run.info.run_id)
    assert found.info.status == "FAILED" and found.data.metrics == {"loss": 0.25}
    assert record(headrace, file_url, run.info.run_id)["status"] == "failed"


@pytest.mark.exhaustive
def test_a_killed_run_keeps_what_it_has_logged(client):
    environment = {**os.environ, "TRACKING": client.tracking_uri}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED], env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    run = killed.stdout.strip()
    assert run, killed.stderr
    found = client.get_run(run)
    assert found.info.status == "RUNNING" and found.data.metrics == {"loss": 0.5}
    client.log_metric(run, "loss", 0.25, step=4)
    client.set_terminated(run, "KILLED")
    assert client.get_run(run).data.metrics == {"loss": 0.25}
    assert [one.step for one in client.get_metric_history(run, "loss")] == [3, 4]


@pytest.mark.exhaustive
def test_two_processes_log_at_once(tracking, url, headrace):
    uri = tracking
    client = MlflowClient(uri)
    run = client.create_run("0").info.run_id
    names = ("left", "right")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", LOGGER, uri, run, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = [process.communicate(timeout=SECONDS)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert printed[0][0] == printed[1][0] == client.get_experiment_by_name("shared").experiment_id
    won = {name: {int(i) for i in one[1:]} for name, one in zip(names, printed, strict=True)}
    assert won["left"] | won["right"] == set(range(20)) and not won["left"] & won["right"]
    client.set_terminated(run)
    found = client.get_run(run)
    for name in names:
        assert all(found.data.params[f"{name}-{i}"] == str(i) for i in range(20))
        assert all(found.data.params[f"contested-{i}"] == name for i in won[name])
        assert [one.value for one in client.get_metric_history(run, name)] == list(map(float, range(20)))
    losses = sorted(one.value for one in client.get_metric_history(run, "loss"))
    assert losses == [i / 2 for i in range(40)]
    assert found.data.metrics.pop("loss") in (19.0, 19.5)  # of the later one
    assert found.data.metrics == {"left": 19.0, "right": 19.0}
    assert found.data.tags["last"] in names and found.info.status == "FINISHED"
    assert record(headrace, url, run)["status"] == "finished"


def test_many_threads_log_at_once(client):
    run = client.create_run("0").info.run_id
    failures: list[BaseException] = []

    def log(name: str) -> None:
        try:
            for i in range(50):
                client.log_metric(run, name, float(i), step=i)
                if i % 10 == 0:
                    client.set_tag(run, f"{name}-{i}", "x")
                    client.get_metric_history(run, name)
        except MlflowException as error:
            failures.append(error)

    threads = [threading.Thread(target=log, args=(f"thread-{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    client.set_terminated(run)
    for i in range(4):
        assert [one.step for one in client.get_metric_history(run, f"thread-{i}")] == list(range(50))
        assert client.get_run(run).data.tags[f"thread-{i}-40"] == "x"


def test_states_are_appended_once_each(file_url):
    def add(state, name):
        state[name] = state.get("count", 0)
        state["count"] = state.get("count", 0) + 1

    first, second = (StateLog(hr.store(file_url), "states", "kind") for _ in range(2))
    first.change(lambda state: add(state, "a"))
    second.change(lambda state: add(state, "b"))
    assert first.change(lambda state: add(state, "c"))["count"] == 3
    assert second.load() == first.known and first.known["b"] == 1
    second.change(lambda state: None)
    with pytest.raises(KeyError):
        second.change(lambda state: state.pop("none"))
    store = hr.store(file_url)
    assert len(list(store.list("states/"))) == 3
    store.write("states/00000004", store.read("states/00000003").replace(b'"count":3', b'"count":4'))
    with pytest.raises(errors.DataLossError, match="00000004 is damaged"):
        first.load()
    with pytest.raises(errors.ResourceExhaustedError, match="as artifacts"):
        second.change(lambda state: state.update(long="x" * (16 << 20)))
    store.write("states/00000004", b"[]")
    with pytest.raises(errors.DataLossError, match="no state"):
        first.load()


class _LostAnswer:
    """A store whose first write is made, and meets its own object when the driver repeats it."""

    def __init__(self, store, meanwhile):
        self._store = store
        self._meanwhile = meanwhile

    def __getattr__(self, name):
        return getattr(self._store, name)

    def write(self, key, content, **options):
        self._store.write(key, content, **options)
        if self._meanwhile:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
            self._store.write(key, content, **options)


@pytest.mark.parametrize("others", [0, 2])
def test_a_change_whose_answer_was_lost_is_made_once(file_url, others):
    def add(state):
        state["count"] = state.get("count", 0) + 1

    def add_others():
        log = StateLog(hr.store(file_url), "states", "kind")
        for _ in range(others):
            log.change(add)

    log = StateLog(_LostAnswer(hr.store(file_url), add_others), "states", "kind")
    assert log.change(add)["count"] == others + 1
    assert len(list(hr.store(file_url).list("states/"))) == others + 1


def test_artifacts(client, tmp_path, file_url):
    run = client.create_run("0").info.run_id
    folder = tmp_path / "given"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "top.bin").write_bytes(bytes(range(256)))
    (folder / "deep/er/empty").write_bytes(b"")
    client.log_artifacts(run, folder)
    client.log_artifact(run, folder / "top.bin", "deep")
    assert [(one.path, one.is_dir, one.file_size) for one in client.list_artifacts(run)] == [
        ("deep", True, None),
        ("top.bin", False, 256),
    ]
    assert [one.path for one in client.list_artifacts(run, "deep")] == ["deep/er", "deep/top.bin"]
    assert client.list_artifacts(run, "top.bin") == []
    (tmp_path / "there").mkdir()
    client.download_artifacts(run, "", tmp_path / "there")
    assert (tmp_path / "there/top.bin").read_bytes() == bytes(range(256))
    assert (tmp_path / "there/deep/er/empty").read_bytes() == b""
    with pytest.raises(MlflowException, match="Invalid artifact path"):
        client.log_artifact(run, folder / "top.bin", "../..")
    with pytest.raises(MlflowException):
        client.download_artifacts(run, "none")


def test_datasets_of_runs_are_kept(client, tmp_path):
    import pandas as pd

    mlflow.set_tracking_uri(client.tracking_uri)
    data = mlflow.data.from_pandas(pd.DataFrame({"x": [1, 2]}), name="numbers")
    with mlflow.start_run() as run:
        mlflow.log_input(data, "training")
        mlflow.log_input(data, "training")
    (found,) = client.get_run(run.info.run_id).inputs.dataset_inputs
    assert found.dataset.name == "numbers" and found.tags[0].value == "training"


@pytest.mark.parametrize("how", ["plugin"])
def test_what_is_not_there_says_so(client):
    for call in (
        lambda: client.search_traces(["0"]),
        lambda: client.create_dataset("numbers"),
    ):
        with pytest.raises(MlflowException, match="docs/how-to/mlflow.md") as failed:
            call()
        assert failed.value.error_code == "NOT_IMPLEMENTED"
    assert client.search_logged_models(["0"]) == []
    run = client.create_run("0").info.run_id
    with pytest.warns(UserWarning, match="but not its dataset numbers"):
        client.log_metric(run, "loss", 0.5, dataset_name="numbers", dataset_digest="1")


def test_a_store_that_takes_nothing_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    client = MlflowClient(f"headrace+file://{tmp_path}/file")
    with pytest.raises(MlflowException):
        client.create_run("0")


@pytest.mark.exhaustive
def test_mlflow_finds_the_installed_package(root, tmp_path):
    project = tomllib.loads(pathlib.Path(root, "pyproject.toml").read_text())["project"]
    schemes = {f"headrace+{driver['scheme']}" for driver in _headrace.store_drivers()}
    groups = {name: each for name, each in project["entry-points"].items() if name.startswith("mlflow.")}
    assert [set(each) for each in groups.values()] == [schemes, schemes, schemes]
    installed = tmp_path / "site/headrace-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: headrace\nVersion: 1\n")
    lines = [
        f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in each.items()) for name, each in groups.items()
    ]
    (installed / "entry_points.txt").write_text("\n".join(lines))
    program = (
        "import mlflow\n"
        f"mlflow.set_tracking_uri('headrace+file://{tmp_path}/store')\n"
        "with mlflow.start_run() as run:\n"
        "    mlflow.log_metric('loss', 0.5)\n"
        "    mlflow.log_text('hello', 'a.txt')\n"
        "print(mlflow.get_run(run.info.run_id).data.metrics['loss'])\n"
        "mlflow.MlflowClient().create_registered_model('cats')\n"
        "mlflow.start_run(); mlflow.log_metric('open', 1)\n"
    )
    path = f"{installed.parent}:{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.stdout == "0.5\n" and done.returncode == 0, done.stderr
    runs = MlflowClient(f"headrace+file://{tmp_path}/store").search_runs(["0"])
    assert [run.info.status for run in runs] == ["FINISHED", "FINISHED"], done.stderr
    assert runs[0].data.metrics == {"open": 1.0}


def test_logged_models(client):
    run = client.create_run("0").info.run_id
    model = client.create_logged_model("0", name="cnn", source_run_id=run, tags={"a": "b"}, params={"k": "v"})
    client.log_outputs(run, [LoggedModelOutput(model.model_id, 3)])
    client.log_batch(
        run, [Metric("acc", 0.5, 1, 0, model.model_id), Metric("acc", 0.75, 2, 1, model.model_id)]
    )
    client.log_metric(run, "acc", 0.25, model_id=model.model_id, dataset_name="test", dataset_digest="1")
    client.set_logged_model_tags(model.model_id, {"c": "d"})
    client.delete_logged_model_tag(model.model_id, "a")
    client.finalize_logged_model(model.model_id, "READY")
    found = client.get_logged_model(model.model_id)
    assert (found.name, found.status.value, found.tags, found.params) == (
        "cnn",
        "READY",
        {"c": "d"},
        {"k": "v"},
    )
    assert sorted((each.value, each.dataset_name) for each in found.metrics) == [(0.25, "test"), (0.75, None)]
    assert [each.value for each in client.get_metric_history(run, "acc")] == [0.5, 0.75, 0.25]
    assert [each.model_id for each in client.get_run(run).outputs.model_outputs] == [model.model_id]
    assert [each.model_id for each in client.search_logged_models(["0"], "metrics.acc > 0.7")] == [
        model.model_id
    ]
    client.delete_logged_model(model.model_id)
    assert client.search_logged_models(["0"]) == []
    with refused("RESOURCE_DOES_NOT_EXIST"):
        client.get_logged_model(model.model_id)


@pytest.mark.parametrize("how", ["plugin"])
def test_gc_compacts_the_segments_of_a_run_that_goes_on(client, headrace, file_url):
    run = client.create_run("0").info.run_id
    for step in range(10):
        client.log_metric(run, "loss", step / 2, step=step)
        client.get_metric_history(run, "loss")  # leaves a segment
    collected = json.loads(headrace("gc", "--older-than", "0s", "--json", file_url).stdout)
    assert (collected["compacted_logs"], collected["removed_segments"]) == (1, 10)
    client.log_metric(run, "loss", 5.0, step=10)
    client.set_terminated(run)
    assert [point.value for point in client.get_metric_history(run, "loss")] == [i / 2 for i in range(11)]
    headrace("verify", file_url)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("how", "autolog"),
    [
        ("plugin", "mlflow.keras"),
        ("server", "mlflow.tensorflow"),
        pytest.param("plugin", "mlflow.tensorflow", marks=pytest.mark.soak),
        pytest.param("server", "mlflow.keras", marks=pytest.mark.soak),
    ],
)
def test_keras_autolog(client, headrace, file_url, autolog):
    import keras
    import numpy as np

    flavor = importlib.import_module(autolog)
    mlflow.set_tracking_uri(client.tracking_uri)
    flavor.autolog()
    try:
        model = keras.Sequential([keras.layers.Input([2]), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(np.ones((8, 2)), np.ones((8, 1)), epochs=3, batch_size=4, verbose=0)
    finally:
        flavor.autolog(disable=True)
    (run,) = client.search_runs(["0"])
    assert run.info.status == "FINISHED" and run.data.params["epochs"] == "3"
    assert {each.step for each in client.get_metric_history(run.info.run_id, "loss")} == {0, 1, 2}
    assert "loss" in headrace("runs", "metrics", file_url, run.info.run_id).stdout
    (logged,) = client.search_logged_models(["0"])
    again = flavor.load_model(logged.model_uri)
    assert np.array_equal(
        again.predict(np.ones((8, 2)), verbose=0), model.predict(np.ones((8, 2)), verbose=0)
    )
