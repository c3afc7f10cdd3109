"""Ignite's binary objects against Java's marshaller, both ways: tests/ignite/ObjectJudge.java."""

import pathlib
import socket
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def judge(tmp_path):
    """Runs the judge with a node of its own; returns its output."""

    def run(*arguments):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        work = tmp_path / f"node-{port}"
        work.mkdir()
        command = [ROOT / "tools/servers/ignite.sh", "java", ROOT / "tests/ignite/ObjectJudge.java"]
        command += [str(port), work, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    return run


@pytest.fixture
def probe(build):
    def run(*arguments):
        command = [build / "bin" / "headrace_ignite_object_probe", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    return run


@pytest.mark.exhaustive
@pytest.mark.parametrize("footers", [[], ["full"]], ids=["compact", "full"])
def test_reads_what_java_writes_and_writes_the_same_bytes(judge, probe, tmp_path, footers):
    judge("write", tmp_path / "java", "1", "1000", *footers)
    checked = probe("check", tmp_path / "java", *footers)
    assert int(checked.split()[1].rstrip(",")) > 1000


@pytest.mark.exhaustive
@pytest.mark.parametrize("footers", [[], ["full"]], ids=["compact", "full"])
def test_java_reads_what_headrace_writes(judge, probe, tmp_path, footers):
    probe("make", tmp_path / "ours", 3, 1000, *footers)
    output = judge("read", tmp_path / "ours", tmp_path / "read", *footers)
    # Java's builder made the same bytes of so many objects, hash codes included.
    assert int(output.split("compared ")[1].split()[0]) > 10
    probe("check", tmp_path / "read", *footers)
