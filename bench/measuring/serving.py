"""Servers of models, requests to them, and the CPU time that they take."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import DATA, ROOT, build, headrace, run

CONNECTIONS = 64
READY_SECONDS = 180
_WAIT_S = 0.02


@dataclass(frozen=True)
class Request:
    """A POST; `body` is a file, as h2load wants it."""

    path: str
    body: pathlib.Path
    headers: dict[str, str] = field(default_factory=dict)

    def raw(self, target: pathlib.Path) -> pathlib.Path:
        """A file with the bytes of the request on the wire."""
        body = self.body.read_bytes()
        lines = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **self.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        target.write_bytes(f"POST {self.path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return target


def model(kind: str, *more: int) -> pathlib.Path:
    """A SavedModel of bench/peers/serve_models.py; made once."""
    target = DATA / "-".join(["served", kind, *map(str, more)])
    if not target.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".making")
        shutil.rmtree(unfinished, ignore_errors=True)
        program = ROOT / "bench" / "peers" / "serve_models.py"
        subprocess.run([sys.executable, program, kind, unfinished, *map(str, more)], check=True)
        unfinished.rename(target)
    return target


def write_json(target: pathlib.Path, document) -> pathlib.Path:
    target.write_text(json.dumps(document))
    return target


def binary_request(folder: pathlib.Path, name: str, size: int) -> Request:
    """One row of floats for the input `x` of that model, in KServe's protocol with binary data."""
    import numpy as np

    row = np.random.default_rng(44).normal(size=size).astype("<f4").tobytes()
    given = {"name": "x", "shape": [1, size], "datatype": "FP32"}
    given["parameters"] = {"binary_data_size": len(row)}
    header = json.dumps({"inputs": [given], "parameters": {"binary_data_output": True}}).encode()
    body = folder / f"{name}.request"
    body.write_bytes(header + row)
    headers = {
        "Inference-Header-Content-Length": str(len(header)),
        "Content-Type": "application/octet-stream",
    }
    return Request(f"/v2/models/{name}/infer", body, headers)


def row_of_numbers(size: int) -> list[float]:
    """The shortest text of a single-precision number."""
    import numpy as np

    return [float(str(each)) for each in np.random.default_rng(44).normal(size=size).astype("<f4")]


@dataclass
class Server:
    """A running server, with its child processes."""

    process: subprocess.Popen
    port: int
    admin_port: int = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def admin(self, path: str) -> bytes | None:
        """The answer; None if the status is not 200, or the server does not listen yet."""
        url = f"http://127.0.0.1:{self.admin_port}{path}"
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read()
        return None

    def models(self) -> dict:
        return json.loads(self.admin("/models") or b"{}")

    def wait_until(self, is_so, what: str, each_s: float = _WAIT_S) -> None:
        end = time.monotonic() + READY_SECONDS
        while not is_so():
            if self.process.poll() is not None:
                raise SystemExit(f"bench: the server ended before {what}")
            if time.monotonic() > end:
                raise SystemExit(f"bench: the server is not {what}")
            time.sleep(each_s)

    def ask(self, request: Request) -> bytes:
        return self.try_to_ask(request)[1]

    def try_to_ask(self, request: Request) -> tuple[int, bytes]:
        """Status and body; status 0 if nothing listens."""
        asked = urllib.request.Request(self.url(request.path), request.body.read_bytes(), request.headers)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError as error:
            return 0, str(error).encode()

    def wait_for_answers(self, request: Request) -> None:
        self.wait_until(lambda: self.try_to_ask(request)[0] == 200, "ready", 0.1)

    def children(self) -> list[int]:
        """All processes below the first one."""
        return _descendants(self.process.pid)

    def cpu_seconds(self) -> tuple[float, float]:
        """User and system time of the first process, and of all others, including those that have ended."""
        first, with_ended = (cpu_seconds(self.process.pid, ended) for ended in (False, True))
        return first, with_ended - first + sum(cpu_seconds(pid, True) for pid in self.children())

    def resident_bytes(self) -> dict[str, int]:
        """Resident memory of the first process, and of all."""
        each = [_resident_bytes(pid) for pid in [self.process.pid, *self.children()]]
        return {"front": each[0], "all": sum(each)}


