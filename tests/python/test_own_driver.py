"""A driver from outside the tree (examples/driver) is known to the commands, to Python and to fsspec."""

import json
import os
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def program(build):
    return build / "bin" / "headrace_with_sqlite"


@pytest.fixture
def run(program, tmp_path):
    def call(*arguments, **variables):
        env = {**os.environ, "HEADRACE_SQLITE_FOLDER": str(tmp_path), **variables}
        return subprocess.run([program, *arguments], env=env, capture_output=True, text=True)

    return call


@pytest.fixture
def in_python(root, build, tmp_path):
    """Runs a script with a copy of the package whose module has the driver."""
    package = tmp_path / "package" / "headrace"
    shutil.copytree(root / "python" / "headrace", package, ignore=shutil.ignore_patterns("*.so"))
    shutil.copy(build / "with_sqlite" / "_headrace.abi3.so", package)

    def call(script):
        env = {k: v for k, v in os.environ.items() if k != "HEADRACE_SQLITE_FOLDER"}
        env |= {"PYTHONPATH": str(package.parent)}
        done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_the_help_and_the_reference_name_it(run):
    assert "sqlite://name/key" in run("--help").stdout
    text = run("stores", "sqlite").stdout
    assert "HEADRACE_SQLITE_FOLDER" in text
    assert "busy_timeout" in text
    schemes = [driver["scheme"] for driver in json.loads(run("stores", "--json").stdout)]
    assert schemes == ["file", "memory", "s3", "ignite", "igfs", "sqlite"]


def test_the_doctor_examines_it(run, tmp_path):
    done = run("doctor", "--json", "--size", "1MiB", "sqlite://objects/folder")
    assert done.returncode == 0, done.stdout + done.stderr
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert str(tmp_path / "objects.sqlite") in checks["file"]["text"]
    assert {"conditional create", "conditional replace", "speed"} <= set(checks)
    assert {check["outcome"] for check in checks.values()} == {"ok"}
    wrong = run("doctor", "sqlite://objects", HEADRACE_SQLITE_BUSY_TIMEOUT="soon")
    assert wrong.returncode == 1
    assert "HEADRACE_SQLITE_BUSY_TIMEOUT" in wrong.stdout


def test_the_commands_use_it(run, tmp_path):
    (tmp_path / "hello").write_text("hello")
    assert run("cp", tmp_path / "hello", "sqlite://objects/a/b").returncode == 0
    assert run("cat", "sqlite://objects/a/b").stdout == "hello"
    refused = run("presign", "sqlite://objects/a/b")
    assert refused.returncode == 1
    assert "s3://bucket/key" in refused.stderr


def test_python_takes_its_options(in_python, tmp_path):
    script = f"""
import headrace as hr
store = hr.store("sqlite://objects/a", folder={str(tmp_path)!r}, busy_timeout=500)
store.write("b", b"data", if_absent=True)
print(store.read("b").decode(), store.url)
for wrong in ({{"busy_timeout": "soon"}}, {{"region": "here"}}):
    try:
        hr.store("sqlite://objects", folder={str(tmp_path)!r}, **wrong)
    except hr.errors.InvalidArgumentError as error:
        print("refused", error)
"""
    lines = in_python(script).splitlines()
    assert lines[0] == "data sqlite://objects/a"
    assert [line.split()[0] for line in lines[1:]] == ["refused"] * 2
    assert "s3://" in lines[2]


def test_fsspec_has_its_name(in_python, tmp_path):
    script = f"""
import fsspec, headrace.fsspec
fs = fsspec.filesystem("hr+sqlite", folder={str(tmp_path)!r})
fs.pipe("objects/a/b", b"data")
print(fs.cat("objects/a/b").decode(), fs.ls("objects/a", detail=False), type(fs).__name__)
"""
    assert in_python(script).strip() == "data ['objects/a/b'] SqliteFileSystem"
