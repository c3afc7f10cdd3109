"""The client of Apache Ignite for Windows, under Wine, against real nodes. `./dev soak` builds it first."""

import json
import os
import pathlib
import shlex
import signal
import subprocess

import pytest

import headrace as hr

pytestmark = pytest.mark.soak

KITTENS = [(1, "WARM KITTY", 1), (2, "Schmusekätzchen 🐱 子猫", 2), (3, None, None)]


def records_of(stream: bytes) -> list[bytes]:
    """The records of a TFRecord file, each with its frame."""
    records = []
    while stream:
        size = 16 + int.from_bytes(stream[:8], "little")
        records.append(stream[:size])
        stream = stream[size:]
    return records


@pytest.fixture(scope="module")
def windows(root) -> pathlib.Path:
    """The build for Windows: HEADRACE_WINDOWS_BUILD, else build/windows."""
    return pathlib.Path(os.environ.get("HEADRACE_WINDOWS_BUILD") or root / "build" / "windows")


@pytest.fixture(scope="module")
def start(windows):
    """Starts a program for Windows, with pipes."""

    def start(name: str, *arguments: str, **environment: str) -> subprocess.Popen:
        wine = {"WINEPREFIX": str(windows / "wine"), "WINEDEBUG": "-all"}
        return subprocess.Popen(
            ["/usr/lib/wine/wine64", windows / "bin" / f"{name}.exe", *arguments],
            env={**os.environ, **wine, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return start


@pytest.fixture(scope="module")
def read_cache(start):
    """Runs headrace_read_cache.exe: exit code, output, and the errors as text."""

    def run(*arguments: str, **environment: str) -> tuple[int, bytes, str]:
        with start("headrace_read_cache", *arguments, **environment) as process:
            out, errors = process.communicate(timeout=120)
        return process.returncode, out, errors.decode()

    return run


@pytest.fixture(scope="module")
def kittens(ignite_node) -> str:
    """The address of a node with the table KITTENS, and the cache OBJECTS, whose keys are objects."""
    create = (
        "CREATE TABLE KITTENS (ID LONG PRIMARY KEY, NAME VARCHAR, VAL INT) WITH "
        '"CACHE_NAME=KITTENS,VALUE_TYPE=Kitten"'
    )
    hr.ignite.query(create, (), ignite_node)
    for row in KITTENS:
        hr.ignite.query("INSERT INTO KITTENS VALUES (?, ?, ?)", row, ignite_node)
    hr.ignite.query(
        "CREATE TABLE LITTERS (HOUSE VARCHAR, YEAR_BORN INT, FUR VARCHAR, PRIMARY KEY (HOUSE, YEAR_BORN)) "
        'WITH "CACHE_NAME=LITTERS,KEY_TYPE=LitterKey,VALUE_TYPE=Litter"',
        (),
        ignite_node,
    )
    for row in [("Zürich", 2025, "soft"), ("Zürich", 2026, None)]:
        hr.ignite.query("INSERT INTO LITTERS VALUES (?, ?, ?)", row, ignite_node)
    return ignite_node


def test_rows_are_those_that_linux_reads(read_cache, build, kittens):
    """Byte for byte, but for their order."""
    for cache in ["KITTENS", "LITTERS"]:
        for kind, rows_of in [("rows", bytes.splitlines), ("examples", records_of)]:
            code, out, errors = read_cache(kittens, kind, cache)
            assert (code, errors) == (0, "")
            linux = [build / "bin/headrace_read_cache", kittens, kind, cache]
            expected = subprocess.run(linux, capture_output=True, check=True, timeout=60).stdout
            assert sorted(rows_of(out)) == sorted(rows_of(expected)) != []

    rows = [json.loads(line) for line in read_cache(kittens, "rows", "KITTENS")[1].splitlines()]
    assert sorted((row["key"], row["val"]["NAME"], row["val"]["VAL"]) for row in rows) == KITTENS
    rows = [json.loads(line) for line in read_cache(kittens, "rows", "LITTERS")[1].splitlines()]
    assert sorted(rows, key=str) == [
        {"key": {"HOUSE": "Zürich", "YEAR_BORN": 2025}, "val": {"FUR": "soft"}},
        {"key": {"HOUSE": "Zürich", "YEAR_BORN": 2026}, "val": {"FUR": None}},
    ]


def test_a_statement_may_hold_any_character(read_cache, kittens):
    code, out, _ = read_cache(
        kittens, "query", "SELECT ID, NAME AS \"Käse\" FROM KITTENS WHERE NAME LIKE '%🐱%'"
    )
    assert (code, json.loads(out)) == (0, {"ID": 2, "Käse": KITTENS[1][1]})


def test_errors_say_what_is_wrong(read_cache, kittens):
    for arguments, environment, message in [
        (("127.0.0.1:9", "rows", "KITTENS"), {}, "cannot connect to 127.0.0.1:9: "),
        (("no-such-host.invalid", "rows", "KITTENS"), {}, 'cannot resolve "no-such-host.invalid": '),
        ((kittens, "rows", "NO-SUCH"), {}, 'cache "NO-SUCH": Ignite refuses: Cache does not exist'),
        ((kittens, "query", "DROP TABLE KITTENS"), {}, "Ignite refuses: "),
        ((kittens, "rows", "KITTENS"), {"HEADRACE_IGNITE_TLS": "1"}, "does not include TLS"),
        ((kittens,), {}, "usage:"),
    ]:
        code, out, errors = read_cache(*arguments, **environment)
        assert (code, out) == (1, b"")
        assert errors.startswith("headrace_read_cache: ") and message in errors


def test_a_lost_node_is_an_error(start, root, tmp_path):
    """Its rows are far more than what the pipe holds, so the program is in the middle of them."""
    script = root / "tools/servers/ignite.sh"
    lines = subprocess.run([script, "start", tmp_path], stdout=subprocess.PIPE, text=True, check=True).stdout
    node = dict(word.split("=", 1) for word in shlex.split(lines) if "=" in word)
    address = node["HEADRACE_IGNITE_ADDRESSES"]
    try:
        rows = {i: "x" * 10_000 for i in range(5_000)}
        hr.ignite.put_all("LARGE", rows, address, create=True)
        with start("headrace_read_cache", address, "rows", "LARGE") as process:
            first = process.stdout.readline()
            os.kill(int(node["HEADRACE_IGNITE_PIDS"].strip()), signal.SIGKILL)
            rest, errors = process.communicate(timeout=120)
    finally:
        subprocess.run([script, "stop", tmp_path], check=True, timeout=60)
    assert json.loads(first)["val"] == rows[0]  # they are alike
    assert process.returncode == 1 and len(rest.splitlines()) < 4_999
    assert address in errors.decode()


def test_the_tests_of_the_client_pass(start, ignite_node):
    """The same program as tests/python/test_ignite.py runs: large values, threads, stops, cursors, SQL."""
    with start(
        "headrace_net_ignite_server_test",
        "--gtest_filter=IgniteServer.*",
        HEADRACE_IGNITE_ADDRESSES=ignite_node,
    ) as process:
        out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, (out + errors).decode()
    assert b"[  PASSED  ] 0 tests" not in out
