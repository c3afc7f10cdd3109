"""Our client of Apache Ignite against real nodes: one, three, with TLS, and behind a bad connection."""

import contextlib
import os
import random
import shlex
import socket
import subprocess

import pytest
from relay_support import Relay


@pytest.fixture(scope="module")
def start_nodes(root, tmp_path_factory):
    """Starts a cluster and returns its environment."""
    folders = []

    def start(*options: str) -> dict[str, str]:
        folder = tmp_path_factory.mktemp("ignite")
        folders.append(folder)
        lines = subprocess.run(
            [root / "tools/servers/ignite.sh", "start", folder, *options],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=600,
        ).stdout
        return dict(word.split("=", 1) for word in shlex.split(lines) if "=" in word)

    yield start
    for folder in folders:
        subprocess.run([root / "tools/servers/ignite.sh", "stop", folder], check=True, timeout=60)


@pytest.fixture(scope="module")
def run_tests(build):
    """Runs those of the program's tests that the filter names."""

    def run(environment: dict[str, str], tests: str) -> None:
        done = subprocess.run(
            [build / "bin/headrace_net_ignite_server_test", f"--gtest_filter={tests}"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "[  PASSED  ] 0 tests" not in done.stdout

    return run


def test_one_node(start_nodes, run_tests):
    run_tests(start_nodes(), "IgniteServer.*:IgniteAffinity.*")


def test_three_nodes_of_which_two_are_lost(start_nodes, run_tests):
    run_tests(start_nodes("--nodes", "3"), "IgniteServer.*:IgniteLoss.*")


def test_tls_and_users(start_nodes, run_tests):
    run_tests(start_nodes("--secure"), "IgniteSecure.*:IgniteServer.CacheOperations*:IgniteServer.Sql*")


def test_client_certificates(start_nodes, run_tests):
    run_tests(start_nodes("--client-certificate"), "IgniteClientCertificate.*")


def test_inactive_cluster(start_nodes, run_tests):
    run_tests(start_nodes("--inactive"), "IgniteInactive.*")


def test_another_server_on_the_port(run_tests):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        run_tests({"HEADRACE_IGNITE_ADDRESSES": address}, "IgniteStranger.*")


class FaultyRelay(Relay):
    """Cuts or stalls each direction of a connection, or flips a bit in it, at a random place."""

    def __init__(self, target: str, seed: int, kinds: list[str]):
        self._random = random.Random(seed)
        self._kinds = kinds
        self.made = dict.fromkeys(kinds, 0)
        super().__init__(target)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        left = int(2 ** self._random.uniform(4, 23))
        kind = self._random.choice(self._kinds)
        with contextlib.suppress(OSError):
            while data := source.recv(min(left, 1 << 16)):
                left -= len(data)
                if left == 0:
                    self.made[kind] += 1
                    if kind == "cut":
                        break
                    if kind == "stall":
                        while source.recv(1 << 16):  # nothing more arrives, and nobody closes
                            pass
                        break
                    data = data[:-1] + bytes([data[-1] ^ 0x40])
                    left = 1 << 40
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("options", "kinds"),
    [((), ["cut", "stall"]), (("--secure",), ["cut", "stall", "flip"])],
    ids=["plain", "tls"],
)
def test_bad_connections(start_nodes, run_tests, options, kinds):
    """Ignite's protocol has no checksums, so flipped bits show over TLS only."""
    environment = start_nodes(*options)
    run_tests(environment, "IgniteFaultData.*")
    relay = FaultyRelay(environment["HEADRACE_IGNITE_ADDRESSES"], seed=7, kinds=kinds)
    address = relay.url.removeprefix("http://")
    run_tests({**environment, "HEADRACE_IGNITE_ADDRESSES": address}, "IgniteFaults.*")
    relay.close()
    assert all(relay.made.values()), relay.made
