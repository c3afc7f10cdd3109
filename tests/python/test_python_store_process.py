"""Stores in Python among signals and forks."""

import os
import random
import re
import subprocess
import sys
import textwrap
import warnings

import pytest
from forks import in_child, start_child

import headrace as hr

# A server that takes what is sent and never answers; SIGINT comes once it was asked. A shell starts what runs
# in the background with SIGINT ignored, and all that this starts has it so, too.
STALLED = """
    import signal, socket, threading
    import headrace as hr

    signal.signal(signal.SIGINT, signal.default_int_handler)
    server = socket.create_server(("127.0.0.1", 0))
    connections = []
    def interrupt():
        while True:
            connection, _ = server.accept()
            connections.append(connection)
            connection.recv(1)
            if len(connections) == 1:
                signal.raise_signal(signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    store = hr.store("s3://bucket", endpoint_url=f"http://127.0.0.1:{server.getsockname()[1]}",
                     access_key_id="key", secret_access_key="secret", timeout=3600)
    def upload():
        with store.upload("object") as upload:
            upload.write(bytes(20_000_000))
    try:
        ACTION
    except KeyboardInterrupt:
        print("interrupted")
"""
CALLS = {
    "read": "store.read('object')",
    "read_into": "store.read_into('object', bytearray(30_000_000))",
    "read_many": "store.read_many([('object', 0, 9)] * 100)",
    "read_many of whole objects": "store.read_many(['object'] * 100)",
    "stat": "store.stat('object')",
    "list": "list(store.list())",
    "write": "store.write('object', bytes(20_000_000))",
    "upload": "upload()",
    "remove": "store.remove('a', 'b')",
    "copy": "store.copy('a', 'b')",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ctrl_c_ends_a_call_that_nobody_answers(call):
    script = textwrap.dedent(STALLED).replace("ACTION", call)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


@pytest.fixture(params=["s3", "file"])
def store(request, s3_url, file_url):
    return hr.store({"s3": s3_url, "file": file_url}[request.param])


def test_parent_and_child_use_one_store_at_once(store):
    """Were connections shared, answers would go to the wrong one."""
    objects = {f"{number}": random.Random(number).randbytes(50_000 + number) for number in range(20)}
    for key, data in objects.items():
        store.write(key, data)

    def read_all() -> str:
        wrong = [key for _ in range(5) for key, data in objects.items() if store.read(key) != data]
        return f"wrong: {wrong}"

    of_child = start_child(read_all)
    assert (read_all(), of_child()) == ("wrong: []", "wrong: []")


def test_a_store_works_in_a_childs_child_and_is_dropped_there(store):
    store.write("object", b"data")

    def grandchild() -> str:
        nonlocal store
        answer = store.read("object").decode()
        del store
        return answer

    assert in_child(lambda: in_child(grandchild)) == "data"
    assert store.read("object") == b"data"


def test_a_child_keeps_the_options(s3_url, monkeypatch):
    endpoint = os.environ["AWS_ENDPOINT_URL_S3"]
    store = hr.store(s3_url, endpoint_url=endpoint)
    store.write("object", b"data")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    assert in_child(lambda: store.read("object").decode()) == "data"


def calls(store: hr.Store, operation: str) -> int:
    """How many of them the store's metrics count."""
    found = re.findall(
        rf'^headrace_store_call_seconds_count{{.*"{operation}".*}} (\d+)', store.metrics(), re.M
    )
    return sum(map(int, found))


def test_a_child_counts_its_own_calls(store):
    """The parent's counts have a lock, which a thread that is not in the child may hold."""
    store.write("object", b"data")
    for _ in range(3):
        store.stat("object")

    def child() -> str:
        store.stat("object")
        return str(calls(store, "stat"))

    assert in_child(child) == "1"
    assert calls(store, "stat") == 3


def test_a_store_that_is_used_while_it_is_opened_anew_stays():
    """A warning runs Python code: here a call of the very store that is being opened."""
    options = {"access_key_id": "key", "secret_access_key": "secret", "verify_tls": False, "timeout": 1}
    with pytest.warns(UserWarning, match="not checked"):
        store = hr.store("s3://bucket", endpoint_url="https://127.0.0.1:1", **options)

    def fail() -> None:
        with pytest.raises(hr.errors.Error):
            store.stat("object")

    def child() -> str:
        warnings.simplefilter("always")
        warnings.showwarning = lambda *_: fail()
        fail()
        return str(calls(store, "stat"))

    assert in_child(child) == "2"


def test_an_upload_belongs_to_the_process_that_began_it(store):
    upload = store.upload("object")
    upload.write(b"of the parent")
    assert "this upload was made in process" in in_child(lambda: str(upload.write(b"of the child")))

    def drop() -> str:
        nonlocal upload
        upload.discard()
        del upload
        return "dropped"

    assert in_child(drop) == "dropped"
    upload.commit()
    assert store.read("object") == b"of the parent"
