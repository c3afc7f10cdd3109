"""How many metrics can be logged over loopback per second of the server's CPU time? The requests are recorded
from a stock MLflow client and sent again. They come in batches of 1,000, and singly; into `headrace
serve-mlflow`, and into MLflow's own server with its SQLite database. Both use the local disk, with the server
on one core and the sender on the other, one request after the other. When a request is answered, its points
survive a kill of the server.

    ./dev bench serve_mlflow --json bench/results/<date>/serve_mlflow.json
"""

import contextlib
import json
import pathlib
import re
import socket
import tempfile
import time
import urllib.request
from collections.abc import Iterator

import measuring
from measuring import peers, serving

BATCHES, POINTS, SINGLES = 100, 1_000, 2_000
METRICS = 20  # metrics whose points a batch has
RUNS = 5  # number of runs that the same requests are sent to, one after the other
# MLflow's server is so slow that it gets fewer requests.
PEER_BATCHES, PEER_SINGLES = 10, 200
PEER_WAIT_S = 120
LEAST_PER_CPU_S = 300_000
LEAST_OVER_PEER = 50


def record(folder: pathlib.Path) -> dict:
    target = folder / "requests.json"
    told = peers.run_own(
        "record_mlflow", target, BATCHES, SINGLES, on=measuring.cores()[1:], environment="mlflow"
    )
    assert told == {"batches": BATCHES, "singles": SINGLES}, told
    return json.loads(target.read_text())


def messages(requests: list[dict], run: str, port: int) -> list[bytes]:
    """The recorded requests, for this run and server."""
    out = []
    for request in requests:
        body = request["body"].replace('"RUN"', f'"{run}"').encode()
        lines = [
            line
            for line in request["head"].split("\r\n")
            if line.split(":")[0].lower() not in ("host", "content-length")
        ]
        lines += [f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}"]
        out.append("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    return out


def read_answer(connection: socket.socket) -> bytes:
    """Reads a whole answer; checks only its status and size."""
    content = connection.recv(65_536)
    while b"\r\n\r\n" not in content:
        content += connection.recv(65_536)
    head, _, body = content.partition(b"\r\n\r\n")
    size = int(re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)[1])
    while len(body) < size:
        body += connection.recv(65_536)
    assert head.startswith(b"HTTP/1.1 200"), content
    return head


def send_all(port: int, requests: list[bytes]) -> None:
    """Sends requests one after the other, on one connection if the server keeps it open."""
    connection = None
    for request in requests:
        if connection is None:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(request)
        if b"onnection: close" in read_answer(connection):
            connection.close()
            connection = None


def new_run(port: int) -> str:
    body = json.dumps({"experiment_id": "0", "start_time": 1}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/2.0/mlflow/runs/create", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["run"]["info"]["run_id"]


def logged(port: int, run: str, key: str) -> int:
    query = f"run_id={run}&metric_key={key}&max_results=25000"
    with urllib.request.urlopen(
        f"http://127.0.0.1:{port}/api/2.0/mlflow/metrics/get-history?{query}"
    ) as answer:
        return len(json.load(answer).get("metrics", []))


def tree_cpu_s(pid: int) -> float:
    return sum(serving.cpu_seconds(each, True) for each in [pid, *serving._descendants(pid)])


def replay(port: int, pid: int, requests: list[dict], runs: int, key: str, in_each: int, points: int) -> dict:
    """`in_each`: the number of points of the metric that each run has afterwards."""
    names = [new_run(port) for _ in range(runs)]
    prepared = [messages(requests, name, port) for name in names]
    cpu_before, begin = tree_cpu_s(pid), time.monotonic()
    for each in prepared:
        send_all(port, each)
    wall_s = time.monotonic() - begin
    # The rest of the work counts, too: the points go to the store.
    found = [logged(port, name, key) for name in names]
    assert found == [in_each] * runs, (found, in_each)
    return {"points": points * runs, "wall_s": wall_s, "cpu_s": tree_cpu_s(pid) - cpu_before}


@contextlib.contextmanager
def headrace_server(folder: pathlib.Path) -> Iterator[tuple[int, int]]:
    port_file = folder / "port"
    command = [measuring.headrace(), "serve-mlflow", f"file://{folder}/runs", "--port", 0]
    command += ["--port-file", port_file]
    environment = {"XDG_STATE_HOME": str(folder / "state")}
    (folder / "runs").mkdir(parents=True)
    with serving.running(command, measuring.cores()[:1], environment) as process:
        while not port_file.exists():
            assert process.poll() is None
            time.sleep(0.02)
        yield int(port_file.read_text()), process.pid


@contextlib.contextmanager
def mlflow_server(folder: pathlib.Path) -> Iterator[tuple[int, int]]:
    folder.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [peers.python("mlflow-server"), "-m", "mlflow", "server", "--workers", 1, "--port", port]
    command += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    command += ["--default-artifact-root", folder / "artifacts"]
    environment = {"MLFLOW_DISABLE_TELEMETRY": "true", "PYTHONPATH": ""}
    with (
        (folder / "errors").open("w") as errors,
        serving.running(command, measuring.cores()[:1], environment, stderr=errors) as process,
    ):
        end = time.monotonic() + PEER_WAIT_S
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
                break
            assert process.poll() is None and time.monotonic() < end, (folder / "errors").read_text()
            time.sleep(0.2)
        yield port, process.pid


def programs_of(who: str, port: int, pid: int, recorded: dict, batches: int, singles: int, runs: int) -> dict:
    batched, single = recorded["batches"][:batches], recorded["singles"][:singles]
    points, per_metric = batches * POINTS, batches * POINTS // METRICS
    return {
        f"{who}, batches": lambda: replay(port, pid, batched, runs, "metric_7", per_metric, points),
        f"{who}, singly": lambda: replay(port, pid, single, runs, "loss", singles, singles),
    }


def summarise(answers: dict) -> dict:
    def rate(name: str, clock: str) -> float:
        return measuring.median(one["points"] / one[clock] for one in answers[name])

    summary = {
        f"{name}: metrics per second of {what}": rate(name, clock)
        for name in answers
        for what, clock in (("server CPU", "cpu_s"), ("the wall's clock", "wall_s"))
    }
    of_headrace = rate("headrace, batches", "cpu_s") / LEAST_PER_CPU_S
    summary[f"batches: share of {LEAST_PER_CPU_S:,} per server CPU-second (must be >= 1)"] = of_headrace
    if "mlflow, singly" in answers:
        over = rate("headrace, singly", "wall_s") / rate("mlflow, singly", "wall_s")
        summary[f"singly: over MLflow's own server, wall (must be >= {LEAST_OVER_PEER})"] = over
    return summary


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    measuring.WORK.mkdir(parents=True, exist_ok=True)
    missing = peers.install("mlflow-server")
    with tempfile.TemporaryDirectory(dir=measuring.WORK) as name, contextlib.ExitStack() as servers:
        folder = pathlib.Path(name)
        recorded = record(folder)
        port, pid = servers.enter_context(headrace_server(folder / "headrace"))
        programs = programs_of("headrace", port, pid, recorded, BATCHES, SINGLES, RUNS)
        if not missing:
            port, pid = servers.enter_context(mlflow_server(folder / "mlflow"))
            programs |= programs_of("mlflow", port, pid, recorded, PEER_BATCHES, PEER_SINGLES, 1)
        answers, failed = measuring.take_turns(programs, arguments.repeats)
    account = peers.account(failed, "mlflow", "mlflow-server")
    measuring.report(arguments.json, summarise(answers), answers, account)


if __name__ == "__main__":
    main()
