"""The kinds of faults. Each is a function that plays the fault to its end, with its phase and its needs.

A phase says what has happened when the client notices the fault. `connect`: nothing. `sending`: a part of the
request was sent. `before`: the store has not seen the request. `after`: the request had its effect, but the
client cannot know that. `head` and `body`: a part of the answer arrived.
"""

import asyncio
import dataclasses
import email.utils
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from faultproxy.messages import Answer, Request
from faultproxy.play import Play

Needs = Callable[[Request], bool]


@dataclass(frozen=True)
class Fault:
    """Attributes:
    phase: see above.
    needs: whether the fault can be played to such a request.
    expected: every client must survive the fault. False: only a client that checks the meaning of the bytes,
        or that can get new credentials, survives it; the fault is played only if it is named.
    over_tls: the fault breaks TLS, so only a proxy with TLS can play it.
    burst: number of following requests, to any key, that fail in the same way.
    """

    name: str
    phase: str
    play: Callable[[Play], Awaitable[None]]
    needs: Needs
    expected: bool = True
    over_tls: bool = False
    burst: int = 0


FAULTS: dict[str, Fault] = {}


def _any(_: Request) -> bool:
    return True


def _reads(request: Request) -> bool:
    return request.method == "GET" and "?" not in request.target


def _reads_range(request: Request) -> bool:
    return _reads(request) and request.header("Range") is not None


def _sends(request: Request) -> bool:
    return int(request.header("Content-Length") or 0) > 0


def _waits_for_continue(request: Request) -> bool:
    return (request.header("Expect") or "").lower() == "100-continue"


def _writes(request: Request) -> bool:
    return request.method in ("PUT", "POST", "DELETE")


def _is_conditional(request: Request) -> bool:
    return request.method == "PUT" and (
        request.header("If-None-Match") is not None or request.header("If-Match") is not None
    )


def fault(phase: str, needs: Needs = _any, **more):
    def keep(play: Callable[[Play], Awaitable[None]]):
        FAULTS[play.__name__] = Fault(play.__name__, phase, play, needs, **more)
        return play

    return keep


# ---- answers with a status that says that nothing was done


def _status(name: str, status: int, code: str, needs: Needs = _any, burst: int = 0, **headers: str) -> None:
    async def play(play: Play) -> None:
        await play.say(status, code, **headers)

    FAULTS[name] = Fault(name, "before", play, needs, burst=burst)


_status("status_400_request_timeout", 400, "RequestTimeout", _sends, Connection="close")
_status("status_408", 408, "RequestTimeout")
_status("status_409_operation_aborted", 409, "OperationAborted", _writes)
_status("status_409_conditional_conflict", 409, "ConditionalRequestConflict", _is_conditional)
_status("status_429", 429, "TooManyRequests")
_status("status_429_retry_after", 429, "TooManyRequests", Retry_After="1")
_status("status_500", 500, "InternalError")
_status("status_502", 502, "BadGateway")
_status("status_503", 503, "ServiceUnavailable")
_status("status_503_slow_down", 503, "SlowDown")
_status("status_503_burst", 503, "SlowDown", burst=4)
_status("status_504", 504, "GatewayTimeout")


