"""MLflow's model registry, in the plug-in and through `headrace serve-mlflow`."""

import os
import subprocess
import sys

import pytest
from headrace._src.mlflow import open_runs
from mlflow import MlflowClient, MlflowException
from mlflow_server_support import MOST_SECONDS, serving_mlflow

from headrace import mlflow as plugin

FORKING = """
import os, sys
import headrace.mlflow
import mlflow

headrace.mlflow.register()
client = mlflow.MlflowClient(sys.argv[1])
client.create_registered_model("parent")
child = os.fork()
if child == 0:
    client.create_model_version("parent", "s3://elsewhere/net")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(client.create_model_version("parent", "s3://elsewhere/net").version)
"""


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"):
        monkeypatch.delenv(name, raising=False)
    plugin.register()
    yield
    open_runs.end_all_runs()


@pytest.fixture
def server(build, file_url, tmp_path):
    with serving_mlflow(build, tmp_path / "server", file_url) as server:
        yield server


def run_registry_calls(root, client, uri, folder) -> str:
    """mlflow_registry_calls.py with the client of another environment, or with that of the tests."""
    folder.mkdir()
    done = subprocess.run(
        [
            root / client / "bin/python" if client else sys.executable,
            root / "tests/python/mlflow_registry_calls.py",
            uri,
            folder,
        ],
        env={**os.environ, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "5", "PYTHONPATH": str(root / "python")},
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


@pytest.mark.parametrize("client", [None, pytest.param(".venv-oldest", marks=pytest.mark.exhaustive)])
def test_clients_of_mlflow_2_and_3_do_the_same_through_a_server(root, server, headrace, tmp_path, client):
    version = run_registry_calls(root, client, server.url, tmp_path / "files")
    assert version.split(".")[0] == ("2" if client else "3")
    assert server.stop() == 0, server.errors.read_text()
    headrace("verify", f"file://{tmp_path}/store")


@pytest.mark.exhaustive
@pytest.mark.parametrize("store", ["file_url", "s3_url"])
def test_the_plugin_does_the_same(root, request, tmp_path, store):
    run_registry_calls(root, None, f"headrace+{request.getfixturevalue(store)}", tmp_path / "files")


def test_a_server_and_the_plugin_read_the_versions_of_each_other(server, file_url, tmp_path):
    import mlflow

    uris = [f"headrace+{file_url}", server.url]
    for name, uri in zip(["plugin", "server"], uris, strict=True):
        client = MlflowClient(uri)
        run = client.create_run("0").info
        client.log_text(run.run_id, name, "net/weights")
        client.log_text(run.run_id, "flavors: {}", "net/MLmodel")
        mlflow.set_tracking_uri(uri)
        mlflow.register_model(f"runs:/{run.run_id}/net", name)
    for i, uri in enumerate(uris):
        mlflow.set_tracking_uri(uri)
        for name in ("plugin", "server"):
            folder = tmp_path / f"{i}-{name}"
            folder.mkdir()
            there = mlflow.artifacts.download_artifacts(
                artifact_uri=f"models:/{name}/1", dst_path=str(folder)
            )
            with open(f"{there}/weights") as file:
                assert file.read() == name
    mlflow.set_tracking_uri(None)


@pytest.mark.parametrize("how", ["plugin", "server"])
def test_prompts_and_webhooks_are_refused(request, how, file_url):
    uri = f"headrace+{file_url}" if how == "plugin" else request.getfixturevalue("server").url
    client = MlflowClient(uri)
    for call in (
        lambda: client.register_prompt("greeting", "hello {{name}}"),
        lambda: client.list_webhooks(),
    ):
        with pytest.raises(MlflowException) as refused:
            call()
        assert refused.value.error_code == "NOT_IMPLEMENTED", refused.value
    assert client.search_registered_models() == []


@pytest.mark.exhaustive
def test_a_forked_child_may_use_the_registry(file_url):
    done = subprocess.run(
        [sys.executable, "-c", FORKING, f"headrace+{file_url}"],
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


def test_a_folder_that_takes_nothing_is_an_error_in_words(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MlflowException, match=str(tmp_path)):
        MlflowClient(f"headrace+file://{tmp_path}/file").create_registered_model("cats")