def _stat(pid: int) -> list[str]:
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pid: int, with_ended: bool = False) -> float:
    """User and system time of a process and of its ended children."""
    with contextlib.suppress(OSError):
        return sum(map(int, _stat(pid)[11 : 15 if with_ended else 13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def busy_seconds() -> float:
    """CPU time of all processes on this machine since it started."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n")[0].split()
    user, nice, system, _, _, interrupts, soft, stolen = map(int, fields[1:9])
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")


def _resident_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _descendants(pid: int) -> list[int]:
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(path.name)] = int(_stat(int(path.name))[1])
    found = [pid]
    for each in found:  # grows while it is walked
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


@contextlib.contextmanager
def running(command: list, on: list[int], env: dict[str, str] | None = None, **options) -> Iterator:
    """Runs the process in a block; ends it and all its children at the end."""
    cores = ",".join(map(str, on))
    environment = {**os.environ, **(env or {})}
    process = subprocess.Popen(
        ["taskset", "-c", cores, *map(str, command)], env=environment, stdout=subprocess.DEVNULL, **options
    )
    try:
        yield process
    finally:
        left = _descendants(process.pid)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        for pid in [process.pid, *left]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def serving(folder: pathlib.Path, on: list[int], *words, env=None, is_ready: bool = True) -> Iterator[Server]:
    """`headrace serve` with these arguments, on free ports, with its cache and its messages in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    ports = folder / "ports"
    ports.unlink(missing_ok=True)
    command = [headrace(), "serve", *words, "--port", 0, "--admin-port", 0, "--grpc-port", 0]
    command += ["--port-file", ports]
    command += ["--cache", folder / "cache"]
    with (folder / "errors").open("w") as errors, running(command, on, env, stderr=errors) as process:
        server = Server(process, 0)
        server.wait_until(ports.exists, "listening", 0.005)
        server.port, server.admin_port = map(int, ports.read_text().split()[:2])
        if is_ready:
            server.wait_until(lambda: server.admin("/readyz") is not None, "ready")
        yield server


@contextlib.contextmanager
def empty_handler(on: list[int], where: str, answer_bytes: int) -> Iterator[Server]:
    """The HTTP server of `headrace serve` without models."""
    program = build("headrace_bench_serve_http")
    command = ["taskset", "-c", ",".join(map(str, on)), program, "127.0.0.1:0", "1", where, str(answer_bytes)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Server(process, int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait()


def load(server: Server, request: Request, on: list[int], seconds: float, connections: int = 0) -> dict:
    """Requests from h2load in a closed loop. All answers must have status 200."""
    command = ["h2load", "--h1", "-c", connections or CONNECTIONS, "-t", 1, "-D", seconds]
    command += ["-d", request.body, *(f"-H{name}: {value}" for name, value in request.headers.items())]
    before, start = server.cpu_seconds(), time.monotonic()
    output = run([*command, server.url(request.path)], on).output
    wall_s = time.monotonic() - start
    front_s, others_s = (after - first for after, first in zip(server.cpu_seconds(), before, strict=True))
    good, bad = (int(re.search(rf"(\d+) {word}", output)[1]) for word in ("2xx", "failed"))
    others = sum(int(count) for count in re.findall(r"(\d+) [345]xx", output))
    if bad or others or not good:
        raise SystemExit(f"bench: not all answers are good:\n{output}")
    load_average = os.getloadavg()[0]
    return {
        "requests": good,
        "front_cpu_s": front_s,
        "others_cpu_s": others_s,
        "wall_s": wall_s,
        "load_average": load_average,
    }


def per_cpu_second(answers: list[dict], with_others: bool = True) -> list[float]:
    return [
        one["requests"] / (one["front_cpu_s"] + (one["others_cpu_s"] if with_others else 0))
        for one in answers
    ]


def per_second(answers: list[dict]) -> list[float]:
    return [one["requests"] / one["wall_s"] for one in answers]
