"""For tests whose store is behind the fault proxy."""

import multiprocessing
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from faultproxy.proxy import Account, Exchange, FaultProxy, Options


def proxy_of_the_server(**options) -> FaultProxy:
    """A proxy, with those options, before the S3 server that the environment names."""
    return FaultProxy(os.environ["AWS_ENDPOINT_URL_S3"].removeprefix("http://"), Options(**options))


def run_through(
    proxy: FaultProxy, headrace, *command: str, env: dict[str, str] | None = None
) -> tuple[subprocess.CompletedProcess, Account]:
    """Runs the command with that proxy as its server: what came of it, its output as bytes, and the account
    of a proxy that has ended."""
    with proxy:
        environment = {"AWS_ENDPOINT_URL_S3": proxy.url, **(env or {})}
        done = headrace(*command, env=environment, check=False, text=False, encoding=None)
    return done, proxy.account


def _serve_traced(store: str, end: Connection) -> None:
    with FaultProxy(store, Options(rate=0)) as proxy:
        end.send(proxy.url)
        while end.recv() == "exchanges":
            seen = proxy.account.exchanges[:]
            del proxy.account.exchanges[: len(seen)]
            end.send(seen)


@contextmanager
def traced() -> Iterator[tuple[str, Callable[[], list[Exchange]]]]:
    """The URL of a proxy that disturbs nothing, before the S3 server that the environment names, and what
    tells the exchanges since it was last asked. In a process of its own: calls of TensorFlow's may hold the
    GIL while they wait for the server."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    store = os.environ["AWS_ENDPOINT_URL_S3"].removeprefix("http://")
    process = context.Process(target=_serve_traced, args=(store, theirs), daemon=True)
    process.start()

    def exchanges() -> list[Exchange]:
        ours.send("exchanges")
        return ours.recv()

    try:
        yield ours.recv(), exchanges
    finally:
        ours.send("end")
        process.join()
