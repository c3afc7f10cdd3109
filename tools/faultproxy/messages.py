"""HTTP/1.1 messages on asyncio streams, whole in memory; supports only what S3 clients and servers use."""

import asyncio
from dataclasses import dataclass, field

Headers = list[tuple[str, str]]
MOST_HEAD_BYTES = 1 << 20


class Closed(Exception):
    """The other side closed or broke the connection, or sent bytes that are not HTTP."""


@dataclass
class Request:
    method: str
    target: str
    headers: Headers
    body: bytes = b""

    @property
    def path(self) -> str:
        """The target without its query, percent-encoded as it came."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        return find(self.headers, name)

    def head(self) -> bytes:
        return _head(f"{self.method} {self.target} HTTP/1.1", self.headers)


@dataclass
class Answer:
    status: int
    reason: str = ""
    headers: Headers = field(default_factory=list)
    body: bytes = b""
    has_body: bool = True  # False for HEAD, 1xx, 204 and 304, regardless of Content-Length

    def header(self, name: str) -> str | None:
        return find(self.headers, name)

    def with_header(self, name: str, value: str) -> "Answer":
        kept = [(key, old) for key, old in self.headers if key.lower() != name.lower()]
        return Answer(self.status, self.reason, [*kept, (name, value)], self.body, self.has_body)

    def head(self) -> bytes:
        return _head(f"HTTP/1.1 {self.status} {self.reason}", self.headers)

    def bytes(self) -> bytes:
        return self.head() + (self.body if self.has_body else b"")


def find(headers: Headers, name: str) -> str | None:
    return next((value for key, value in headers if key.lower() == name.lower()), None)


def _head(first_line: str, headers: Headers) -> bytes:
    lines = [first_line, *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_head(reader: asyncio.StreamReader) -> tuple[str, Headers]:
    """The first line and the header fields. Raises Closed, without a text if the stream had ended before."""
    try:
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError as error:
        raise Closed("in a head" if error.partial else "") from error
    except (ConnectionError, asyncio.LimitOverrunError) as error:
        raise Closed(str(error)) from error
    first, *lines = text.removesuffix("\r\n\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return first, [(name, value.strip()) for name, _, value in pairs]


async def read_body(reader: asyncio.StreamReader, headers: Headers, until_close: bool) -> bytes:
    """Raises Closed."""
    try:
        if (find(headers, "Transfer-Encoding") or "").lower() == "chunked":
            return await _read_chunks(reader)
        length = find(headers, "Content-Length")
        if length is not None:
            return await reader.readexactly(int(length))
        return await reader.read() if until_close else b""
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        raise Closed(str(error)) from error


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while (await reader.readuntil(b"\r\n")) != b"\r\n":
        pass
    return b"".join(chunks)


async def read_answer(reader: asyncio.StreamReader, method: str) -> Answer:
    """The final answer to a request of that method, with the decoded body and a Content-Length. Raises
    Closed."""
    while True:
        line, headers = await read_head(reader)
        version, _, rest = line.partition(" ")
        code, _, reason = rest.partition(" ")
        if not version.startswith("HTTP/1.") or not code.isdigit():
            raise Closed(f"not a status line: {line[:80]}")
        if int(code) >= 200:
            break
    answer = Answer(int(code), reason, headers)
    answer.has_body = method != "HEAD" and answer.status not in (204, 304)
    if answer.has_body:
        answer.body = await read_body(reader, headers, until_close=True)
        dropped = ("transfer-encoding", "content-length")
        answer.headers = [(name, value) for name, value in headers if name.lower() not in dropped]
        answer.headers.append(("Content-Length", str(len(answer.body))))
    return answer
