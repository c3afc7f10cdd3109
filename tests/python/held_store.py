"""An S3 server of a folder's files that keeps some answers back: for tests of what waits for a store."""

import os
import pathlib
import re
import threading
import urllib.parse
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape


class HeldStore:
    """Serves `folder` as `url` to this process.

    Answers about a key that `holds` says yes to are kept back until `release()`, or for `most_seconds`.

    Attributes:
        is_asked: set when such an answer is waited for.
        has_answered: whether one was given.
    """

    def __init__(self, folder: pathlib.Path, holds: Callable[[str], bool], most_seconds: float | None = None):
        self.folder, self.holds, self.most_seconds = pathlib.Path(folder), holds, most_seconds
        self.is_asked = threading.Event()
        self.has_answered = False
        self._may_answer = threading.Event()
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"s3://bucket/{self.folder.name}"
        os.environ.update(
            AWS_ENDPOINT_URL_S3=f"http://127.0.0.1:{server.server_port}",
            AWS_ACCESS_KEY_ID="key",
            AWS_SECRET_ACCESS_KEY="secret",
        )

    def release(self) -> None:
        self._may_answer.set()

    def hold(self, key: str) -> None:
        if self.holds(key) and not self._may_answer.is_set():
            self.is_asked.set()
            self._may_answer.wait(self.most_seconds)
            self.has_answered = True

    def keys(self, prefix: str) -> list[str]:
        """Those of all files, of which `prefix` is the beginning, in the order of S3."""
        parent = self.folder.parent
        keys = (str(path.relative_to(parent)) for path in self.folder.rglob("*") if path.is_file())
        return sorted(key for key in keys if key.startswith(prefix))


def _handler_of(store: HeldStore) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def do_GET(self) -> None:
            url = urllib.parse.urlsplit(self.path)
            query = dict(urllib.parse.parse_qsl(url.query))
            _, _, key = urllib.parse.unquote(url.path).removeprefix("/").partition("/")
            if "list-type" in query:
                self.list(query.get("prefix", ""))
            else:
                store.hold(key)
                self.read(key)

        do_HEAD = do_GET

        def list(self, prefix: str) -> None:
            entries = "".join(
                f'<Contents><Key>{escape(key)}</Key><Size>{self.path_of(key).stat().st_size}</Size><ETag>"1"'
                "</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                for key in store.keys(prefix)
            )
            body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
            self.answer(200, body.encode(), {"Content-Type": "application/xml"})

        def path_of(self, key: str) -> pathlib.Path:
            return store.folder.parent / key

        def read(self, key: str) -> None:
            if not self.path_of(key).is_file():
                self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>", {})
                return
            content = self.path_of(key).read_bytes()
            headers = {"ETag": '"1"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if found is None:
                self.answer(200, content, headers)
                return
            first, last = int(found[1]), min(int(found[2]), len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            self.answer(206, content[first : last + 1], headers)

    return Handler
