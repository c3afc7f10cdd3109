"""Objects in the memory of an Apache Ignite cluster: by commands, in Python, fsspec and TensorFlow."""

import contextlib
import importlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading

import fsspec
import pytest
from kill_support import write_archive

import headrace as hr

importlib.import_module("headrace.fsspec")  # registers hr+ignite
MEBIBYTE = 1 << 20


def test_the_commands_work_on_it(headrace, ignite_node, ignite_url, tmp_path):
    content = os.urandom(3 * MEBIBYTE + 5)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/large").write_bytes(content)
    (tmp_path / "folder/small").write_text("hello")
    headrace("sync", tmp_path / "folder", f"{ignite_url}/folder")
    headrace("cp", f"{ignite_url}/folder/large", f"{ignite_url}/copy")
    assert headrace("cat", f"{ignite_url}/folder/small").stdout == "hello"
    assert headrace("cat", f"{ignite_url}/copy", text=False, encoding=None).stdout == content
    listed = json.loads(headrace("ls", "--recursive", "--json", ignite_url).stdout)
    assert str(3 * MEBIBYTE + 5) in json.dumps(listed)
    headrace("sync", f"{ignite_url}/folder", tmp_path / "back")
    assert (tmp_path / "back/large").read_bytes() == content
    headrace("rm", "--recursive", "--yes", f"{ignite_url}/folder")
    assert [info.key for info in hr.store(ignite_url).list()] == ["copy"]
    doctor = json.loads(headrace("doctor", "--json", "--size", "2MiB", ignite_url).stdout)
    checks = {check["name"]: check["outcome"] for check in doctor["checks"]}
    assert {"connection", "caches", "conditional create", "conditional replace", "speed"} <= set(checks)
    assert set(checks.values()) == {"ok"}


def test_python_and_fsspec_read_and_write_it(ignite_node, ignite_url):
    store = hr.store(ignite_url)
    first = store.write("a/b", b"one", if_absent=True)
    with pytest.raises(hr.errors.AlreadyExistsError):
        store.write("a/b", b"two", if_absent=True)
    second = store.write("a/b", b"two", if_version=first.version)
    with pytest.raises(hr.errors.FailedPreconditionError, match=r"ignite://.*/a/b"):
        store.write("a/b", b"three", if_version=first.version)
    assert (store.read("a/b"), store.stat("a/b").version) == (b"two", second.version)
    with store.upload("large") as upload:
        for piece in (b"x" * 700_000, b"y" * 700_000):
            upload.write(piece)
    assert store.read_many([("large", 699_999, 2), ("a/b", 1, 2)]) == [b"xy", b"wo"]
    files = fsspec.filesystem("hr+ignite")
    root = f"hr+{ignite_url}"
    assert [name.rpartition("/")[2] for name in sorted(files.find(root))] == ["b", "large"]
    with fsspec.open(f"{root}/c.txt", "w") as file:
        file.write("text")
    assert files.cat(f"{root}/c.txt") == b"text"
    with pytest.raises(hr.errors.UnimplementedError, match="host/name/key"):
        files.ls(f"hr+ignite://{ignite_node}")
    with pytest.raises(hr.errors.InvalidArgumentError, match="set the host in the environment"):
        fsspec.filesystem("hr+igfs").ls(f"hr+igfs://{ignite_node}/a")
    host, _, prefix = ignite_url.removeprefix("ignite://").partition("/")
    assert not hr.store(f"igfs://{host}/{prefix}").exists("a/b")  # a store of another name


WRITER = """
import sys
import headrace as hr
upload = hr.store(sys.argv[1]).upload("object")
upload.write(bytes(5 << 20))
print("sent", flush=True)
sys.stdin.readline()
try:
    upload.commit()
except hr.Error as error:
    print(error)
"""


