"""The proxy itself: it accepts clients, decides which exchange fails and how, and keeps the account."""

import asyncio
import collections
import contextlib
import dataclasses
import random
import ssl
import threading
from collections.abc import Iterable

from faultproxy.faults import FAULTS, Fault
from faultproxy.messages import MOST_HEAD_BYTES, Answer, Closed, Request, read_answer, read_body, read_head
from faultproxy.play import HangUp, Play, Unfit


@dataclasses.dataclass
class Options:
    """Attributes:
    rate: the share of all requests that should fail. The further failures of a burst are added to that.
    kinds: names in FAULTS; if empty, all kinds that every client must survive, and that can be played with
        the given `tls`.
    most: largest number of faults; 0: no limit.
    spare: number of requests at the start that pass without a fault.
    apart: number of requests after each fault that pass without a fault.
    path: only requests whose path contains this text fail.
    patience: seconds after which a waiting client is expected to have given up.
    tls: the proxy uses TLS with its clients, but plain HTTP with the store.
    """

    rate: float = 0.1
    kinds: Iterable[str] = ()
    seed: int = 1
    most: int = 0
    spare: int = 0
    apart: int = 0
    path: str = ""
    patience: float = 5.0
    tls: ssl.SSLContext | None = None

    def faults(self) -> list[Fault]:
        """Raises KeyError with the name of an unknown kind, or ValueError with a kind that needs TLS."""
        named = [FAULTS[name] for name in self.kinds]
        if names := [kind.name for kind in named if kind.over_tls and not self.tls]:
            raise ValueError(f"without TLS there is no {', '.join(names)}")
        playable = (kind for kind in FAULTS.values() if self.tls or not kind.over_tls)
        return named or [kind for kind in playable if kind.expected]


@dataclasses.dataclass(frozen=True)
class Exchange:
    """An exchange without a fault."""

    method: str
    path: str
    query: str
    status: int
    sent_bytes: int
    received_bytes: int


@dataclasses.dataclass
class Account:
    """The record of the proxy's work, updated while it runs.

    Attributes:
        requests: number of requests, retries included.
        injected: kind → how often it was played to the end; unplayed kinds have 0.
        log: one line for each fault: number of the request, kind, method and path.
        exchanges: exchanges without a fault, in the order of their answers.
    """

    requests: int = 0
    injected: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    log: list[str] = dataclasses.field(default_factory=list)
    exchanges: list[Exchange] = dataclasses.field(default_factory=list)

    @property
    def faults(self) -> int:
        return self.injected.total()

    def never(self) -> list[str]:
        return sorted(name for name, count in self.injected.items() if count == 0)


class FaultProxy:
    """A proxy on 127.0.0.1 in front of the S3 server at `store` ("host:port"), with its own thread.

    with FaultProxy("127.0.0.1:9000", Options(rate=0.1, seed=7)) as proxy:
        …                        # clients use proxy.url
    assert not proxy.account.never()

    Which exchanges fail depends on the seed and on the order in which requests come. Among the kinds that fit
    a request, the proxy chooses one that was played least often.
    """

    def __init__(self, store: str, options: Options):
        host, _, port = store.rpartition(":")
        self.account = Account()
        self.url = ""
        self._store, self._options = (host, int(port)), options
        self._faults = options.faults()
        self.account.injected.update({kind.name: 0 for kind in self._faults})
        self._started = 0  # number of faults, finished or not
        self._latest = 0  # number of the last request with a fault
        self._begun: collections.Counter[str] = collections.Counter()
        self._burst: list[Fault] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()

    def __enter__(self) -> "FaultProxy":
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    # ---- the event loop's thread

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        self._serving: set[asyncio.Task] = set()
        server = await asyncio.start_server(
            self._serve_client, "127.0.0.1", 0, limit=MOST_HEAD_BYTES, ssl=self._options.tls
        )
        scheme = "https" if self._options.tls else "http"
        self.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._over.wait()
        server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._serving.add(task)
        store = _StoreConnection(self._store)
        try:
            while await self._serve_exchange(reader, writer, store):
                pass
        except (Closed, HangUp, ConnectionError, asyncio.CancelledError):
            pass  # the client left, the fault ended the exchange, or the proxy stops
        finally:
            store.close()
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
            self._serving.discard(task)

    async def _serve_exchange(self, reader, writer, store: "_StoreConnection") -> bool:
        line, headers = await read_head(reader)
        method, target, _ = line.split(" ")
        request = Request(method, target, headers)
        number = self.account.requests
        self.account.requests += 1
        fault = self._choose(number, request)
        if fault is None or fault.phase != "sending":
            if (request.header("Expect") or "").lower() == "100-continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.body = await read_body(reader, headers, until_close=False)
        if fault is None:
            answer = await store.ask(request)
            query = request.target.partition("?")[2]
            sizes = len(request.body), len(answer.body) if answer.has_body else 0
            self.account.exchanges.append(Exchange(method, request.path, query, answer.status, *sizes))
            writer.write(answer.bytes())
            await writer.drain()
            return True
        draw = random.Random(f"{self._options.seed} {number}")
        play = Play(request, reader, writer, store.ask, draw, self._options.patience)
        was_played = True  # even if the client closed first, which it may
        try:
            await fault.play(play)
        except Unfit as unfit:
            was_played = False
            self._started -= 1
            self._begun[fault.name] -= 1
            await play.send(unfit.answer.bytes())
        finally:
            if was_played:
                self.account.injected[fault.name] += 1
                self.account.log.append(f"{number} {fault.name} {method} {request.path}")
        return True

    def _choose(self, number: int, request: Request) -> Fault | None:
        if self._burst:
            return self._burst.pop()
        options = self._options
        draw = random.Random(f"{options.seed} {number} choice")
        if number < options.spare or options.path not in request.path or draw.random() >= options.rate:
            return None
        if options.most and self._started >= options.most:
            return None
        if self._started and number - self._latest <= options.apart:
            return None
        fitting = [kind for kind in self._faults if kind.needs(request)]
        if not fitting:
            return None
        fewest = min(self._begun[kind.name] for kind in fitting)
        chosen = draw.choice([kind for kind in fitting if self._begun[kind.name] == fewest])
        self._started += 1
        self._latest = number
        self._begun[chosen.name] += 1
        self._burst = [chosen] * chosen.burst
        return chosen


class _StoreConnection:
    """One connection to the store, made when needed and kept for the next request."""

    def __init__(self, address: tuple[str, int]):
        self._address = address
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Request) -> Answer:
        while True:
            kept = self._streams is not None
            try:
                return await self._ask_once(request)
            except (Closed, ConnectionError):
                self.close()
                if not kept:
                    raise

    async def _ask_once(self, request: Request) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address, limit=MOST_HEAD_BYTES)
        reader, writer = self._streams
        headers = [(name, value) for name, value in request.headers if name.lower() != "expect"]
        writer.write(dataclasses.replace(request, headers=headers).head() + request.body)
        await writer.drain()
        answer = await read_answer(reader, request.method)
        if (answer.header("Connection") or "").lower() == "close":
            self.close()
        return answer

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None
