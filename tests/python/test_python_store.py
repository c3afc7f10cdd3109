"""Objects in stores, from Python: on real S3, files and memory."""

import array
import datetime
import itertools
import os
import pathlib
import pickle
import random
import socket
import threading
import uuid

import headrace.fsspec
import held_store
import pytest
from faultproxy.proxy import FaultProxy, Options

import headrace as hr
from headrace import errors

MIB = 1 << 20


def content(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@pytest.fixture(params=["s3", "file", "memory"])
def store(request, s3_url, file_url):
    return hr.store({"s3": s3_url, "file": file_url, "memory": f"memory://{uuid.uuid4().hex}"}[request.param])


@pytest.fixture
def s3_options() -> dict[str, str]:
    """The options that say what the environment of the test's S3 server says."""
    return {
        "endpoint_url": os.environ["AWS_ENDPOINT_URL_S3"],
        "access_key_id": os.environ["AWS_ACCESS_KEY_ID"],
        "secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"],
    }


@pytest.fixture
def proxy():
    """Lets everything through to the S3 server, and counts it."""
    with FaultProxy(os.environ["AWS_ENDPOINT_URL_S3"].removeprefix("http://"), Options(rate=0)) as proxy:
        yield proxy


@pytest.fixture
def serve(monkeypatch, tmp_path):
    """Makes a HeldStore of some objects, of which it answers what `holds` allows."""

    def serve(objects: dict[str, bytes], holds) -> held_store.HeldStore:
        for name in ("AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "restored afterwards")
        for key, data in objects.items():
            (tmp_path / "data" / key).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "data" / key).write_bytes(data)
        return held_store.HeldStore(tmp_path / "data", holds, most_seconds=60)

    return serve


# ---- reading and writing


@pytest.mark.parametrize("size", [0, 1, 5000, MIB, MIB + 1, 20 * MIB + 3])
def test_what_was_written_is_read(store, size):
    info = store.write("a/object", content(size))
    assert (info.key, info.size_bytes, info.is_folder) == ("a/object", size, False)
    assert store.read("a/object") == content(size)
    assert store.read("a/object", version=info.version) == content(size)


def test_a_range_is_cut_at_the_objects_end(store):
    store.write("object", content(5000))
    assert store.read("object", 10, 20) == content(5000)[10:30]
    assert store.read("object", 4000) == content(5000)[4000:]
    assert store.read("object", 4990, 100) == content(5000)[4990:]
    assert store.read("object", 4990, 2**50) == content(5000)[4990:]
    assert store.read("object", 5000) == b""
    assert store.read("object", 17, 0) == b""
    with pytest.raises(errors.OutOfRangeError):
        store.read("object", 5001, 1)


def test_a_range_larger_than_what_is_taken_on_trust_is_read_whole(store):
    data = content(70 * MIB)
    store.write("object", data)
    assert store.read("object", 5, 66 * MIB) == data[5 : 66 * MIB + 5]


@pytest.mark.parametrize(
    "make", [bytearray, lambda size: memoryview(bytearray(size)), lambda size: array.array("d", bytes(size))]
)
def test_read_into_fills_what_can_be_written_to(store, make):
    store.write("object", content(800))
    buffer = make(80)
    assert store.read_into("object", buffer, 100) == 80
    assert bytes(buffer) == content(800)[100:180]
    assert store.read_into("object", make(8000), 100) == 700


def test_read_into_refuses_what_cannot_be_written_to(store):
    store.write("object", b"data")
    with pytest.raises((BufferError, TypeError)):
        store.read_into("object", b"1234")
    with pytest.raises(BufferError):
        store.read_into("object", memoryview(bytearray(8))[::2])


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, lambda data: array.array("B", data)])
def test_whatever_has_memory_is_written(store, make):
    store.write("object", make(b"some bytes"))
    assert store.read("object") == b"some bytes"
    with store.upload("other") as upload:
        assert upload.write(make(b"some bytes")) == 10
    assert store.read("other") == b"some bytes"


def test_text_is_no_data(store):
    with pytest.raises(TypeError):
        store.write("object", "text")