@contextlib.contextmanager
def stalled_writer(url: str):
    """A process that has sent most of an object, and waits."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout.readline() == "sent\n"
        yield writer
        writer.kill()


def test_gc_removes_what_a_killed_writer_left_and_nothing_else(headrace, ignite_url):
    store = hr.store(ignite_url)
    store.write("object", b"before")
    with stalled_writer(ignite_url) as killed, stalled_writer(f"{ignite_url}/other"):
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert store.read("object") == b"before"
        assert [info.key for info in store.list()] == ["object"]
        kept = json.loads(headrace("gc", "--json", ignite_url).stdout)
        assert (kept["removed"], kept["kept_too_young"]) == (0, 2)
        collected = json.loads(headrace("gc", "--json", "--older-than", "0s", f"{ignite_url}/object").stdout)
        assert collected["removed"] == 1
        left = json.loads(headrace("gc", "--json", "--dry-run", "--older-than", "0s", ignite_url).stdout)
        assert left["removed"] == 1
    assert store.read("object") == b"before"


def test_a_writer_that_was_stalled_too_long_fails_and_damages_nothing(headrace, ignite_url):
    store = hr.store(ignite_url)
    store.write("object", bytes(2 * MEBIBYTE))
    with stalled_writer(ignite_url) as writer:
        writer.send_signal(signal.SIGSTOP)
        headrace("gc", "--older-than", "0s", ignite_url)
        writer.send_signal(signal.SIGCONT)
        told = writer.communicate("go on\n", timeout=60)[0]
    assert "its unfinished write was removed" in told
    assert f"{ignite_url}/object" in told
    assert store.read("object") == bytes(2 * MEBIBYTE)
    assert json.loads(headrace("gc", "--json", "--older-than", "0s", ignite_url).stdout)["removed"] == 0


def answer_all(server: socket.socket, answer: bytes) -> None:
    with contextlib.suppress(OSError):
        while True:
            client = server.accept()[0]
            client.recv(1 << 10)
            client.sendall(answer)
            client.close()


def test_other_servers_on_the_port_are_named(headrace):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    refused = headrace("ls", f"ignite://127.0.0.1:{port}/store", check=False)
    assert refused.returncode == 1
    assert f"127.0.0.1:{port}" in refused.stderr
    for answer, told in (
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP server answers here"),
        (b"IGNI\x00\x00\x00\x00", "Ignite 3 answers here"),
    ):
        with socket.create_server(("127.0.0.1", 0)) as server:
            threading.Thread(target=answer_all, args=(server, answer), daemon=True).start()
            port = server.getsockname()[1]
            foreign = headrace("doctor", f"ignite://127.0.0.1:{port}/store", check=False)
            assert foreign.returncode == 1
            assert told in foreign.stdout
    assert "a name is missing" in headrace("ls", "ignite://127.0.0.1", check=False).stderr


OLD_SCRIPT = """
import headrace.tensorflow
import tensorflow as tf
with tf.io.gfile.GFile("igfs:///hello.txt", "w") as f:
    f.write("Hello, world!")
