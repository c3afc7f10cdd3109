"""`headrace serve-mlflow` beyond what test_mlflow.py asks of it and of the plug-in alike: kills, several
writers at once, and requests that no client of MLflow sends."""

import hashlib
import http.client
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import threading

import pytest
from headrace._src.mlflow import open_runs
from mlflow import MlflowClient, MlflowException
from mlflow.entities import Metric, Param
from mlflow_server_support import MOST_SECONDS, MlflowServer, serving_mlflow

from headrace import mlflow as plugin

API = "/api/2.0/mlflow/"
ARTIFACTS = "/api/2.0/mlflow-artifacts/artifacts"


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    # A client that finds no server tries again, ten times, up to 0.3 s apart.
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_JITTER", "0.3")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "10")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    plugin.register()
    yield
    open_runs.end_all_runs()


@pytest.fixture
def server(build, file_url, tmp_path):
    with serving_mlflow(build, tmp_path / "server", file_url) as server:
        yield server


def ask(server, method: str, path: str, body=None, headers=None) -> tuple[int, dict]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    content = json.dumps(body) if isinstance(body, dict | list) else body
    connection.request(method, path, content, headers or {})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    is_json = answer.headers["Content-Type"] == "application/json"
    return answer.status, json.loads(text) if is_json else {"text": text}


def new_run(server) -> str:
    status, answer = ask(server, "POST", f"{API}runs/create", {"experiment_id": "0"})
    assert status == 200, answer
    return answer["run"]["info"]["run_id"]


def steps_of(client, run, key) -> list[int]:
    return [one.step for one in client.get_metric_history(run, key)]


def log_batches(client, run, first: int, count: int) -> None:
    for step in range(first, first + count):
        now = 1_700_000_000_000 + step
        client.log_batch(run, [Metric(f"metric-{i}", step + i / 10, now, step) for i in range(10)])


class KilledServer:
    """A server that is killed again and again while clients log, and started again at its port."""

    def __init__(self, build, folder, url):
        self._start = lambda port: MlflowServer(build, folder, url, port=port)
        self.server = self._start(0)

    def kill_and_start(self) -> None:
        self.server.kill()
        self.server = self._start(self.server.port)


