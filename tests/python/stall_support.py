"""For tests that stop a command in the middle, and let it go on when others have worked in its place."""

import contextlib
import http.client
import os
import pathlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MOST_SECONDS = 120


class HoldingProxy:
    """Passes requests on to the S3 server that the environment names, as they come. The first that `holds`
    says yes to, by method and path, waits for `release()`; `is_asked` says that it has come.
    """

    def __init__(self, holds: Callable[[str, str], bool]):
        self.holds = holds
        self.is_asked = threading.Event()
        self._may_pass = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.store = os.environ["AWS_ENDPOINT_URL_S3"].removeprefix("http://")

    def __enter__(self) -> "HoldingProxy":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()

    def hold(self, method: str, path: str) -> None:
        with self._lock:
            if self.is_asked.is_set() or not self.holds(method, path):
                return
            self.is_asked.set()
        assert self._may_pass.wait(MOST_SECONDS)

    def release(self) -> None:
        self._may_pass.set()


def _handler_of(proxy: HoldingProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            pass

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            proxy.hold(self.command, self.path)
            server = http.client.HTTPConnection(proxy.store, timeout=MOST_SECONDS)
            server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("expect", "connection"):
                    server.putheader(name, value)
            server.endheaders(body)
            answer = server.getresponse()
            content = answer.read()
            self.send_response_only(answer.status, answer.reason)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else len(content)
            if length is not None and answer.status != 204:
                self.send_header("Content-Length", str(length))
            self.end_headers()
            server.close()
            with contextlib.suppress(OSError):  # the client may be gone
                self.wfile.write(content)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on

    return Handler


class Stallable:
    """A command that can be stopped with all its processes. Its messages go to files in `folder`."""

    def __init__(self, command: list, folder: pathlib.Path, environment: dict[str, str]):
        folder.mkdir(parents=True, exist_ok=True)
        self.errors = folder / f"errors-{time.monotonic_ns()}"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                env={**os.environ, **environment},
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    def wait_for(self, moment: Callable[[], bool], *, may_end: bool = False) -> None:
        """Until the moment has come, which has to be before the end, unless it may end (well) before."""
        limit = time.monotonic() + MOST_SECONDS
        while not moment():
            if may_end and self.process.poll() == 0:
                return
            assert self.process.poll() is None, f"it ended before that: {self.errors.read_text()}"
            assert time.monotonic() < limit, "the moment did not come"
            time.sleep(0.001)

    def signal(self, number: int) -> None:
        os.killpg(self.process.pid, number)

    def stop(self) -> None:
        self.signal(signal.SIGSTOP)
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "it was met before its end"

    def kill(self, *, may_end: bool = False) -> None:
        if may_end and self.process.poll() == 0:
            return
        self.signal(signal.SIGKILL)
        met = [-signal.SIGKILL, 0] if may_end else [-signal.SIGKILL]
        assert self.process.wait() in met, "it was met before its end"

    def go_on(self) -> tuple[int, str]:
        """Its exit code and what it said."""
        self.signal(signal.SIGCONT)
        try:
            code = self.process.wait(MOST_SECONDS)
        finally:
            if self.process.poll() is None:
                self.signal(signal.SIGKILL)
                self.process.wait()
        return code, self.errors.read_text()