def test_read_many_gives_each_range_in_its_place(store):
    first, second = content(3 * MIB), content(5000)
    version = store.write("first", first).version
    store.write("second", second)
    assert store.read_many(
        [
            ("second", 10, 20),
            "first",
            ("first", 100),
            ("first", 5, MIB, version),
            ("second", 0, None),
            ("first", 9, 0),
        ]
    ) == [second[10:30], first, first[100:], first[5 : MIB + 5], second, b""]
    assert store.read_many([]) == []


def test_read_many_names_what_is_missing_or_too_short(store):
    store.write("object", b"1234")
    with pytest.raises(FileNotFoundError, match="missing"):
        store.read_many([("object", 0, 4), ("missing", 0, 4)])
    with pytest.raises(FileNotFoundError, match="missing"):
        store.read_many(["object", "missing"])
    with pytest.raises(errors.DataLossError, match="object"):
        store.read_many([("object", 0, 5)])


def test_the_url_may_be_that_of_an_object(store):
    store.write("folder/object", b"data")
    object_itself = hr.store(f"{store.url}/folder/object")
    assert object_itself.read() == b"data"
    assert object_itself.stat().size_bytes == 4
    assert object_itself.exists()


def test_keys_lie_below_the_url(store):
    folder = hr.store(f"{store.url}/folder/")
    folder.write("a/b", b"data")
    assert store.read("folder/a/b") == b"data"
    assert [info.key for info in folder.list()] == ["a/b"]
    assert folder.describe("a/b") == store.describe("folder/a/b")
    for outside in ("../a", "a/../../b", "/a", "a//b"):
        with pytest.raises(errors.InvalidArgumentError):
            folder.write(outside, b"")


# ---- conditions


