"""The tools of a fault: the client's request, the store behind the proxy, the raw connection to the
client."""

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import Awaitable, Callable
from xml.sax.saxutils import escape

from faultproxy.messages import Answer, Request


class HangUp(Exception):
    """The fault is over, and so is the connection."""


class Unfit(Exception):
    """The fault cannot be applied to this answer of the store; the client gets the answer unchanged."""

    def __init__(self, answer: Answer):
        super().__init__()
        self.answer = answer


class Play:
    """One exchange that will fail.

    Attributes:
        request: the client's request; without its body if the fault belongs to the phase "sending".
        draw: random numbers for this fault only.
        patience: seconds after which a client that waits is expected to have given up.
    """

    def __init__(
        self,
        request: Request,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        ask_store: Callable[[Request], Awaitable[Answer]],
        draw: random.Random,
        patience: float,
    ):
        self.request, self.draw, self.patience = request, draw, patience
        self._reader, self._writer, self._ask_store = reader, writer, ask_store

    async def forward(self, request: Request | None = None) -> Answer:
        """Sends the request, or another one, to the store, where it takes effect, and returns the answer."""
        return await self._ask_store(request or self.request)

    async def fetch_content(self) -> Answer:
        """The store's answer to the request. Raises Unfit if the answer is an error or empty: a truncated
        error would be a different error, not a fault."""
        answer = await self.forward()
        if answer.status >= 300 or not answer.body:
            raise Unfit(answer)
        return answer

    async def send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError as error:
            raise HangUp from error

    async def say(self, status: int, code: str, **headers: str) -> None:
        """An error in S3's format. Keywords are header fields, with '_' for '-'."""
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{escape(code)}</Code><Message>A fault that was asked for.</Message></Error>"
        ).encode()
        fields = [(name.replace("_", "-"), value) for name, value in headers.items()]
        fields += [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
        has_body = self.request.method != "HEAD"
        await self.send(Answer(status, "Fault", fields, body, has_body).bytes())

    def cut(self, data: bytes) -> bytes:
        """A prefix of `data`, at least one byte shorter."""
        return data[: self.draw.choice([0, 1, len(data) // 2, len(data) - 1, self.draw.randrange(len(data))])]

    async def pause(self, seconds: float) -> None:
        """Ends early, with HangUp, if the client is gone."""
        until = asyncio.get_running_loop().time() + seconds
        while (left := until - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(min(left, 0.02))
            if self._reader.at_eof() or self._writer.transport.is_closing():
                raise HangUp

    async def swallow(self, most: int) -> None:
        """Reads that many bytes of the client's request, or fewer if no more arrive."""
        try:
            while most > 0 and (data := await asyncio.wait_for(self._reader.read(most), self.patience)):
                most -= len(data)
        except (ConnectionError, TimeoutError) as error:
            raise HangUp from error

    def reset(self) -> None:
        """Breaks the connection, as a server that crashes does."""
        raw = self._writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
        raise HangUp

    async def close_below_tls(self) -> None:
        """Ends the TCP connection in order, but does not end TLS: sends no close_notify. Bytes for which the
        client has no room are not sent, so a long body is cut somewhere before the requested place.
        """
        await asyncio.sleep(0.01)
        with contextlib.suppress(OSError):  # the client closed first
            self._writer.get_extra_info("socket").shutdown(socket.SHUT_WR)
        self._writer.transport.abort()
        raise HangUp

    def close(self) -> None:
        """Ends TLS and the connection in order."""
        raise HangUp
