"""The loader among signals, forks, threads, and other loaders; before and after TensorFlow."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest
import tfrecords

import headrace as hr

COLUMNS = {"number": hr.int64, "vector": hr.float32[3]}
RECORDS = 600

# Holds all batches that the budget has room for: the next one is waited for.
HOLD_ALL = """
    import signal, sys, threading
    import headrace as hr

    data = hr.open(sys.argv[1])
    loader = data.loader(batch_size=1, shuffle=False, epochs=1000, memory_budget="300kB", threads=1,
                         columns={"number": hr.int64, "vector": hr.float32[3]})
    held = []
    def hold_all(told):
        while True:
            batch = next(loader)
            held.append(batch)
            told(len(held))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tfrecords.write_numbered(tmp_path_factory.mktemp("process") / "data", RECORDS)


def numbers(loader) -> list[int]:
    return [int(number) for batch in loader for number in batch["number"]]


def run_script(script: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_ctrl_c_ends_a_wait_and_the_loader_goes_on_afterwards(folder):
    script = textwrap.dedent(HOLD_ALL) + textwrap.dedent("""
        timer = threading.Timer(0, lambda: None)
        def told(count):
            global timer
            timer.cancel()  # no batch for a second: this one is waited for
            timer = threading.Timer(1, signal.raise_signal, [signal.SIGINT])
            timer.start()
        try:
            hold_all(told)
        except KeyboardInterrupt:
            step = len(held)
            held.clear()
            print("interrupted", [int(next(loader)["number"][0]) for _ in range(3)] ==
                  [(step + i) % len(data) for i in range(3)])
    """)
    done = run_script(script, folder)
    assert (done.stdout, done.returncode) == ("interrupted True\n", 0), done.stderr


def test_ctrl_c_ends_the_opening_of_a_store_that_does_not_answer():
    script = """
        import os, signal, socket, threading
        import headrace as hr

        listener = socket.create_server(("127.0.0.1", 0))
        os.environ.update(AWS_ENDPOINT_URL_S3=f"http://127.0.0.1:{listener.getsockname()[1]}",
                          AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b")
        threading.Timer(1, signal.raise_signal, [signal.SIGINT]).start()
        try:
            hr.open("s3://bucket/data")
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = run_script(script)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


def test_a_second_thread_in_next_is_refused(folder):
    script = textwrap.dedent(HOLD_ALL) + textwrap.dedent("""
        refused = threading.Event()
        def other(count):
            def take():
                try:
                    next(loader)
                except hr.errors.FailedPreconditionError as error:
                    if "another thread" in str(error):
                        refused.set()
                        held.clear()
            timer = threading.Timer(1, take)
            timer.start()
            if refused.is_set():
                timer.cancel()
                raise SystemExit
            timers.append(timer)
            if len(timers) > 1:
                timers[-2].cancel()
        timers = []
        try:
            hold_all(other)
        finally:
            for timer in timers:
                timer.cancel()
            print("refused", refused.is_set())
    """)
    done = run_script(script, folder)
    assert (done.stdout, done.returncode) == ("refused True\n", 0), done.stderr


def in_child(work) -> str:
    """What `work` returns in a fork of this process, whose interpreter then ends as usual."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            signal.alarm(60)
            answer = work()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    assert os.waitpid(process, 0)[1] == 0
    return answer


def test_use_after_a_fork_is_refused_and_what_was_there_can_be_dropped(folder):
    data = hr.open(folder)
    loader = data.loader(batch_size=10, seed=1, columns=COLUMNS)
    batches = [next(loader) for _ in range(3)]

    def use(action):
        def work():
            try:
                action()
            except hr.errors.FailedPreconditionError as error:
                return str(error)
            return "no error"

        return in_child(work)

    assert "fork" in use(lambda: next(loader))
    assert "fork" in use(lambda: loader.stats())
    assert "open the data and make the loader" in use(lambda: data.loader(batch_size=10, columns=COLUMNS))

    def drop():
        nonlocal loader, batches
        del loader, batches
        fresh = hr.open(folder).loader(batch_size=10, seed=1, columns=COLUMNS)
        return f"{len(numbers(fresh))} records"

    assert in_child(drop) == f"{RECORDS} records"
    assert len(numbers(loader)) == RECORDS - 30


def test_loaders_run_side_by_side(folder):
    data = hr.open(folder)
    expected = numbers(data.loader(batch_size=16, seed=7, epochs=2, columns=COLUMNS))
    found: list = [None] * 8

    def work(place):
        found[place] = numbers(data.loader(batch_size=16, seed=7, epochs=2, columns=COLUMNS))

    threads = [threading.Thread(target=work, args=[place]) for place in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * len(found)


def test_a_loader_that_is_in_use_may_be_left_at_the_interpreters_end(folder):
    script = """
        import sys
        import headrace as hr

        loader = hr.open(sys.argv[1]).loader(batch_size=5, epochs=None, columns={"number": hr.int64})
        batch = next(loader)
        iterator = iter(loader)
        print("left")
    """
    done = run_script(script, folder)
    assert (done.stdout, done.stderr, done.returncode) == ("left\n", "", 0)


@pytest.mark.parametrize("imports", ["headrace, tensorflow", "tensorflow, headrace"])
def test_tensorflow_may_be_imported_before_or_after(tmp_path, imports):
    folder = tfrecords.write_numbered(tmp_path / "data", 200, compress=True)
    script = f"""
        import {imports}
        import sys, hashlib, pathlib
        import headrace as hr

        def digest():
            loader = hr.open(sys.argv[1]).loader(batch_size=8, columns={{"vector": hr.float32[3]}})
            return hashlib.sha256(b"".join(batch["vector"].tobytes() for batch in loader)).hexdigest()

        first = digest()
        files = sorted(map(str, pathlib.Path(sys.argv[1]).iterdir()))
        print(sum(1 for _ in tensorflow.data.TFRecordDataset(files, "GZIP")), digest() == first)
    """
    done = run_script(script, folder)
    assert (done.stdout, done.returncode) == ("200 True\n", 0), done.stderr