@fault("before")
async def status_502_of_a_balancer(play: Play) -> None:
    """An answer that is not S3's own: it has no XML, and ends with the connection."""
    await play.send(b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n")
    await play.send(b"<html>oops")
    play.close()


@fault("before")
async def clock_skew(play: Play) -> None:
    """The store claims that the client's clock is wrong, and reports a time that is itself three hours
    off."""
    wrong = email.utils.formatdate(time.time() + 3 * 3600, usegmt=True)
    await play.say(403, "RequestTimeTooSkewed", Date=wrong)


@fault("before", expected=False)
async def expired_token(play: Play) -> None:
    """Only new credentials help."""
    await play.say(400, "ExpiredToken")


@fault("before")
async def redirect_loop(play: Play) -> None:
    """A redirect to the same place. A client that follows it finds that it never ends."""
    await play.say(307, "TemporaryRedirect", Location=play.request.target)


# ---- answers with a status, after the effect


@fault("after", _writes)
async def status_500_after_effect(play: Play) -> None:
    await play.forward()
    await play.say(500, "InternalError")


@fault("after", _writes)
async def status_504_after_effect(play: Play) -> None:
    await play.forward()
    await play.say(504, "GatewayTimeout")


# ---- connections that break


@fault("connect")
async def reset_before(play: Play) -> None:
    play.reset()


@fault("connect")
async def close_before(play: Play) -> None:
    play.close()


@fault("sending", _sends)
async def reset_while_sending(play: Play) -> None:
    await play.swallow(int(play.request.header("Content-Length") or 0) // 2)
    play.reset()


@fault("sending", _sends)
async def stall_while_sending(play: Play) -> None:
    """Reads a part of the body and stops reading."""
    await play.swallow(int(play.request.header("Content-Length") or 0) // 2)
    await play.pause(play.patience)
    play.reset()


@fault("sending", _waits_for_continue)
async def refused_before_the_body(play: Play) -> None:
    """The final answer comes instead of 100 Continue."""
    await play.say(503, "SlowDown", Connection="close")
    play.close()


@fault("after")
async def reset_after_effect(play: Play) -> None:
    await play.forward()
    play.reset()


@fault("after")
async def close_after_effect(play: Play) -> None:
    await play.forward()
    play.close()


@fault("head")
async def reset_in_head(play: Play) -> None:
    answer = await play.forward()
    await play.send(answer.head()[: max(1, len(answer.head()) // 2)])
    play.reset()


@fault("body", _reads)
async def reset_in_body(play: Play) -> None:
    answer = await play.fetch_content()
    await play.send(answer.head() + play.cut(answer.body))
    await asyncio.sleep(0.01)  # otherwise the kernel may drop the sent bytes
    play.reset()


@fault("body", _reads)
async def close_in_body(play: Play) -> None:
    """An orderly end, with close_notify under TLS: only Content-Length shows that the body is cut."""
    answer = await play.fetch_content()
    await play.send(answer.head() + play.cut(answer.body))
    play.close()


@fault("body", _reads, over_tls=True)
async def tls_close_without_notify(play: Play) -> None:
    """TCP ends in order, TLS does not: a party in the middle can end a connection this way without its
    keys."""
    answer = await play.fetch_content()
    await play.send(answer.head() + play.cut(answer.body))
    await play.close_below_tls()


@fault("body", _reads, over_tls=True)
async def tls_cut_without_length(play: Play) -> None:
    """The same for a body that ends with the connection: only the missing close_notify shows the cut."""
    answer = await play.fetch_content()
    fields = [(name, value) for name, value in answer.headers if name.lower() != "content-length"]
    until_close = dataclasses.replace(answer, headers=[*fields, ("Connection", "close")])
    await play.send(until_close.head() + play.cut(answer.body))
    await play.close_below_tls()


# ---- slowness


@fault("before")
async def stall_before_answer(play: Play) -> None:
    await play.pause(play.patience)
    play.reset()


@fault("body", _reads)
async def stall_in_body(play: Play) -> None:
    answer = await play.fetch_content()
    await play.send(answer.head() + play.cut(answer.body))
    await play.pause(play.patience)
    play.reset()


@fault("before")
async def slow_first_byte(play: Play) -> None:
    """A correct answer, but late."""
    answer = await play.forward()
    await play.pause(min(2.0, play.patience / 2))
    await play.send(answer.bytes())


@fault("body", _reads)
async def trickle(play: Play) -> None:
    """Sends 1 kB per second while the client accepts that, then the rest."""
    answer = await play.forward()
    await play.send(answer.head())
    data = answer.body
    until = asyncio.get_running_loop().time() + play.patience
    while data and asyncio.get_running_loop().time() < until:
        await play.send(data[:100])
        data = data[100:]
        await play.pause(0.1)
    await play.send(data)


# ---- answers that are wrong


@fault("head")
async def no_http(play: Play) -> None:
    await play.forward()
    await play.send(b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n")
    play.close()


@fault("head")
async def endless_head(play: Play) -> None:
    await play.forward()
    await play.send(b"HTTP/1.1 200 OK\r\n")
    for number in range(2_000):
        await play.send(b"x-filler-%d: %s\r\n" % (number, b"x" * 1_000))
    play.close()


@fault("head", _reads)
async def two_lengths(play: Play) -> None:
    answer = await play.forward()
    extra = f"Content-Length: {len(answer.body) + 1}\r\n\r\n".encode()
    await play.send(answer.head().removesuffix(b"\r\n") + extra + answer.body)
    play.close()


def _resized(answer: Answer, body: bytes) -> Answer:
    return dataclasses.replace(answer, body=body).with_header("Content-Length", str(len(body)))


@fault("body", _reads_range)
async def short_body(play: Play) -> None:
    """The body is complete by its Content-Length, but smaller than the requested range."""
    answer = await play.fetch_content()
    await play.send(_resized(answer, play.cut(answer.body)).bytes())


@fault("body", _reads_range)
async def long_body(play: Play) -> None:
    answer = await play.fetch_content()
    await play.send(_resized(answer, answer.body + b"surplus").bytes())


@fault("body", _reads_range)
async def bytes_after_the_end(play: Play) -> None:
    """Bytes after the end that Content-Length gives; they belong to no answer."""
    answer = await play.forward()
    await play.send(answer.bytes() + b"surplus")


@fault("body", _reads_range)
async def other_range(play: Play) -> None:
    """The right bytes, with a Content-Range of another place."""
    answer = await play.forward()
    if answer.status != 206:
        return await play.send(answer.bytes())
    size = len(answer.body)
    wrong = answer.with_header("Content-Range", f"bytes {size}-{2 * size - 1}/{4 * size}")
    await play.send(wrong.bytes())


@fault("body", _reads_range)
async def whole_object_for_a_range(play: Play) -> None:
    """The answer of a cache that does not support ranges."""
    fields = [(name, value) for name, value in play.request.headers if name.lower() != "range"]
    answer = await play.forward(dataclasses.replace(play.request, headers=fields))
    await play.send(answer.bytes())


@fault("body", _reads, expected=False)
async def flipped_bit(play: Play) -> None:
    answer = await play.fetch_content()
    body = bytearray(answer.body)
    body[play.draw.randrange(len(body))] ^= 1 << play.draw.randrange(8)
    await play.send(dataclasses.replace(answer, body=bytes(body)).bytes())


@fault("after")
async def answer_twice(play: Play) -> None:
    """Sends the answer twice: the second copy waits for the next request on this connection."""
    answer = await play.forward()
    await play.send(answer.bytes() * 2)


@fault("after")
async def stray_continue(play: Play) -> None:
    """Unrequested interim answers. RFC 9110 allows them, so they must have no effect."""
    answer = await play.forward()
    hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    await play.send(hints + answer.bytes())


@fault("after")
async def chunked(play: Play) -> None:
    """The right answer in chunks. HTTP allows this, so it must have no effect."""
    answer = await play.forward()
    if not answer.has_body:
        return await play.send(answer.bytes())
    fields = [(name, value) for name, value in answer.headers if name.lower() != "content-length"]
    size = max(1, len(answer.body) // 3)
    pieces = [answer.body[at : at + size] for at in range(0, len(answer.body), size)]
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    fields.append(("Transfer-Encoding", "chunked"))
    await play.send(dataclasses.replace(answer, headers=fields, body=body).bytes())


@fault("after")
async def chunks_without_end(play: Play) -> None:
    answer = await play.forward()
    if not answer.has_body:
        play.close()
    fields = [(name, value) for name, value in answer.headers if name.lower() != "content-length"]
    fields.append(("Transfer-Encoding", "chunked"))
    body = b"%x\r\n%s\r\n" % (len(answer.body), answer.body) if answer.body else b""
    await play.send(dataclasses.replace(answer, headers=fields, body=body).bytes())
    play.close()


@fault("after", lambda request: request.method == "POST" or request.header("x-amz-copy-source") is not None)
async def error_in_success(play: Play) -> None:
    """Status 200, sent before the work, which then fails, as CompleteMultipartUpload and CopyObject may
    do."""
    body = b'<?xml version="1.0"?>\n<Error><Code>InternalError</Code><Message>asked for</Message></Error>'
    await play.send(Answer(200, "OK", [("Content-Length", str(len(body)))], body).bytes())
