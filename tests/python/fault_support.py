"""For tests whose store is behind the fault proxy."""

import os
import subprocess

from faultproxy.proxy import Account, FaultProxy, Options


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