def kill_while_they_log(killed, run, kills: int, seed: int) -> list[int]:
    """Returns how many batches each client has logged."""
    chance = random.Random(seed)
    is_over = threading.Event()
    failures: list[BaseException] = []
    logged = [0, 0]

    def log(who: int) -> None:
        client = MlflowClient(killed.server.url)
        try:
            while not is_over.is_set():
                log_batches(client, run, 2 * logged[who] + who, 1)
                logged[who] += 1
        except Exception as error:  # it is the test's
            failures.append(error)

    threads = [threading.Thread(target=log, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        reached = sum(logged) + chance.randrange(1, 40)
        while sum(logged) < reached and not failures:
            is_over.wait(chance.random() / 100)
        killed.kill_and_start()
    is_over.set()
    for thread in threads:
        thread.join()
    assert not failures
    return logged


@pytest.mark.parametrize("kills", [5, pytest.param(60, marks=pytest.mark.soak)])
def test_acknowledged_points_are_there_once_whatever_is_killed(build, file_url, tmp_path, headrace, kills):
    killed = KilledServer(build, tmp_path / "server", file_url)
    try:
        run = new_run(killed.server)
        logged = kill_while_they_log(killed, run, kills, seed=kills)
        client = MlflowClient(killed.server.url)
        wanted = sorted(2 * step + who for who in range(2) for step in range(logged[who]))
        for i in range(10):
            assert sorted(steps_of(client, run, f"metric-{i}")) == wanted
        client.set_terminated(run)
        last = max(wanted)
        assert client.get_run(run).data.metrics["metric-3"] == last + 0.3
        assert killed.server.stop() == 0
    finally:
        killed.server.kill()
    headrace("runs", "metrics", file_url, run, "--verify")
    lines = headrace("runs", "metrics", file_url, run, "--metric", "metric-7").stdout.splitlines()
    assert sorted(int(line.split("\t")[1]) for line in lines) == wanted


def test_a_batch_that_is_sent_again_is_kept_once(server, file_url):
    run = new_run(server)
    client = MlflowClient(server.url)
    for _ in range(2):
        log_batches(client, run, 0, 3)
        client.log_metric(run, "metric-0", 0.0, timestamp=1_700_000_000_000, step=0)
    client.log_metric(run, "metric-0", 0.0, timestamp=1_700_000_000_001, step=0)
    assert steps_of(client, run, "metric-0") == [0, 1, 2, 0]
    assert steps_of(client, run, "metric-9") == [0, 1, 2]


CLIENTS = [None, pytest.param(".venv-oldest", marks=pytest.mark.exhaustive)]


def run_calls(root, client, uri, folder) -> subprocess.CompletedProcess:
    """mlflow_calls.py with the client of another environment, or with that of the tests."""
    folder.mkdir()
    python = root / client / "bin/python" if client else sys.executable
    return subprocess.run(
        [python, root / "tests/python/mlflow_calls.py", uri, folder],
        env={**os.environ, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "5", "PYTHONPATH": str(root / "python")},
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("client", CLIENTS)
def test_clients_of_mlflow_2_and_3_do_the_same(root, build, headrace, file_url, tmp_path, client):
    with serving_mlflow(build, tmp_path / "server", file_url) as server:
        done = run_calls(root, client, server.url, tmp_path / "files")
        assert done.returncode == 0, done.stderr
        assert server.stop() == 0, server.errors.read_text()
    version, run = done.stdout.split()[-2:]
    assert version.split(".")[0] == ("2" if client else "3")
    assert "loss" in headrace("runs", "metrics", file_url, run).stdout
    headrace("verify", file_url)


@pytest.mark.exhaustive
def test_the_plugin_tells_a_client_of_mlflow_2_what_to_do(root, file_url, tmp_path):
    done = run_calls(root, ".venv-oldest", f"headrace+{file_url}", tmp_path / "files")
    assert done.returncode == 1 and "headrace serve-mlflow" in done.stderr, done.stderr


def test_a_stopped_server_leaves_everything_in_the_store(build, file_url, tmp_path):
    with serving_mlflow(build, tmp_path / "first", file_url) as first:
        run = new_run(first)
        log_batches(MlflowClient(first.url), run, 0, 3)
        assert first.stop() == 0
    assert not list((tmp_path / "state/headrace/metrics").iterdir())
    with serving_mlflow(build, tmp_path / "second", file_url) as second:
        client = MlflowClient(second.url)
        found = client.get_run(run)
        assert found.info.status == "RUNNING" and found.data.metrics["metric-1"] == 2.1
        log_batches(client, run, 3, 2)
        client.set_terminated(run)
        assert steps_of(client, run, "metric-1") == [0, 1, 2, 3, 4]


def test_two_servers_and_the_plugin_write_one_folder_at_once(build, s3_url, tmp_path):
    with (
        serving_mlflow(build, tmp_path / "one", s3_url) as one,
        serving_mlflow(build, tmp_path / "other", s3_url) as other,
    ):
        clients = [MlflowClient(uri) for uri in (one.url, other.url, f"headrace+{s3_url}")]
        run = clients[2].create_run("0").info.run_id
        won: list[list[int]] = [[], [], []]
        experiments: set[str] = set()

        def log(who: int) -> None:
            client = clients[who]
            try:
                experiments.add(client.create_experiment("shared"))
            except MlflowException as error:
                assert error.error_code == "RESOURCE_ALREADY_EXISTS", error
            for i in range(10):
                client.log_metric(run, f"of-{who}", float(i), step=i)
                client.log_batch(
                    run, [Metric("shared", who + i / 10, 1000 + i, i)], [Param(f"{who}-{i}", "x")]
                )
                try:
                    client.log_param(run, f"contested-{i}", str(who))
                    won[who].append(i)
                except MlflowException as error:
                    assert error.error_code == "INVALID_PARAMETER_VALUE", error

        threads = [threading.Thread(target=log, args=(who,)) for who in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(experiments) == 1 and sorted(sum(won, [])) == list(range(10))
        open_runs.end_all_runs()
        assert [server.stop() for server in (one, other)] == [0, 0]
    with serving_mlflow(build, tmp_path / "third", s3_url) as third:
        client = MlflowClient(third.url)
        found = client.get_run(run)
        for who in range(3):
            assert steps_of(client, run, f"of-{who}") == list(range(10))
            assert all(found.data.params[f"{who}-{i}"] == "x" for i in range(10))
            assert all(found.data.params[f"contested-{i}"] == str(who) for i in won[who])
        assert sorted(steps_of(client, run, "shared")) == sorted(3 * list(range(10)))
        assert [one.info.run_id for one in client.search_runs(["0"], "metrics.`of-1` = 9")] == [run]


def test_searches_have_pages_and_refuse_what_is_no_filter(server):
    client = MlflowClient(server.url)
    runs = [client.create_run("0", start_time=i + 1, run_name=f"Run-{i}").info.run_id for i in range(7)]
    for i, run in enumerate(runs):
        client.set_tag(run, "weird name", "a%b" if i % 2 else "a_b")
    page, seen = client.search_runs(["0"], max_results=3), []
    while page:
        seen += [run.info.run_id for run in page]
        page = client.search_runs(["0"], max_results=3, page_token=page.token) if page.token else []
    assert seen == runs[::-1]
    found = client.search_runs(["0"], f"run_id IN ('{runs[1]}', '{runs[4]}') AND run_name ILIKE 'run-_'")
    assert {run.info.run_id for run in found} == {runs[1], runs[4]}
    assert len(client.search_runs(["0"], 'tags."weird name" LIKE "a\\%b"')) == 0
    assert len(client.search_runs(["0"], "tags.none IS NULL and params.none IS NULL")) == 7
    assert client.search_runs(["0"], "tags.none != 'x'") == []
    for wrong in (
        "metrics.loss = 'text'",
        "params.lr < '1'",
        "metrics.loss > 1 OR metrics.loss < 2",
        "run_id IN ()",
        "metrics.`loss > 1",
        "run_name IS NULL",
        "status = ",
        "'a' = 'a'",
        "metrics.loss > 1 AND",
        "metrics.loss >",
        "x" * 100_000,
    ):
        with pytest.raises(MlflowException) as refused:
            client.search_runs(["0"], wrong)
        assert refused.value.error_code == "INVALID_PARAMETER_VALUE", wrong


def test_what_no_client_sends_is_refused_and_harms_nothing(server, tmp_path):
    run = new_run(server)
    batch = {"run_id": run, "metrics": [{"key": "loss", "value": 1, "timestamp": 1, "step": 0}]}
    refused = [
        b"",
        b"[]",
        b"{",
        b'{"run_id": "\xff"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        {"run_id": "../../etc", "metrics": []},
        {"run_id": "x" * 10_000},
        {"run_id": 5},
        {"run_id": run, "metrics": "no"},
        {"run_id": run, "metrics": [1]},
        {"run_id": run, "metrics": [{"key": "loss", "timestamp": 1}]},
        {"run_id": run, "metrics": [{"key": "loss", "value": "1.5", "timestamp": 1}]},
        {"run_id": run, "metrics": [{"key": "", "value": 1, "timestamp": 1}]},
        {"run_id": run, "metrics": [{"key": "a/../b", "value": 1, "timestamp": 1}]},
        {"run_id": run, "metrics": [{"key": "k" * 300, "value": 1, "timestamp": 1}]},
        {"run_id": run, "metrics": [{"key": "loss", "value": 1, "timestamp": -1}]},
        {"run_id": run, "metrics": [{"key": "loss", "value": 1, "timestamp": 2**63 - 1}]},
        {"run_id": run, "metrics": [{"key": "loss", "value": 1, "timestamp": 1, "step": 2**63}]},
        {"run_id": run, "metrics": batch["metrics"] * 1001},
        {"run_id": run, "params": [{"key": f"p{i}", "value": ""} for i in range(101)]},
        {"run_id": run, "params": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]},
        {"run_id": run, "tags": [{"key": "a", "value": "x" * 8001}]},
    ]
    for body in refused:
        status, answer = ask(server, "POST", f"{API}runs/log-batch", body)
        assert status == 400 and answer["error_code"] == "INVALID_PARAMETER_VALUE", (body, answer)
    for metrics in ([], batch["metrics"]):
        absent = {"run_id": "none", "metrics": metrics}
        status, answer = ask(server, "POST", f"{API}runs/log-batch", absent)
        assert status == 404 and answer["error_code"] == "RESOURCE_DOES_NOT_EXIST"
    assert ask(server, "POST", f"{API}runs/log-batch", b"{" + b" " * (17 << 20))[0] == 413
    for query in ("run_id=%ff", "run_id=%zz", "run_id=", "", "run_id=a&run_id=b"):
        assert ask(server, "GET", f"{API}runs/get?{query}")[0] == 400
    for page in ("x", "e30=", "eyJvZmZzZXQiOi0xfQ=="):
        assert (
            ask(server, "GET", f"{API}metrics/get-history?run_id={run}&metric_key=a&page_token={page}")[0]
            == 400
        )
    assert ask(server, "POST", f"{API}runs/log-batch", batch) == (200, {})
    assert ask(server, "GET", f"{API}runs/get?run_uuid={run}")[1]["run"]["data"]["metrics"][0]["value"] == 1.0


def test_paths_of_artifacts_never_leave_their_folder(server, tmp_path):
    run = new_run(server)
    place = f"{ARTIFACTS}/0/{run}/artifacts"
    assert ask(server, "PUT", f"{place}/a%20b/c.txt", b"hello")[0] == 200
    assert ask(server, "GET", f"{place}/a%20b/c.txt") == (200, {"text": b"hello"})
    listed = ask(server, "GET", f"{API}artifacts/list?run_id={run}&path=a+b")[1]
    assert listed["files"] == [{"path": "a b/c.txt", "is_dir": False, "file_size": 5}]
    for path in ("..", "../x", "a/../../x", "%2e%2e/%2e%2e/x", "a%00b", "a//b", "%ff", "x" * 300, "."):
        for method in ("PUT", "GET", "DELETE"):
            status, answer = ask(server, method, f"{place}/{path}", b"x" if method == "PUT" else None)
            assert status == 400, (method, path, answer)
        assert ask(server, "GET", f"{ARTIFACTS}?path=0/{run}/artifacts/{path}")[0] == 400, path
    for path in ("runs", "0", f"0/{run}", f"0/{run}/artifacts"):
        assert ask(server, "PUT", f"{ARTIFACTS}/{path}", b"x")[0] == 400
        assert ask(server, "DELETE", f"{ARTIFACTS}/{path}")[0] == 400
    assert ask(server, "GET", f"{place}/none")[1]["error_code"] == "RESOURCE_DOES_NOT_EXIST"
    assert ask(server, "DELETE", f"{place}/a%20b")[0] == 200
    assert ask(server, "GET", f"{ARTIFACTS}?path=0/{run}/artifacts")[1] == {"files": []}


def test_artifacts_have_a_bound(build, file_url, tmp_path):
    with serving_mlflow(build, tmp_path / "server", file_url, "--artifact-size", "1MiB") as server:
        place = f"{ARTIFACTS}/0/{new_run(server)}/artifacts/file"
        content = bytes(range(256)) * 4096
        assert ask(server, "PUT", place, content)[0] == 200
        assert ask(server, "GET", place) == (200, {"text": content})
        assert ask(server, "PUT", place, content + b"x")[0] == 413


def largest_memory_mib(server) -> float:
    for line in pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the system does not say how much memory the server has had")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "mebibytes",
    [pytest.param(300, marks=pytest.mark.slow), pytest.param(2048, marks=pytest.mark.soak)],
)
def test_artifacts_may_be_larger_than_the_servers_memory(server, tmp_path, mebibytes):
    run = new_run(server)
    piece = random.Random(mebibytes).randbytes(1 << 20)
    digest = hashlib.sha256()
    with (tmp_path / "large.bin").open("wb") as file:
        for number in range(mebibytes):
            file.write(number.to_bytes(8, "little") + piece[8:])
            digest.update(number.to_bytes(8, "little") + piece[8:])
    client = MlflowClient(server.url)
    client.log_artifact(run, str(tmp_path / "large.bin"), "models")
    (tmp_path / "large.bin").unlink()
    got = client.download_artifacts(run, "models/large.bin", str(tmp_path))
    with open(got, "rb") as file:
        assert hashlib.file_digest(file, "sha256").digest() == digest.digest()
    assert largest_memory_mib(server) < 256


def test_a_range_of_an_artifact_is_sent(server):
    place = f"{ARTIFACTS}/0/{new_run(server)}/artifacts/file"
    assert ask(server, "PUT", place, b"0123456789")[0] == 200
    for header, wanted in {"bytes=2-4": b"234", "bytes=7-": b"789", "bytes=-1": b"9"}.items():
        assert ask(server, "GET", place, headers={"Range": header}) == (206, {"text": wanted})
    assert ask(server, "GET", place, headers={"Range": "bytes=10-"})[0] == 416
    assert ask(server, "GET", place, headers={"Range": "lines=1"}) == (200, {"text": b"0123456789"})


def test_an_upload_that_is_cut_off_leaves_what_was_there(server):
    place = f"{ARTIFACTS}/0/{new_run(server)}/artifacts/file"
    for before in (404, 200):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            head = f"PUT {place} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n"
            connection.sendall(head.encode() + bytes(5_000_000))
        assert ask(server, "GET", place)[0] == before
        assert ask(server, "PUT", place, b"whole")[0] == 200
    assert ask(server, "GET", place) == (200, {"text": b"whole"})


def test_clients_that_ask_for_multipart_uploads_send_whole_files(server, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD", "true")
    monkeypatch.setenv("MLFLOW_MULTIPART_UPLOAD_MINIMUM_FILE_SIZE", "1000")
    run = new_run(server)
    (tmp_path / "file").write_bytes(bytes(5000))
    client = MlflowClient(server.url)
    client.log_artifact(run, str(tmp_path / "file"))
    assert [each.file_size for each in client.list_artifacts(run)] == [5000]


def test_pages_of_the_web_may_not_ask(build, file_url, tmp_path):
    with serving_mlflow(build, tmp_path / "server", file_url, "--allow-host", "runs.example,other") as server:
        path = f"{API}experiments/search?max_results=5"
        for host in ("127.0.0.1:5000", "[::1]", "localhost", "Runs.Example:80", "other"):
            assert ask(server, "GET", path, headers={"Host": host})[0] == 200, host
        for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost.evil", "[::1].evil"):
            assert ask(server, "GET", path, headers={"Host": host})[0] in (400, 403), host
        good = {"Host": "localhost:1", "Origin": "http://localhost:1"}
        assert ask(server, "GET", path, headers=good)[0] == 200
        for origin in ("http://evil.example", "null", "http://localhost:2"):
            status, answer = ask(server, "GET", path, headers={**good, "Origin": origin})
            assert status == 403 and answer["error_code"] == "PERMISSION_DENIED"


def test_tokens_are_asked_for(build, file_url, tmp_path, monkeypatch):
    (tmp_path / "tokens").write_text("abcdefghijklmnop\n")
    with serving_mlflow(build, tmp_path / "server", file_url, "--tokens", tmp_path / "tokens") as server:
        assert ask(server, "GET", "/health") == (200, {"text": b"OK"})
        for headers in ({}, {"Authorization": "Bearer wrong-wrong-wrong"}):
            assert ask(server, "GET", f"{API}experiments/get?experiment_id=0", headers=headers)[0] == 401
            assert ask(server, "PUT", f"{ARTIFACTS}/0/r/artifacts/a", b"x", headers)[0] == 401
        monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "abcdefghijklmnop")
        client = MlflowClient(server.url)
        run = client.create_run("0").info.run_id
        client.log_text(run, "hello", "a.txt")
        assert client.get_run(run).info.status == "RUNNING"


def test_what_is_not_there_says_what_to_use(server):
    client = MlflowClient(server.url)
    with pytest.raises(MlflowException, match=r"docs/how-to/mlflow\.md") as refused:
        client.search_traces(["0"])
    assert refused.value.error_code == "NOT_IMPLEMENTED"
    for method, path in (
        ("POST", "/api/3.0/mlflow/traces"),
        ("POST", f"{API}traces/search"),
        ("GET", f"{API}metrics/get-history-bulk-interval"),
        ("GET", "/api/2.0/mlflow/runs/create"),
        ("POST", "/graphql"),
        ("DELETE", "/"),
    ):
        status, answer = ask(server, method, path, {} if method == "POST" else None)
        assert (
            status == 501
            and answer["error_code"] == "NOT_IMPLEMENTED"
            and "MLflow server" in answer["message"]
        )
    assert ask(server, "GET", "/version") == (200, {"text": b"3.17.2"})
    assert ask(server, "GET", "/api/3.0/mlflow/server-info")[1]["multipart_uploads_enabled"] is False


def test_a_folder_that_takes_nothing_is_an_error_in_words(build, tmp_path):
    (tmp_path / "file").write_text("")
    with serving_mlflow(build, tmp_path / "server", f"file://{tmp_path}/file") as server:
        status, answer = ask(server, "POST", f"{API}runs/create", {"experiment_id": "0"})
        assert status >= 400 and answer["error_code"] and str(tmp_path) in answer["message"]
