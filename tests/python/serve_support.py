"""For tests of `headrace serve`: a running server, and what clients ask it."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

MOST_SECONDS = 120


class Server:
    """`headrace serve` with these words, on free ports."""

    def __init__(self, build: pathlib.Path, folder: pathlib.Path, *words, env: dict[str, str] | None = None):
        folder.mkdir(parents=True, exist_ok=True)
        ports = folder / "ports"
        self.errors = folder / "errors"
        command = [build / "bin/headrace", "serve", *words, "--port", "0", "--admin-port", "0"]
        command += ["--port-file", ports, "--cache", folder / "cache", "--poll-each", "1s"]
        if (build / "bin/headrace-server-grpc").exists():
            command += ["--grpc-port", "0"]
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                env={**os.environ, **(env or {})},
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        self.wait_until(ports.exists)
        self.port, self.admin_port, *grpc = map(int, ports.read_text().split())
        self.grpc_port = grpc[0] if grpc else None
        self.url = f"http://127.0.0.1:{self.port}"

    def wait_until(self, is_so) -> None:
        end = time.monotonic() + MOST_SECONDS
        while not is_so():
            assert self.process.poll() is None, f"the server ended: {self.errors.read_text()}"
            assert time.monotonic() < end, f"it is not so: {self.errors.read_text()}"
            time.sleep(0.02)

    def wait_until_ready(self) -> "Server":
        self.wait_until(lambda: self.admin("/readyz")[0] == 200)
        return self

    def admin(self, path: str) -> tuple[int, str]:
        status, body = ask(f"http://127.0.0.1:{self.admin_port}{path}")
        return status, body.decode()

    def models(self) -> dict:
        return json.loads(self.admin("/models")[1])

    def predict(self, model: str, body: dict, headers: dict[str, str] | None = None) -> tuple[int, dict]:
        """Status and document of the answer of TensorFlow Serving's REST API."""
        status, answer = ask(f"{self.url}/v1/models/{model}:predict", json.dumps(body).encode(), headers)
        return status, json.loads(answer)

    def engines(self) -> list[int]:
        """The engine processes, by their numbers."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parent = int(path.read_text().rpartition(")")[2].split()[1])
                if parent == self.process.pid:
                    found.append(int(path.parent.name))
        return sorted(found)

    def stop(self) -> int:
        """Ends it as an operator does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(MOST_SECONDS)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def serving(build: pathlib.Path, folder: pathlib.Path, *words, env=None) -> Iterator[Server]:
    server = Server(build, folder, *words, env=env)
    try:
        yield server
    finally:
        server.kill()


def ask(url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    """Status and body; GET without a body."""
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, body, headers or {}), timeout=MOST_SECONDS
        ) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class Clients:
    """Threads that ask again and again until they are stopped, and keep the answers."""

    def __init__(self, count: int, ask_once):
        self.answers: list = []
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(ask_once,)) for _ in range(count)]

    def _run(self, ask_once) -> None:
        while not self._is_over.is_set():
            self.answers.append(ask_once())

    def __enter__(self) -> "Clients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, count: int) -> None:
        """Until so many more answers have come."""
        wanted = len(self.answers) + count
        end = time.monotonic() + MOST_SECONDS
        while len(self.answers) < wanted:
            assert time.monotonic() < end, "no answers come"
            time.sleep(0.01)
