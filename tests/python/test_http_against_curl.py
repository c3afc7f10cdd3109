"""Our HTTP client and libcurl, by the command curl, read the same answers: what is valid alike; and of what
is damaged ours takes nothing that curl does not take, and nothing else than it.
"""

import json
import random
import socket
import subprocess
import threading

import pytest

SEED = 9112
ANSWERS = 150


def chunks(draw: random.Random, body: bytes) -> bytes:
    out = b""
    while body:
        size = draw.randint(1, len(body))
        extension = draw.choice([b"", b";name=value", b' ;q="a;b"'])
        out += (b"%X" if draw.random() < 0.5 else b"%x") % size + extension + b"\r\n" + body[:size] + b"\r\n"
        body = body[size:]
    return out + b"0\r\n" + draw.choice([b"", b"Trailer: x\r\n"]) + b"\r\n"


def answer(draw: random.Random, method: str) -> bytes:
    """A valid one, after which the server closes the connection."""
    body = draw.randbytes(draw.choice([0, 1, 10, 1000, 70_000]))
    status = draw.choice(
        [b"200 OK", b"206 Partial Content", b"404 Not Found", b"503 Slow", b"204 No Content"]
    )
    fields = [b"X-Filler: " + b"y" * draw.randrange(300), b'ETag:\t"e" ', b"Empty:"]
    payload = b""
    if not status.startswith(b"204"):
        framing = draw.choice(["length", "chunks", "close"])
        if framing == "length":
            fields.append(draw.choice([b"Content-Length: %d", b"content-length:%d"]) % len(body))
        elif framing == "chunks":
            fields.append(draw.choice([b"Transfer-Encoding: chunked", b"transfer-encoding: Chunked"]))
        payload = chunks(draw, body) if framing == "chunks" else body
    if draw.random() < 0.5:
        fields.append(b"Connection: close")
    draw.shuffle(fields)
    interim = draw.choice([b"", b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"])
    head = b"HTTP/1.1 " + status + b"\r\n" + b"\r\n".join(fields) + b"\r\n\r\n"
    return interim + head + (b"" if method == "HEAD" else payload)


def damaged(draw: random.Random, data: bytes) -> bytes:
    """In its head or the first framing, mostly, where it hurts."""
    at = draw.randrange(min(len(data), 700))
    kind = draw.choice(["flip", "drop", "insert", "cut"])
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
    if kind == "drop":
        return data[:at] + data[at + draw.randint(1, 4) :]
    if kind == "insert":
        return data[:at] + draw.choice([b"\r\n", b"\n", b" ", b"\0", b"0", b":", b","]) + data[at:]
    return data[:at]


class Server:
    """Says to the n-th connection whatever `answers[n]` holds, in pieces, once a request has come; closes."""

    def __init__(self, answers: dict[str, bytes]):
        self._answers = answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                self._answer(client)

    def _answer(self, client: socket.socket) -> None:
        client.settimeout(10)
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                if not (piece := client.recv(4096)):
                    return
                head += piece
            data = self._answers[head.split(b" ")[1].decode()]
            draw = random.Random(len(data))
            while data:
                size = draw.choice([1, 7, 300, 20_000])
                client.sendall(data[:size])
                data = data[size:]
            client.shutdown(socket.SHUT_WR)
            while client.recv(4096):
                pass
        except OSError:
            pass  # it has gone, as it may


def by_curl(method: str, url: str) -> dict:
    command = [
        "curl",
        "--silent",
        "--max-time",
        "5",
        "--noproxy",
        "*",
        "--write-out",
        "%{stderr}%{http_code}",
    ]
    done = subprocess.run(
        [*command, *(["--head", "--output", "/dev/null"] if method == "HEAD" else []), url],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        return {"error": done.returncode}
    return {"status": int(done.stderr), "body": done.stdout.hex()}


@pytest.fixture(scope="module")
def compared(build):
    """For a list of methods and answers, what ours and what curl made of them."""

    def compare(cases: list[tuple[str, bytes]]) -> list[tuple[dict, dict]]:
        answers = {f"/{number}": data for number, (_, data) in enumerate(cases)}
        with Server(answers) as server:
            lines = [f"{method} {server.url}/{number}" for number, (method, _) in enumerate(cases)]
            done = subprocess.run(
                [build / "bin" / "headrace_http_probe"],
                input="\n".join(lines) + "\n",
                capture_output=True,
                text=True,
                check=True,
            )
            ours = [json.loads(line) for line in done.stdout.splitlines()]
            theirs = [by_curl(method, f"{server.url}/{n}") for n, (method, _) in enumerate(cases)]
        assert len(ours) == len(cases)
        return list(zip(ours, theirs, strict=True))

    return compare


def test_valid_answers_are_read_as_curl_reads_them(compared):
    draw = random.Random(SEED)
    methods = [draw.choice(["GET", "GET", "HEAD"]) for _ in range(ANSWERS)]
    cases = [(method, answer(draw, method)) for method in methods]
    for (method, data), (ours, theirs) in zip(cases, compared(cases), strict=True):
        assert ours == theirs, (method, data[:600])


@pytest.mark.exhaustive
def test_of_damaged_answers_nothing_is_taken_that_curl_does_not_take(compared):
    draw = random.Random(SEED + 1)
    cases = [("GET", damaged(draw, answer(draw, "GET"))) for _ in range(ANSWERS)]
    outcomes = compared(cases)
    for (_, data), (ours, theirs) in zip(cases, outcomes, strict=True):
        assert "error" in ours or ours == theirs, data[:600]
    refused = sum("error" in ours for ours, _ in outcomes)
    assert ANSWERS / 10 < refused < ANSWERS, "some are taken, some are not"
