"""Our client of Apache Ignite against real nodes: one, three, with TLS, and behind a bad connection."""

import os
import shlex
import socket
import subprocess

import pytest
from relay_support import FaultyRelay


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

    def run(environment: dict[str, str], tests: str, timeout: int = 300) -> None:
        done = subprocess.run(
            [build / "bin/headrace_net_ignite_server_test", f"--gtest_filter={tests}"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "[  PASSED  ] 0 tests" not in done.stdout

    return run


def test_one_node(start_nodes, run_tests):
    run_tests(start_nodes(), "IgniteServer.*:IgniteAffinity.*")


@pytest.mark.exhaustive
def test_three_nodes_of_which_two_are_lost(start_nodes, run_tests):
    run_tests(start_nodes("--nodes", "3"), "IgniteServer.*:IgniteLoss.*")


def test_tls_and_users(start_nodes, run_tests, headrace, tmp_path):
    environment = start_nodes("--secure")
    run_tests(environment, "IgniteSecure.*:IgniteServer.CacheOperations*:IgniteServer.Sql*")

    address = environment["HEADRACE_IGNITE_ADDRESSES"]
    query = f"ignite-sql://{address}/?query=SELECT X AS ID FROM SYSTEM_RANGE(1, 50)"
    assert "50 in, 50 written" in headrace("prepare", query, tmp_path / "out", env=environment).stdout
    environment["HEADRACE_IGNITE_PASSWORD"] = "not-the-one"
    refused = headrace("prepare", query, tmp_path / "refused", env=environment, check=False)
    assert refused.returncode != 0
    assert "user" in refused.stderr and "not-the-one" not in refused.stderr


@pytest.mark.exhaustive
def test_client_certificates(start_nodes, run_tests):
    run_tests(start_nodes("--client-certificate"), "IgniteClientCertificate.*")


@pytest.mark.exhaustive
def test_inactive_cluster(start_nodes, run_tests):
    run_tests(start_nodes("--inactive"), "IgniteInactive.*")


def test_another_server_on_the_port(run_tests):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        run_tests({"HEADRACE_IGNITE_ADDRESSES": address}, "IgniteStranger.*")


@pytest.mark.soak
def test_a_node_of_ignite_3_is_named(start_nodes, headrace, tmp_path):
    address = start_nodes("--ignite-3")["HEADRACE_IGNITE_ADDRESSES"]
    for input in (f"ignite-sql://{address}/T", f"ignite-cache://{address}/C", f"ignite://{address}/store/a"):
        done = headrace("prepare", input, tmp_path / "out", check=False)
        assert done.returncode != 0
        assert "Ignite 3 answers here" in done.stderr and "a cluster of Ignite 2" in done.stderr


ROUNDS = [
    pytest.param(8, 5, marks=pytest.mark.slow, id="some"),
    pytest.param(200, 200, marks=pytest.mark.soak, id="many"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("rounds", "faults"), ROUNDS)
@pytest.mark.parametrize(
    ("options", "kinds"),
    [((), ["cut", "stall"]), (("--secure",), ["cut", "stall", "flip"])],
    ids=["plain", "tls"],
)
def test_bad_connections(start_nodes, run_tests, options, kinds, rounds, faults):
    """So many scans, queries and writes. Ignite's protocol has no checksums, so flipped bits show over TLS
    only."""
    environment = start_nodes(*options)
    environment["HEADRACE_IGNITE_NODE"] = environment["HEADRACE_IGNITE_ADDRESSES"]
    run_tests(environment, "IgniteFaultData.*")
    seed = int(os.environ.get("HEADRACE_SOAK_SEED", "44"))
    relay = FaultyRelay(environment["HEADRACE_IGNITE_ADDRESSES"], seed, kinds)
    environment |= {
        "HEADRACE_IGNITE_ADDRESSES": relay.url.removeprefix("http://"),
        "HEADRACE_IGNITE_ROUNDS": str(rounds),
    }
    run_tests(environment, "IgniteFaults.*", timeout=60 + 15 * rounds)
    relay.close()
    assert all(relay.made.values()), relay.made
    assert sum(relay.made.values()) >= faults, relay.made