def test_if_absent_has_one_winner(store):
    outcomes = []

    def create(number: int) -> None:
        try:
            store.write("object", b"%d" % number, if_absent=True)
            outcomes.append(number)
        except FileExistsError as error:
            assert isinstance(error, errors.AlreadyExistsError)

    threads = [threading.Thread(target=create, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 1
    assert store.read("object") == b"%d" % outcomes[0]


def test_if_version_replaces_that_version_alone(store):
    first = store.write("object", b"first")
    if not store.capabilities.atomic_if_version:
        with pytest.raises(errors.UnimplementedError):
            store.write("object", b"second", if_version=first.version)
        return
    store.write("object", b"second", if_version=first.version)
    with pytest.raises(errors.FailedPreconditionError):
        store.write("object", b"third", if_version=first.version)
    assert store.read("object") == b"second"


def test_a_version_that_was_replaced_is_refused(store):
    first = store.write("object", b"first")
    store.write("object", b"second")
    with pytest.raises(errors.FailedPreconditionError):
        store.read("object", version=first.version)
    with pytest.raises(errors.FailedPreconditionError):
        store.read_many([("object", 0, 5, first.version)])


# ---- uploads


def test_an_upload_is_visible_once_it_is_over(store):
    pieces = [content(size) for size in (3 * MIB, 1, 0, 9 * MIB, 70_000)]
    with store.upload("object") as upload:
        for piece in pieces:
            assert upload.write(piece) == len(piece)
        assert not store.exists("object")
        assert upload.info is None
    assert store.read("object") == b"".join(pieces)
    assert upload.info.size_bytes == sum(map(len, pieces))
    assert upload.info.version == store.stat("object").version


def test_an_exception_leaves_what_was_there(store):
    store.write("object", b"old")
    with pytest.raises(KeyError), store.upload("object") as upload:
        upload.write(content(20 * MIB))
        raise KeyError
    assert store.read("object") == b"old"
    with pytest.raises(errors.FailedPreconditionError):
        upload.write(b"more")


def test_what_is_dropped_was_never_written(store):
    upload = store.upload("object")
    upload.write(content(20 * MIB))
    del upload
    assert not store.exists("object")


def test_an_upload_may_be_ended_within_its_with(store):
    with store.upload("kept") as upload:
        upload.write(b"data")
        assert upload.commit().key == "kept"
    with store.upload("dropped") as upload:
        upload.write(b"data")
        upload.discard()
    assert [info.key for info in store.list()] == ["kept"]


def test_an_upload_keeps_its_conditions(store):
    store.write("object", b"old")
    with pytest.raises(FileExistsError), store.upload("object", if_absent=True) as upload:
        upload.write(content(9 * MIB))
    assert store.read("object") == b"old"


# ---- looking, listing, removing, copying


def test_stat_tells_size_version_and_time(store):
    written = store.write("object", b"data")
    info = store.stat("object")
    assert (info.key, info.size_bytes, info.version) == ("object", 4, written.version)
    if info.modified is not None:
        assert info.modified.tzinfo is datetime.timezone.utc
        assert abs(datetime.datetime.now(datetime.timezone.utc) - info.modified) < datetime.timedelta(days=1)


def test_what_is_not_there_is_not_found(store):
    store.write("folder/object", b"data")
    for missing in ("object", "folder", "folder/object2"):
        assert not store.exists(missing)
        for use in (store.stat, store.read, lambda key: store.copy(key, "copied")):
            with pytest.raises(FileNotFoundError) as caught:
                use(missing)
            assert isinstance(caught.value, errors.NotFoundError)
            assert missing in str(caught.value)
    assert store.exists("folder/object")


def test_list_ascends_and_can_stop_at_folders(store):
    for key in ("b", "a/2", "a/1/x", "a/1/y", "ab", "grüße/ключ"):
        store.write(key, key.encode())
    assert [info.key for info in store.list()] == ["a/1/x", "a/1/y", "a/2", "ab", "b", "grüße/ключ"]
    assert [info.key for info in store.list("a")] == ["a/1/x", "a/1/y", "a/2", "ab"]
    shown = list(store.list("a/", folders=True))
    assert [(info.key, info.is_folder, info.size_bytes) for info in shown] == [
        ("a/1/", True, 0),
        ("a/2", False, 3),
    ]
    assert [info.key for info in store.list(folders=True)] == ["a/", "ab", "b", "grüße/"]
    assert list(store.list("nothing")) == []


def test_a_long_listing_is_whole(file_url):
    store = hr.store(file_url)
    keys = [f"{number // 100:02}/{number:04}" for number in range(3_500)]
    for key in keys:
        path = pathlib.Path(file_url.removeprefix("file://"), key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert [info.key for info in store.list()] == keys
    assert [info.key for info in store.list(folders=True)] == [f"{number:02}/" for number in range(35)]


def test_remove_takes_what_is_there(store):
    for key in ("a", "b", "c/d"):
        store.write(key, b"data")
    store.remove("a", "c/d", "missing")
    assert [info.key for info in store.list()] == ["b"]
    store.remove()


def test_copy_makes_another_object(store):
    store.write("object", b"data")
    assert store.copy("object", "folder/copied").size_bytes == 4
    assert store.read("folder/copied") == store.read("object") == b"data"
    with pytest.raises(FileExistsError):
        store.copy("object", "folder/copied", if_absent=True)


# ---- requests


@pytest.mark.exhaustive
def test_read_many_does_not_wait_for_one_answer_before_it_asks_again(serve):
    """The server answers nothing until it is asked four things at once."""
    objects = {f"{number:03}": content(number + 1) for number in range(1_000)}
    asked, lock = [], threading.Lock()

    def holds(key: str) -> bool:
        with lock:
            asked.append(key)
            if len(asked) >= 4:
                held.release()
        return True

    held = serve(objects, holds)
    store = hr.store(held.url, timeout=40)
    assert store.read_many([(key, 0, len(data)) for key, data in objects.items()]) == list(objects.values())
    assert len(asked) < 1_100, "one request for each, but for what is hedged"


def test_whole_objects_are_read_at_once_too(serve):
    objects = {f"{number:03}": content(number) for number in range(1, 50)}
    asked = itertools.count(1)

    def holds(key: str) -> bool:
        if next(asked) >= 4:
            held.release()
        return True

    held = serve(objects, holds)
    assert hr.store(held.url, timeout=40).read_many(list(objects)) == list(objects.values())


def test_a_listing_is_asked_for_page_by_page(s3_url, proxy):
    threads = 8
    store = hr.store(s3_url, endpoint_url=proxy.url)

    def fill(first: int) -> None:
        for number in range(first, 1_500, threads):
            hr.store(s3_url).write(f"{number:04}", b"")

    workers = [threading.Thread(target=fill, args=[first]) for first in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    listing = store.list()
    assert proxy.account.requests == 0
    assert [next(listing).key for _ in range(1_000)] == [f"{number:04}" for number in range(1_000)]
    assert proxy.account.requests == 1
    assert [info.key for info in listing] == [f"{number:04}" for number in range(1_000, 1_500)]
    assert proxy.account.requests == 2
    store.remove(*[f"{number:04}" for number in range(1_500)])
    assert proxy.account.requests == 4
    assert list(store.list()) == []


def test_a_small_object_is_read_with_one_request(s3_url, proxy):
    store = hr.store(s3_url, endpoint_url=proxy.url)
    hr.store(s3_url).write("object", content(900_000))
    assert store.read("object") == content(900_000)
    assert proxy.account.requests == 1


def test_a_whole_object_of_any_version_is_read_with_few_requests(s3_url, proxy):
    store = hr.store(s3_url, endpoint_url=proxy.url)
    info = hr.store(s3_url).write("object", content(6 * MIB))
    assert store.read("object") == content(6 * MIB)
    assert proxy.account.requests == 2, "that is larger than supposed; then all of it"
    assert store.read("object", version=info.version) == content(6 * MIB)


def test_small_objects_that_are_kept_take_no_mapping_of_memory_each():
    store = hr.store(f"memory://{uuid.uuid4().hex}")
    store.write("object", content(4000))
    maps = pathlib.Path("/proc/self/maps")
    before = maps.read_bytes().count(b"\n")
    kept = [store.read("object") for _ in range(2000)]
    assert len(kept) == 2000
    assert maps.read_bytes().count(b"\n") < before + 1000


# ---- threads, pickles, options


def test_threads_share_a_store(store):
    wrong = []

    def work(number: int) -> None:
        for round_ in range(10):
            data = content(1_000 * number + round_ + 1)
            store.write(f"{number}/{round_}", data)
            if store.read(f"{number}/{round_}") != data or not store.exists(f"{number}/{round_}"):
                wrong.append((number, round_))
        if len(list(store.list(f"{number}/"))) != 10:
            wrong.append(number)

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_other_threads_run_while_a_call_waits(serve):
    held = serve({"object": b"data"}, lambda key: True)

    def release() -> None:
        held.is_asked.wait()
        held.release()

    threading.Thread(target=release).start()
    assert hr.store(held.url, timeout=40).read("object") == b"data"


def test_what_lies_in_memory_stays_when_the_environment_changes(monkeypatch):
    url = f"memory://{uuid.uuid4().hex}"
    hr.store(url).write("object", b"data")
    for number in range(20):
        monkeypatch.setenv("HEADRACE_TEST_NUMBER", str(number))
        hr.store("file:///")
        assert hr.store(url).read("object") == b"data"


def test_a_pickled_store_opens_the_same(s3_url, s3_options, monkeypatch):
    store = hr.store(s3_url, timeout=20, **s3_options)
    store.write("object", b"data")
    pickled = pickle.dumps(store)
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    assert pickle.loads(pickled).read("object") == b"data"
    assert store.read("object") == b"data"
    with pytest.raises(errors.UnauthenticatedError) as caught:
        hr.store(s3_url)
    assert isinstance(caught.value, PermissionError)


def test_the_environments_keys_are_not_pickled(s3_url):
    assert os.environ["AWS_SECRET_ACCESS_KEY"].encode() not in pickle.dumps(hr.store(s3_url))


def test_no_message_holds_a_key(s3_url):
    keys = {
        "access_key_id": "canary-id",
        "secret_access_key": "canary-secret",
        "session_token": "canary-token",
    }
    store = hr.store(s3_url, **keys)
    with pytest.raises(PermissionError) as caught:
        store.read("object")
    assert "canary" not in repr(store) + str(store) + str(caught.value).replace("canary-id", "")
    with pytest.raises(errors.InvalidArgumentError) as caught:
        hr.store(s3_url, access_key_id="canary-id", secret_access_key=b"canary-secret")
    assert "canary" not in str(caught.value)


def test_options_count_more_than_the_environment(s3_url, s3_options, monkeypatch):
    hr.store(s3_url).write("object", b"data")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of other keys")
    assert hr.store(s3_url, **s3_options, region="us-east-1", verify_tls=False).read("object") == b"data"


def test_anonymous_requests_carry_no_key(s3_url, monkeypatch, tmp_path):
    hr.store(s3_url).write("object", b"data")
    profile = "[default]\naws_access_key_id = a\naws_secret_access_key = b\n"
    (tmp_path / "credentials").write_text(profile)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    with pytest.raises(PermissionError, match="anonymous"):
        hr.store(s3_url, anonymous=True).read("object")


WRONG_OPTIONS = {
    "half of the keys": ({"access_key_id": "a"}, errors.InvalidArgumentError),
    "keys and anonymous": (
        {"access_key_id": "a", "secret_access_key": "b", "anonymous": True},
        errors.InvalidArgumentError,
    ),
    "an unknown one": ({"endpoint": "http://127.0.0.1:1"}, TypeError),
    "no timeout": ({"timeout": 0}, errors.InvalidArgumentError),
    "a text as timeout": ({"timeout": "3"}, errors.InvalidArgumentError),
    "no number as timeout": ({"timeout": float("nan")}, errors.InvalidArgumentError),
    "no boolean": ({"verify_tls": "no"}, errors.InvalidArgumentError),
    "no URL": ({"endpoint_url": "ftp://x"}, errors.InvalidArgumentError),
}


def test_options_by_the_names_of_s3fs_are_refused_with_their_names_here():
    with pytest.raises(TypeError, match="'anon'; the same option is called anonymous here"):
        hr.store("s3://bucket", anon=True)
    with pytest.raises(TypeError, match="'key'; the same option is called access_key_id here"):
        headrace.fsspec.S3FileSystem(key="a")


@pytest.mark.parametrize("options, error", WRONG_OPTIONS.values(), ids=WRONG_OPTIONS)
def test_wrong_options_are_refused(options, error):
    with pytest.raises(error):
        hr.store("s3://bucket", **options)


def test_options_of_another_kind_of_store_are_refused(tmp_path):
    with pytest.raises(errors.InvalidArgumentError, match="s3"):
        hr.store(tmp_path, region="us-east-1")


@pytest.mark.parametrize("url", ["", "nothing://x", "s3://", "s3://user:password@host/x"])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(errors.InvalidArgumentError):
        hr.store(url)


WRONG_ARGUMENTS = {
    "an offset below zero": lambda store: store.read("object", -1),
    "a size below zero": lambda store: store.read("object", 0, -1),
    "an offset of another type": lambda store: store.read("object", 1.5),
    "a key of another type": lambda store: store.read(b"object"),
    "a key with a zero byte": lambda store: store.write("a\0b", b""),
    "a key that is not Unicode": lambda store: store.write("\ud800", b""),
    "a range of another type": lambda store: store.read_many([["object", 0, 1]]),
    "too long a range": lambda store: store.read_many([("object", 0, 1, None, None)]),
}


@pytest.mark.parametrize("use", WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS)
def test_wrong_arguments_are_refused(store, use):
    store.write("object", b"data")
    with pytest.raises(errors.InvalidArgumentError):
        use(store)


def test_a_server_that_is_not_there_is_a_connection_error(s3_options):
    store = hr.store("s3://bucket", **{**s3_options, "endpoint_url": "http://127.0.0.1:1"}, timeout=1)
    with pytest.raises((ConnectionError, TimeoutError)):
        store.read("object")


def test_a_server_that_does_not_answer_is_a_timeout(s3_options):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        store = hr.store("s3://bucket", **{**s3_options, "endpoint_url": url}, timeout=0.5)
        with pytest.raises((TimeoutError, ConnectionError)) as caught:
            store.read("object")
        assert url.removeprefix("http://") in str(caught.value)


def test_a_file_whose_name_is_no_text_is_listed_all_the_same(tmp_path):
    with open(os.fsencode(tmp_path) + b"/\xff", "wb") as file:
        file.write(b"data")
    (info,) = hr.store(tmp_path).list()
    assert os.fsencode(info.key) == b"\xff"