print(tf.io.gfile.GFile("igfs:///hello.txt").read(), tf.io.gfile.listdir("igfs:///"))
"""


@pytest.mark.exhaustive
def test_scripts_for_the_former_file_system_work_again(ignite_node, headrace):
    host, port = ignite_node.split(":")
    settings = {"IGNITE_HOST": host, "IGNITE_PORT": port, "IGFS_FS_NAME": "old_scripts"}
    done = subprocess.run(
        [sys.executable, "-c", OLD_SCRIPT],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "Hello, world! ['hello.txt']\n"
    assert headrace("cat", "igfs:///hello.txt", env=settings).stdout == "Hello, world!"
    assert headrace("cat", f"ignite://{ignite_node}/old_scripts/hello.txt").stdout == "Hello, world!"
    headrace("rm", "igfs:///hello.txt", env=settings)


@pytest.mark.exhaustive
def test_tls_and_users_are_options(root, headrace, tmp_path):
    script = root / "tools/servers/ignite.sh"
    started = subprocess.run(
        [script, "start", tmp_path / "node", "--client-certificate"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    settings = dict(word.split("=", 1) for word in shlex.split(started.stdout) if "=" in word)
    try:
        url = f"ignite://{settings['HEADRACE_IGNITE_ADDRESSES']}/secure"
        files = {
            "ca_file": settings["HEADRACE_IGNITE_CA_FILE"],
            "client_certificate": settings["HEADRACE_IGNITE_CERTIFICATE_FILE"],
            "client_key": settings["HEADRACE_IGNITE_KEY_FILE"],
        }
        store = hr.store(url, username="ignite", password="ignite", backups=0, **files)
        store.write("a", bytes(2 * MEBIBYTE))
        assert store.read("a") == bytes(2 * MEBIBYTE)
        with pytest.raises(hr.errors.UnauthenticatedError) as refused:
            hr.store(url, username="ignite", password="wrong-secret", **files).read("a")
        assert "check user and password" in str(refused.value)
        assert "wrong-secret" not in str(refused.value)
        with pytest.raises(hr.Error, match="TLS"):
            hr.store(url).read("a")
        assert headrace("stat", f"{url}/a", env=settings).returncode == 0
        examined = headrace("doctor", url, env={**settings, "HEADRACE_IGNITE_PASSWORD": "x"}, check=False)
        assert "HEADRACE_IGNITE_PASSWORD" in examined.stdout
    finally:
        subprocess.run([script, "stop", tmp_path / "node"], check=True, timeout=60)


@pytest.mark.exhaustive
def test_prepare_train_and_evaluate_with_everything_in_the_cluster(
    headrace, ignite_url, tmp_path, tracing_environment
):
    reviews = {
        f"aclImdb/{split}/{label}/{i}_{rating}.txt": f"{words} {i}".encode()
        for split in ("train", "test")
        for label, rating, words in (("pos", 9, "good and fine"), ("neg", 2, "bad and dull"))
        for i in range(24)
    }
    write_archive(tmp_path / "reviews.tar.gz", reviews)
    headrace("cp", tmp_path / "reviews.tar.gz", f"{ignite_url}/reviews.tar.gz")
    headrace("prepare", f"{ignite_url}/reviews.tar.gz", f"{ignite_url}/data", "--encoder", "hash:64")
    headrace("verify", f"{ignite_url}/data")
    run = f"{ignite_url}/runs/1"
    headrace("train", f"{ignite_url}/data", run, "--epochs", "2", "--batch-size", "8")
    measured = json.loads(
        headrace("evaluate", run, "--data", f"{ignite_url}/data", "--split", "test", "--json").stdout
    )
    assert measured
    keys = [info.key for info in hr.store(run).list()]
    assert any("tfevents" in key for key in keys)
    lineage = headrace("lineage", run).stdout
    assert f"{ignite_url}/reviews.tar.gz" in lineage


@pytest.mark.exhaustive
def test_objects_outlive_a_node(root, headrace, tmp_path):
    script = root / "tools/servers/ignite.sh"
    started = subprocess.run(
        [script, "start", tmp_path / "nodes", "--nodes", "2"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    settings = dict(word.split("=", 1) for word in shlex.split(started.stdout) if "=" in word)
    try:
        store = hr.store(f"ignite://{settings['HEADRACE_IGNITE_ADDRESSES']}/kept")
        contents = {f"folder/{number}": os.urandom(number * 300_000) for number in range(12)}
        for key, content in contents.items():
            store.write(key, content)
        os.kill(int(settings["HEADRACE_IGNITE_PIDS"].split()[0]), signal.SIGKILL)
        assert {key: store.read(key) for key in contents} == contents
        assert [info.key for info in store.list()] == sorted(contents)
        store.write("folder/3", b"replaced")
        store.remove("folder/4")
        assert store.read("folder/3") == b"replaced"
        assert not store.exists("folder/4")
        examined = headrace("doctor", store.url, "--size", "1MiB", check=False)
        assert examined.returncode == 0, examined.stdout
    finally:
        subprocess.run([script, "stop", tmp_path / "nodes"], check=True, timeout=60)
