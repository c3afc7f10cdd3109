"""The loader among signals, forks, threads, and other loaders; before and after TensorFlow."""

import os
import shutil
import subprocess
import sys
import textwrap
import threading

import kill_support
import published_support
import pytest
import tfrecords
from forks import in_child

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


# A store that is slow to answer about some keys; SIGINT comes once it is asked about one.
HELD = """
    import signal, sys, threading
    import held_store
    import headrace as hr

    def hold(part):
        store = held_store.HeldStore(sys.argv[1], lambda key: part in key, most_seconds=20)
        threading.Thread(target=interrupt, args=[store], daemon=True).start()
        return store
    def interrupt(store):
        store.is_asked.wait()
        signal.raise_signal(signal.SIGINT)
    def was_interrupted(store, action):
        try:
            action()
        except KeyboardInterrupt:
            return not store.has_answered
        return False
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tfrecords.write_numbered(tmp_path_factory.mktemp("process") / "data", RECORDS)


@pytest.fixture(scope="module")
def published(tmp_path_factory, headrace):
    folder = tmp_path_factory.mktemp("published")
    archive = kill_support.write_archive(folder / "raw.tar.gz", kill_support.reviews(300))
    headrace("prepare", archive, folder / "data", "--encoder", "hash:8", "--compression", "none")
    return folder / "data"


def numbers(loader) -> list[int]:
    return [int(number) for batch in loader for number in batch["number"]]


# A shell starts what runs in the background with SIGINT ignored, and all that this starts has it so, too.
HEED_CTRL_C = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"


def run_script(script: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", HEED_CTRL_C + textwrap.dedent(script), *map(str, arguments)]
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


INTERRUPTED = {
    "opening": ("manifest", "hr.open(store.url)"),
    "making a loader": (".index", "hr.open(store.url).loader(batch_size=8, shuffle='exact')"),
    "looking records up": (".index", "hr.open(store.url).loader(batch_size=8).where(0, look_up=True)"),
}


@pytest.mark.parametrize("held, action", INTERRUPTED.values(), ids=INTERRUPTED)
def test_ctrl_c_does_not_wait_for_the_answer_of_the_store(published, held, action):
    script = textwrap.dedent(HELD) + textwrap.dedent(f"""
        store = hold({held!r})
        print(was_interrupted(store, lambda: {action}))
    """)
    done = run_script(script, published)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


def test_threads_may_look_at_a_loader_whose_next_is_interrupted_again_and_again(published):
    script = textwrap.dedent(HELD) + textwrap.dedent("""
        store = held_store.HeldStore(sys.argv[1], lambda key: key.endswith(".tfrecord"))
        options = {"batch_size": 7, "seed": 3, "columns": ["id"]}
        loader = hr.open(store.url).loader(**options)
        is_waiting, is_over, wrong = threading.Event(), threading.Event(), []

        def look(interrupts):
            looks = counted = 0
            while not is_over.is_set():
                try:
                    stats = loader.stats()
                    seen = loader.activity(), loader.remarks, loader.where(0), loader.state(), repr(loader)
                except BaseException as error:
                    wrong.append(error)
                    return
                if stats.batches < counted or "waits for batch" not in seen[0]:
                    wrong.append(stats)
                counted, looks = stats.batches, looks + 1
                if interrupts and looks % 20 == 0 and is_waiting.is_set():
                    is_waiting.clear()
                    signal.raise_signal(signal.SIGINT)

        threads = [threading.Thread(target=look, args=[number == 0]) for number in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            try:
                is_waiting.set()
                next(loader)
            except KeyboardInterrupt:
                continue
            wrong.append("a batch came")
        store.release()
        ids = [id for batch in loader for id in batch["id"].tolist()]
        is_over.set()
        for thread in threads:
            thread.join()
        expected = [id for batch in hr.open(sys.argv[1]).loader(**options) for id in batch["id"].tolist()]
        print(wrong, ids == expected, loader.stats().batches == len(loader))
    """)
    done = run_script(script, published)
    assert (done.stdout, done.returncode) == ("[] True True\n", 0), done.stderr


def test_want_of_memory_is_an_error_and_not_the_end(published, tmp_path):
    shutil.copytree(published, tmp_path / "data")
    os.truncate(published_support.manifest(tmp_path / "data"), 200 << 20)
    script = """
        import pathlib, resource, sys
        import headrace as hr

        data = hr.open(sys.argv[1])
        used_bytes = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used_bytes + (100 << 20),) * 2)
        try:
            hr.open(sys.argv[2])
        except hr.errors.ResourceExhaustedError as error:
            print("told", len(hr.open(sys.argv[1])) == len(data))
    """
    done = run_script(script, published, tmp_path / "data")
    assert (done.stdout, done.returncode) == ("told True\n", 0), done.stderr


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


def refused_in_child(use) -> str:
    def work():
        try:
            use()
        except hr.errors.FailedPreconditionError as error:
            return str(error)
        return "no error"

    return in_child(work)


USES = {
    "next": lambda data, loader: next(loader),
    "close": lambda data, loader: loader.close(),
    "stats": lambda data, loader: loader.stats(),
    "activity": lambda data, loader: loader.activity(),
    "trace": lambda data, loader: loader.trace(),
    "remarks": lambda data, loader: loader.remarks,
    "state": lambda data, loader: loader.state(),
    "step_of": lambda data, loader: loader.step_of(b""),
    "where": lambda data, loader: loader.where(0),
    "look up": lambda data, loader: loader.where(0, look_up=True),
    "shuffle_quality": lambda data, loader: loader.shuffle_quality(),
    "seek": lambda data, loader: loader.seek(1),
    "schema": lambda data, loader: data.schema,
    "loader": lambda data, loader: data.loader(batch_size=10, columns=COLUMNS),
    "mix": lambda data, loader: hr.mix({data: 1}, batch_size=10, columns=COLUMNS),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_use_after_a_fork_is_refused(folder, use):
    data = hr.open(folder)
    loader = hr.open(folder).loader(batch_size=10, columns=COLUMNS)
    answer = refused_in_child(lambda: use(data, loader))
    assert "this is a fork of it" in answer
    assert "open the data and make the loader in the process that uses it" in answer


def test_what_was_there_before_a_fork_can_be_described_and_dropped(folder):
    data = hr.open(folder)
    loader = data.loader(batch_size=10, seed=1, columns=COLUMNS)
    batches = [next(loader) for _ in range(3)]
    assert in_child(lambda: f"{len(data)} {data.url} {loader!r}") == f"{RECORDS} {data.url} {loader!r}"

    def drop():
        nonlocal data, loader, batches
        del data, loader, batches
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


def test_a_closed_loader_has_ended_its_threads_and_keeps_what_it_knows(folder):
    with hr.open(folder).loader(batch_size=10, seed=1, columns=COLUMNS, threads=2) as loader:
        batch = next(loader)
        numbers, state = batch["number"].tolist(), loader.state()
    assert batch["number"].tolist() == numbers
    assert (loader.stats().threads, loader.stats().held_batches, loader.stats().batches) == (0, 1, 1)
    assert (loader.step, loader.state()) == (1, state)
    for use in (lambda: next(loader), lambda: loader.seek(5), lambda: list(loader.pass_batches())):
        with pytest.raises(hr.errors.FailedPreconditionError, match="the loader is closed"):
            use()
    loader.close()


def test_closing_ends_a_wait_for_a_batch_in_another_thread(published):
    script = textwrap.dedent(HELD) + textwrap.dedent("""
        store = held_store.HeldStore(sys.argv[1], lambda key: key.endswith(".tfrecord"), most_seconds=60)
        loader = hr.open(store.url).loader(batch_size=8, columns=["id"])
        told = []
        def take():
            try:
                next(iter(loader.pass_batches()))
            except hr.errors.FailedPreconditionError as error:
                told.append(str(error))
        thread = threading.Thread(target=take)
        thread.start()
        store.is_asked.wait()
        loader.close()
        thread.join()
        print(told, store.has_answered)
    """)
    done = run_script(script, published)
    assert (done.stdout, done.returncode) == ("['the loader is closed; make another one'] False\n", 0), (
        done.stderr
    )


def test_a_signals_handler_may_close_the_loader_that_it_interrupts(published):
    script = textwrap.dedent(HELD) + textwrap.dedent("""
        store = held_store.HeldStore(sys.argv[1], lambda key: ".tfrecord" in key, most_seconds=20)
        loader = hr.open(store.url).loader(batch_size=8, columns=["id"])
        signal.signal(signal.SIGINT, lambda *_: loader.close())
        threading.Thread(target=interrupt, args=[store], daemon=True).start()  # not before there is a loader
        try:
            next(iter(loader.pass_batches()))
        except hr.errors.FailedPreconditionError as error:
            print(error, store.has_answered)
    """)
    done = run_script(script, published)
    assert (done.stdout, done.returncode) == ("the loader is closed; make another one False\n", 0), (
        done.stderr
    )


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


WHILE_IT_ENDS = {
    "reads": "batch_size=10, epochs=None",
    "waits for batches that it holds": "batch_size=1, epochs=None, memory_budget='300kB', threads=1",
}


@pytest.mark.parametrize("options", WHILE_IT_ENDS.values(), ids=WHILE_IT_ENDS)
def test_the_interpreter_may_end_while_a_daemon_thread_reads(folder, options):
    script = f"""
        import sys, threading
        import headrace as hr

        loader = hr.open(sys.argv[1]).loader(columns=["number"], {options})
        held, has_begun = [], threading.Event()
        def read():
            for batch in loader:
                held.append(batch)
                has_begun.set()
                if {"memory" not in options}:
                    held.clear()
        threading.Thread(target=read, daemon=True).start()
        has_begun.wait()
    """
    for _ in range(5):
        done = run_script(script, folder)
        assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.exhaustive
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
