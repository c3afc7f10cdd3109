"""For tests of `headrace serve-mlflow`: a running server."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Iterator

MOST_SECONDS = 120


class MlflowServer:
    """`headrace serve-mlflow` with these words; on a free port, unless one is given."""

    def __init__(self, build: pathlib.Path, folder: pathlib.Path, *words, port: int = 0):
        folder.mkdir(parents=True, exist_ok=True)
        port_file = folder / "port"
        port_file.unlink(missing_ok=True)
        self.errors = folder / "errors"
        command = [build / "bin/headrace", "serve-mlflow", *words, "--port", port, "--port-file", port_file]
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                env=dict(os.environ),
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        end = time.monotonic() + MOST_SECONDS
        while not port_file.exists():
            assert self.process.poll() is None, f"the server ended: {self.errors.read_text()}"
            assert time.monotonic() < end, f"no port: {self.errors.read_text()}"
            time.sleep(0.02)
        self.port = int(port_file.read_text())
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> int:
        """Ends it as an operator does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(MOST_SECONDS)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def serving_mlflow(
    build: pathlib.Path, folder: pathlib.Path, *words, port: int = 0
) -> Iterator[MlflowServer]:
    server = MlflowServer(build, folder, *words, port=port)
    try:
        yield server
    finally:
        server.kill()
