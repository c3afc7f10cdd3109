"""Stores as file systems: versions, atomic writing, many at once; pandas, pyarrow and dask on them."""

import gc
import multiprocessing
import os
import pickle
import random
import uuid

import dask.dataframe
import fsspec
import headrace.fsspec
import numpy
import pandas
import pyarrow.dataset
import pyarrow.parquet
import pytest
import tomllib
from faultproxy.proxy import FaultProxy, Options

import headrace as hr
from headrace import _headrace, errors

MIB = 1 << 20


def content(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@pytest.fixture(params=["s3", "file", "memory"])
def url(request, s3_url, file_url):
    """An empty folder."""
    memory = f"memory://{uuid.uuid4().hex}/store"
    return "hr+" + {"s3": s3_url, "file": file_url, "memory": memory}[request.param]


@pytest.fixture
def place(url):
    """A file system, and the path of an empty folder in it."""
    return fsspec.url_to_fs(url)


@pytest.fixture
def table():
    numbers = numpy.random.default_rng(44)
    return pandas.DataFrame(
        {
            "number": numbers.integers(0, 1_000_000, 1_000),
            "share": numbers.random(1_000),
            "text": [f"text {number}" for number in range(1_000)],
        }
    )


# ---- names


def test_the_package_names_a_file_system_for_each_kind_of_store(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    named = project["entry-points"]["fsspec.specs"]
    assert set(named) == {f"hr+{driver['scheme']}" for driver in _headrace.store_drivers()}
    for name, target in named.items():
        module, _, attribute = target.partition(":")
        assert module == "headrace.fsspec"
        kind = getattr(headrace.fsspec, attribute)
        assert (kind.protocol, f"hr+{kind.scheme}") == (name, name)
        assert fsspec.get_filesystem_class(name) is kind


def test_paths_are_found_in_urls(place, url):
    fs, path = place
    assert fs.unstrip_protocol(path) == url
    assert fs._strip_protocol([url + "/", f"{url}/a"]) == [path, f"{path}/a"]


def test_wrong_options_are_refused():
    with pytest.raises(TypeError, match="endpoint_url"):
        fsspec.filesystem("hr+s3", client_kwargs={})
    with pytest.raises(errors.InvalidArgumentError, match="s3"):
        fsspec.filesystem("hr+file", region="us-east-1").exists("/x")
    with pytest.raises(errors.UnimplementedError, match="name a bucket"):
        fsspec.filesystem("hr+s3").ls("")


# ---- looking


def test_folders_are_what_objects_lie_under(place):
    fs, path = place
    assert not fs.exists(path)
    with pytest.raises(FileNotFoundError):
        fs.info(path)
    fs.pipe({f"{path}/a/1": b"x", f"{path}/a/b/2": b"xy", f"{path}/c": b"xyz"})
    assert fs.isdir(path) and fs.isdir(f"{path}/a") and not fs.isfile(f"{path}/a")
    assert fs.isfile(f"{path}/c") and not fs.isdir(f"{path}/c")
    assert fs.info(f"{path}/a") == {"name": f"{path}/a", "size": 0, "type": "directory"}
    assert fs.ls(path, detail=False) == [f"{path}/a", f"{path}/c"]
    assert [entry["type"] for entry in fs.ls(path)] == ["directory", "file"]
    assert fs.ls(f"{path}/c") == [fs.info(f"{path}/c")]
    assert fs.find(path) == [f"{path}/a/1", f"{path}/a/b/2", f"{path}/c"]
    assert fs.find(path, withdirs=True) == [
        path,
        f"{path}/a",
        f"{path}/a/1",
        f"{path}/a/b",
        f"{path}/a/b/2",
        f"{path}/c",
    ]
    assert fs.find(path, maxdepth=1) == [f"{path}/c"]
    assert fs.find(f"{path}/c") == [f"{path}/c"]
    assert fs.glob(f"{path}/*/1") == [f"{path}/a/1"]
    assert fs.glob(f"{path}/**/2") == [f"{path}/a/b/2"]
    assert fs.du(path) == 6
    assert fs.du(path, total=False)[f"{path}/c"] == 3
    assert [names for _, _, names in fs.walk(path)] == [["c"], ["1"], ["2"]]


def test_another_content_has_another_key(place):
    fs, path = place
    fs.pipe_file(f"{path}/x", b"first")
    before = fs.ukey(f"{path}/x"), fs.checksum(f"{path}/x")
    assert before == (fs.ukey(f"{path}/x"), fs.checksum(f"{path}/x"))
    fs.pipe_file(f"{path}/x", b"other")
    assert all(
        old != new for old, new in zip(before, (fs.ukey(f"{path}/x"), fs.checksum(f"{path}/x")), strict=True)
    )


def test_the_time_of_the_last_write_is_told(file_url, s3_url):
    for url in (f"hr+{file_url}/x", f"hr+{s3_url}/x"):
        fs, path = fsspec.url_to_fs(url)
        fs.pipe_file(path, b"data")
        assert fs.modified(path) == fs.created(path)
        assert fs.modified(path).utcoffset().total_seconds() == 0


def test_listings_are_cached_only_if_asked_for(s3_url):
    path = s3_url.removeprefix("s3://")
    fs = fsspec.filesystem("hr+s3")
    caching = fsspec.filesystem("hr+s3", use_listings_cache=True)
    fs.pipe_file(f"{path}/a", b"1")
    assert fs.ls(path, detail=False) == caching.ls(path, detail=False) == [f"{path}/a"]
    fs.pipe_file(f"{path}/b", b"2")
    assert fs.ls(path, detail=False) == [f"{path}/a", f"{path}/b"]
    assert caching.ls(path, detail=False) == [f"{path}/a"]
    assert len(caching.ls(path, refresh=True)) == 2
    caching.pipe_file(f"{path}/c", b"3")
    assert len(caching.ls(path)) == 3
    caching.rm(f"{path}/c")
    assert len(caching.ls(path)) == 2
    fs.rm(f"{path}/b")
    fs.pipe_file(f"{path}/a", b"another")
    with caching.open(f"{path}/a") as file:
        assert file.read() == b"another", "no version of a listing is read"
    caching.invalidate_cache()
    assert len(caching.ls(path)) == 1


def test_a_server_that_fails_is_not_taken_for_an_answer(s3_url):
    path = s3_url.removeprefix("s3://")
    fs = fsspec.filesystem("hr+s3", secret_access_key="wrong", access_key_id=os.environ["AWS_ACCESS_KEY_ID"])
    for look in (fs.exists, fs.isfile, fs.isdir, fs.ls, fs.find, fs.cat_file):
        with pytest.raises(PermissionError):
            look(path)


@pytest.fixture
def failing(place, monkeypatch):
    """A file system in which the folder `bad` cannot be listed, and the path of one around it."""
    fs, path = place
    fs.pipe({f"{path}/{name}": b"x" for name in ("bad/x", "deep/bad/y", "good/z")})
    ls = type(fs).ls

    def fail(fs, path, *arguments, **options):
        if path.endswith("/bad"):
            raise errors.UnavailableError("no answer")
        return ls(fs, path, *arguments, **options)

    monkeypatch.setattr(type(fs), "ls", fail)
    return fs, path


def test_a_part_of_a_listing_is_not_taken_for_all(failing):
    fs, path = failing
    for look in (
        lambda: list(fs.walk(path)),
        lambda: fs.find(path, maxdepth=3),
        lambda: fs.glob(f"{path}/*/*"),
        lambda: fs.du(path, maxdepth=3),
        lambda: fs.rm(path, recursive=True, maxdepth=3),
    ):
        with pytest.raises(ConnectionError):
            look()


def test_a_walk_goes_on_if_told_to(failing):
    fs, path = failing
    met = []
    for on_error in ("omit", met.append):
        walked = [folder for folder, _, _ in fs.walk(path, on_error=on_error)]
        assert walked == [path, f"{path}/deep", f"{path}/good"]
    assert [type(error) for error in met] == [errors.UnavailableError] * 2
    assert list(fs.walk(f"{path}/missing")) == []
    with pytest.raises(FileNotFoundError):
        list(fs.walk(f"{path}/missing", on_error="raise"))


def test_a_walk_is_pruned_and_turned_around(place):
    fs, path = place
    fs.pipe({f"{path}/{name}": b"x" for name in ("a/x", "b/c/y")})
    walked = []
    for folder, folders, _ in fs.walk(path):
        walked.append(folder)
        folders[:] = [name for name in folders if name != "a"]
    assert walked == [path, f"{path}/b", f"{path}/b/c"]
    upwards = [folder for folder, _, _ in fs.walk(path, topdown=False)]
    assert upwards == [f"{path}/a", f"{path}/b/c", f"{path}/b", path]
    assert [folder for folder, _, _ in fs.walk(path, maxdepth=1)] == [path]


# ---- reading


def test_reading_goes_anywhere_in_a_file(place):
    fs, path = place
    data = content(20 * MIB + 5)
    fs.pipe_file(f"{path}/x", data)
    with fs.open(f"{path}/x", "rb") as file:
        assert file.size == len(data)
        assert file.read(10) == data[:10]
        assert file.seek(17 * MIB) == 17 * MIB
        assert file.read(MIB) == data[17 * MIB : 18 * MIB]
        file.seek(-7, 2)
        assert file.read() == data[-7:]
        assert file.read() == b""
        file.seek(0)
        buffer = bytearray(MIB)
        assert file.readinto(buffer) == MIB and buffer == data[:MIB]
        file.seek(0)
        assert file.read() == data
    assert fs.head(f"{path}/x", 9) == data[:9]
    assert fs.tail(f"{path}/x", 9) == data[-9:]
    assert fs.read_block(f"{path}/x", 5, 10) == data[5:15]


@pytest.mark.parametrize("cache_type", ["none", "readahead", "bytes", "blockcache", "all", "background"])
def test_every_cache_of_fsspec_reads_the_same(place, cache_type):
    fs, path = place
    data = content(3 * MIB)
    fs.pipe_file(f"{path}/x", data)
    with fs.open(f"{path}/x", "rb", cache_type=cache_type, block_size=100_000) as file:
        for offset in (0, 250_000, 2 * MIB, 17):
            file.seek(offset)
            assert file.read(150_000) == data[offset : offset + 150_000]


def test_an_open_file_is_of_one_version(place):
    fs, path = place
    fs.pipe_file(f"{path}/x", content(MIB))
    with fs.open(f"{path}/x", "rb", block_size=1000) as file:
        assert file.read(10) == content(MIB)[:10]
        fs.pipe_file(f"{path}/x", content(MIB + 1))
        file.seek(MIB // 2)
        with pytest.raises(errors.FailedPreconditionError):
            file.read(10)
    with fs.open(f"{path}/x", "rb") as file:
        assert file.read(10) == content(MIB + 1)[:10]


def test_a_pickled_file_goes_on_in_its_version(place):
    fs, path = place
    fs.pipe_file(f"{path}/x", b"first line\nsecond line\n")
    with fs.open(f"{path}/x", "rb") as file:
        assert file.readline() == b"first line\n"
        pickled = pickle.dumps(file)
    with pickle.loads(pickled) as file:
        assert file.readline() == b"second line\n"
    fs.pipe_file(f"{path}/x", b"FIRST LINE\nSECOND LINE\n")
    with pickle.loads(pickled) as file, pytest.raises(errors.FailedPreconditionError):
        file.read()


def test_a_folder_is_no_file(place):
    fs, path = place
    fs.pipe_file(f"{path}/a/x", b"")
    with pytest.raises(IsADirectoryError):
        fs.open(f"{path}/a")
    with pytest.raises(FileNotFoundError):
        fs.open(f"{path}/b")


CUTS = [(None, None), (0, 3), (2, None), (-3, None), (None, -2), (1, -1), (5, 100), (100, 200), (4, 2)]


def test_ranges_are_cut_like_pythons_slices(place):
    fs, path = place
    data = content(10)
    fs.pipe_file(f"{path}/x", data)
    for start, end in CUTS:
        assert fs.cat_file(f"{path}/x", start, end) == data[start:end]
        assert fs.cat_ranges([f"{path}/x"] * 2, start, end, on_error="raise") == [data[start:end]] * 2
    starts, ends = zip(*CUTS, strict=True)
    found = fs.cat_ranges([f"{path}/x"] * len(CUTS), list(starts), list(ends), on_error="raise")
    assert found == [data[start:end] for start, end in CUTS]


def test_cat_ranges_tells_which_failed(place):
    fs, path = place
    fs.pipe_file(f"{path}/x", b"data")
    found = fs.cat_ranges([f"{path}/x", f"{path}/missing", f"{path}/x"], [0, 0, 2], [2, 2, 4])
    assert found[::2] == [b"da", b"ta"]
    assert isinstance(found[1], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges([f"{path}/x", f"{path}/missing"], 0, 2, on_error="raise")


@pytest.mark.exhaustive
def test_a_store_that_fails_is_asked_once_for_many_ranges():
    options = {"access_key_id": "key", "secret_access_key": "secret", "timeout": 1}
    fs = fsspec.filesystem("hr+s3", endpoint_url="http://127.0.0.1:1", **options)
    found = fs.cat_ranges(["bucket/x"] * 50, 0, 2)
    assert isinstance(found[0], errors.Error)
    assert all(one is found[0] for one in found)
    with pytest.raises(errors.Error):
        fs.cat_ranges(["bucket/x"] * 50, 0, 2, on_error="raise")


def test_cat_reads_many(place):
    fs, path = place
    objects = {f"{path}/{number // 10}/{number}": content(number) for number in range(30)}
    fs.pipe(objects)
    assert fs.cat(list(objects)) == objects
    assert fs.cat(f"{path}/*/*") == objects
    assert fs.cat(path, recursive=True) == objects
    assert fs.cat(f"{path}/0/1") == content(1)
    some = [f"{path}/0/1", f"{path}/missing"]
    assert fs.cat(some, on_error="omit") == {some[0]: content(1)}
    assert isinstance(fs.cat(some, on_error="return")[some[1]], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        fs.cat(some)


# ---- writing


@pytest.mark.parametrize("size", [0, 5, 8 * MIB, 20 * MIB + 1])
def test_a_file_is_there_once_it_is_closed(place, size):
    fs, path = place
    data = content(size)
    with fs.open(f"{path}/x", "wb") as file:
        for begin in range(0, size, 3 * MIB):
            file.write(data[begin : begin + 3 * MIB])
        assert not fs.exists(f"{path}/x")
    assert fs.cat_file(f"{path}/x") == data


WRITTEN = {
    "bytes": ({"mode": "wb"}, content(9 * MIB)),
    "text": ({"mode": "w"}, "text" * MIB * 4),
    "created": ({"mode": "xb"}, b"data"),
    "compressed": ({"mode": "wb", "compression": "gzip"}, content(9 * MIB)),
    "compressed text": ({"mode": "wt", "compression": "bz2"}, "text"),
}


@pytest.mark.parametrize("how, piece", WRITTEN.values(), ids=WRITTEN)
def test_an_exception_leaves_what_was_there(place, how, piece):
    fs, path = place
    with pytest.raises(KeyError), fs.open(f"{path}/x", **how) as file:
        file.write(piece)
        raise KeyError
    assert file.closed
    assert not fs.exists(f"{path}/x")


@pytest.mark.parametrize("how, piece", WRITTEN.values(), ids=WRITTEN)
def test_what_is_never_closed_is_never_written(place, how, piece):
    fs, path = place
    file = fs.open(f"{path}/x", **how)
    file.write(piece)
    with pytest.warns(ResourceWarning, match="never closed"):
        del file
        gc.collect()
    assert not fs.exists(f"{path}/x")


@pytest.mark.parametrize("how, piece", WRITTEN.values(), ids=WRITTEN)
def test_what_was_written_any_way_is_read_the_same_way(place, how, piece):
    fs, path = place
    with fs.open(f"{path}/x", **how) as file:
        file.write(piece)
    reading = {**how, "mode": how["mode"].translate(str.maketrans("wx", "rr"))}
    with fs.open(f"{path}/x", **reading) as file:
        assert file.read() == piece


def test_a_piece_that_could_not_be_sent_leaves_no_file_with_a_hole(place, monkeypatch):
    fs, path = place

    def fail(*_):
        raise ConnectionError

    file = fs.open(f"{path}/x", "wb", block_size=1000)
    file.write(bytes(1000))
    monkeypatch.setattr(hr.Upload, "write", fail)
    with pytest.raises(ConnectionError):
        file.write(bytes(1000))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="closed|flushed"):
        file.write(bytes(1000))
    file.close()
    assert not fs.exists(f"{path}/x")


def test_mode_x_creates_and_never_replaces(place):
    fs, path = place
    with fs.open(f"{path}/x", "xb") as first, fs.open(f"{path}/x", "xb") as second:
        first.write(b"first")
        second.write(b"second")
        first.close()
        with pytest.raises(FileExistsError):
            second.close()
    with pytest.raises(FileExistsError):
        fs.open(f"{path}/x", "x")
    assert fs.cat_file(f"{path}/x") == b"first"
    with pytest.raises(FileExistsError):
        fs.pipe_file(f"{path}/x", b"third", mode="create")


def test_appending_is_refused(place):
    fs, path = place
    with pytest.raises(NotImplementedError):
        fs.open(f"{path}/x", "ab")


def test_a_transaction_shows_all_or_nothing(place):
    fs, path = place
    with fs.transaction:
        for name in "ab":
            with fs.open(f"{path}/{name}", "wb") as file:
                file.write(content(9 * MIB))
        assert not fs.exists(path)
    assert fs.find(path) == [f"{path}/a", f"{path}/b"]
    with pytest.raises(KeyError), fs.transaction:
        with fs.open(f"{path}/c", "wb") as file:
            file.write(b"data")
        raise KeyError
    assert fs.find(path) == [f"{path}/a", f"{path}/b"]


def test_text_is_written_and_read(place):
    fs, path = place
    with fs.open(f"{path}/x", "w", encoding="utf-8", newline="\r\n") as file:
        file.write("grüße\nключ\n")
    assert fs.cat_file(f"{path}/x") == "grüße\r\nключ\r\n".encode()
    with fs.open(f"{path}/x", "r", encoding="utf-8") as file:
        assert list(file) == ["grüße\n", "ключ\n"]
    with fs.open(f"{path}/x.gz", "w", compression="infer", encoding="utf-8") as file:
        file.write("text")
    assert fs.cat_file(f"{path}/x.gz")[:2] == b"\x1f\x8b"
    assert fs.open(f"{path}/x.gz", "r", compression="gzip").read() == "text"


def test_removing_takes_folders_whole(place):
    fs, path = place
    fs.pipe({f"{path}/{name}": b"x" for name in ("a/1", "a/b/2", "c", "d")})
    with pytest.raises(IsADirectoryError):
        fs.rm(f"{path}/a")
    with pytest.raises(FileNotFoundError):
        fs.rm(f"{path}/missing")
    fs.rm(f"{path}/a", recursive=True)
    fs.rm([f"{path}/c", f"{path}/missing"])
    assert fs.find(path) == [f"{path}/d"]
    fs.rm_file(f"{path}/d")
    assert not fs.exists(path)


def test_files_are_copied_and_moved(place, tmp_path):
    fs, path = place
    fs.pipe_file(f"{path}/x", b"data")
    fs.cp_file(f"{path}/x", f"{path}/y")
    fs.mv(f"{path}/y", f"{path}/z")
    assert fs.find(path) == [f"{path}/x", f"{path}/z"]
    fs.get(path, str(tmp_path / "local"), recursive=True)
    assert (tmp_path / "local" / "z").read_bytes() == b"data"
    fs.put(str(tmp_path / "local"), f"{path}/back", recursive=True)
    assert fs.cat_file(f"{path}/back/x") == b"data"
    with pytest.raises(FileExistsError):
        fs.put_file(str(tmp_path / "local" / "x"), f"{path}/back/x", mode="create")
    with pytest.raises(FileNotFoundError):
        fs.cp_file(f"{path}/missing", f"{path}/y")


@pytest.mark.parametrize(
    "source, target, recursive",
    [
        ("dir/x", "dir/", False),
        ("dir/x", "dir", False),
        ("dir/x", "dir/x", False),
        ("dir/*", "dir", False),
        ("dir", "", True),
        ("dir/", "dir", True),
    ],
)
def test_what_is_moved_to_where_it_is_stays(place, source, target, recursive):
    fs, path = place
    fs.pipe({f"{path}/dir/x": b"x", f"{path}/dir/sub/y": b"y"})
    for prefix in ("", f"{fs.protocol}://"):
        fs.mv(f"{prefix}{path}/{source}", f"{path}/{target}".removesuffix("/" * (not target)), recursive)
        assert fs.cat(path, recursive=True) == {f"{path}/dir/x": b"x", f"{path}/dir/sub/y": b"y"}


def test_a_path_with_a_dot_is_the_same_file(file_url):
    fs, path = fsspec.url_to_fs(f"hr+{file_url}")
    fs.pipe_file(f"{path}/x", b"x")
    fs.mv(f"{path}/x", f"{path}/./x")
    assert fs.cat_file(f"{path}/x") == b"x"


def test_a_move_that_would_lose_something_is_refused(place):
    fs, path = place
    files = {f"{path}/{name}": name.encode() for name in ("d/x", "d/sub/y", "e/x")}
    fs.pipe(files)
    x, y, other = files
    for source, target, recursive in [
        (f"{path}/d", f"{path}/d/sub", True),
        (f"{path}/d", f"{path}/d/new", True),
        ([x, other], f"{path}/both", False),
        ([x, y], [y, other], False),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match="cannot be moved"):
            fs.mv(source, target, recursive)
    with pytest.raises(IsADirectoryError):
        fs.mv(f"{path}/d", f"{path}/f")
    with pytest.raises(FileNotFoundError):
        fs.mv(f"{path}/missing", f"{path}/f")
    assert fs.cat(path, recursive=True) == files


def test_folders_and_lists_are_moved(place):
    fs, path = place
    fs.pipe({f"{path}/d/x": b"x", f"{path}/d/sub/y": b"y"})
    fs.mv(f"{path}/d", f"{path}/e", recursive=True)
    assert fs.find(path) == [f"{path}/e/sub/y", f"{path}/e/x"]
    fs.mv([f"{path}/e/x", f"{path}/e/sub/y"], [f"{path}/1", f"{path}/2"])
    assert fs.cat(path, recursive=True) == {f"{path}/1": b"x", f"{path}/2": b"y"}


def test_a_move_removes_nothing_before_all_is_copied(place, monkeypatch):
    fs, path = place
    fs.pipe({f"{path}/d/{name}": b"x" for name in "ab"})
    copy = hr.Store.copy

    def fail_later(store, source, target):
        if source.endswith("b"):
            raise errors.UnavailableError("no answer")
        return copy(store, source, target)

    monkeypatch.setattr(hr.Store, "copy", fail_later)
    with pytest.raises(ConnectionError):
        fs.mv(f"{path}/d", f"{path}/e", recursive=True)
    assert fs.find(f"{path}/d") == [f"{path}/d/a", f"{path}/d/b"]


def test_rm_file_takes_no_name_for_a_pattern(place):
    fs, path = place
    names = ["a*", "a?", "a[b]", "ab", "ac"]
    fs.pipe({f"{path}/{name}": b"x" for name in names})
    for name in names[:3]:
        fs.rm_file(f"{path}/{name}")
    assert fs.find(path) == [f"{path}/ab", f"{path}/ac"]


class FlatStore:
    """Objects whose keys mean nothing, as those of Amazon's S3; MinIO keeps none below another."""

    def __init__(self):
        self.objects: dict[str, bytes] = {}

    def stat(self, key: str) -> hr.ObjectInfo:
        if not self.exists(key):
            raise errors.NotFoundError(key)
        return hr.ObjectInfo(key, len(self.objects[key]), "1", None)

    def exists(self, key: str) -> bool:
        return key in self.objects

    def list(self, prefix: str, folders: bool = False):
        told = set()
        for key in sorted(self.objects):
            below = key.removeprefix(prefix)
            folder = prefix + below.partition("/")[0] + "/"
            if not key.startswith(prefix) or folder in told:
                continue
            if folders and "/" in below:
                told.add(folder)
                yield hr.ObjectInfo(folder, 0, "", None)
            else:
                yield self.stat(key)

    def read_many(self, ranges):
        return [self.objects[key] for key, _, _ in ranges]

    def remove(self, *keys: str) -> None:
        for key in keys:
            self.objects.pop(key, None)


def test_an_object_beside_a_folder_of_its_name_is_a_file():
    path = "bucket"
    fs = fsspec.filesystem("hr+s3", skip_instance_cache=True)
    fs._stores[path] = store = FlatStore()
    files = {f"{path}/{name}": name.encode() for name in ("a", "a/x", "a/x/y", "b")}

    def write() -> None:
        store.objects.update({name.removeprefix(path + "/"): data for name, data in files.items()})

    write()
    a, x, y, b = files
    assert fs.find(path) == fs.find(path, maxdepth=3) == list(files)
    assert fs.cat(path, recursive=True) == files
    assert fs.cat([a, x]) == {a: b"a", x: b"a/x"}
    assert fs.cat(f"{path}/*") == {a: b"a", b: b"b"}
    assert fs.cat(a, recursive=True) == {a: b"a", x: b"a/x", y: b"a/x/y"}
    fs.rm([a, x])
    assert fs.find(path) == [y, b]
    write()
    fs.rm(a, recursive=True)
    assert fs.find(path) == [b]
    write()
    fs.rm(path, recursive=True)
    assert fs.find(path) == []


def test_large_files_come_whole(place, tmp_path):
    fs, path = place
    fs.pipe_file(f"{path}/x", content(70 * MIB))
    fs.get_file(f"{path}/x", tmp_path / "deep" / "x")
    assert (tmp_path / "deep" / "x").read_bytes() == content(70 * MIB)


# ---- requests


def test_many_at_once_are_few_requests(s3_url):
    path = s3_url.removeprefix("s3://")
    fsspec.filesystem("hr+s3").pipe({f"{path}/{number:03}": b"data" for number in range(300)})
    with FaultProxy(os.environ["AWS_ENDPOINT_URL_S3"].removeprefix("http://"), Options(rate=0)) as proxy:
        fs = fsspec.filesystem("hr+s3", endpoint_url=proxy.url)

        def requests_of(action) -> int:
            before = proxy.account.requests
            action()
            return proxy.account.requests - before

        assert requests_of(lambda: fs.find(path)) == 1
        assert requests_of(lambda: fs.du(path)) == 1
        assert requests_of(lambda: fs.cat(path, recursive=True)) <= 330, "one each, and what is hedged"
        assert requests_of(lambda: fs.rm(path, recursive=True)) == 3, "is the folder's name an object, too?"
        assert fs.find(path) == []


# ---- other processes


def test_a_pickled_file_system_reads_elsewhere(url):
    if url.startswith("hr+memory"):
        return
    fs, path = fsspec.url_to_fs(url)
    fs.pipe_file(f"{path}/x", b"data")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(fs.cat_file, [f"{path}/x"]) == b"data"
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(fs.cat_file, [f"{path}/x"] * 8) == [b"data"] * 8


def test_no_text_of_a_file_system_holds_a_key():
    fs = fsspec.filesystem("hr+s3", access_key_id="canary", secret_access_key="canary")
    assert "canary" not in repr(fs) + str(fs) + str(fs._fs_token)


# ---- pandas, pyarrow, dask


def test_pandas_writes_and_reads_csv_and_parquet(url, table):
    for name in ("table.csv", "table.csv.gz"):
        table.to_csv(f"{url}/{name}", index=False)
        pandas.testing.assert_frame_equal(pandas.read_csv(f"{url}/{name}"), table)
    table.to_parquet(f"{url}/table.parquet")
    pandas.testing.assert_frame_equal(pandas.read_parquet(f"{url}/table.parquet"), table)


def test_a_transaction_discards_what_pandas_wrote(url, table):
    fs, path = fsspec.url_to_fs(url)
    with pytest.raises(KeyError), fs.transaction:
        table.to_csv(f"{url}/table.csv")
        raise KeyError
    assert not fs.exists(f"{path}/table.csv")


def test_storage_options_reach_the_store(s3_url, table, monkeypatch):
    options = {
        "endpoint_url": os.environ["AWS_ENDPOINT_URL_S3"],
        "access_key_id": os.environ["AWS_ACCESS_KEY_ID"],
        "secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"],
        "timeout": 20,
    }
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    table.to_csv(f"hr+{s3_url}/table.csv", index=False, storage_options=options)
    found = pandas.read_csv(f"hr+{s3_url}/table.csv", storage_options=options)
    pandas.testing.assert_frame_equal(found, table)


def test_pyarrow_reads_and_writes_many_files(place, table):
    fs, path = place
    parts = pyarrow.Table.from_pandas(table.assign(part=table["number"] % 7), preserve_index=False)
    pyarrow.dataset.write_dataset(
        parts, path, format="parquet", partitioning=["part"], partitioning_flavor="hive", filesystem=fs
    )
    assert len(fs.find(path)) == 7
    dataset = pyarrow.dataset.dataset(path, format="parquet", partitioning="hive", filesystem=fs)
    assert dataset.count_rows() == 1_000
    some = dataset.to_table(filter=pyarrow.dataset.field("part") == 3).to_pandas()
    expected = table[table["number"] % 7 == 3]
    assert sorted(some["number"]) == sorted(expected["number"])
    whole = pyarrow.parquet.read_table(path, filesystem=fs)
    assert sorted(whole["text"].to_pylist()) == sorted(table["text"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheduler", ["threads", pytest.param("processes", marks=pytest.mark.soak)])
def test_dask_reads_what_it_wrote(url, table, scheduler):
    if url.startswith("hr+memory") and scheduler == "processes":
        return
    with dask.config.set(scheduler=scheduler):
        frame = dask.dataframe.from_pandas(table, npartitions=4)
        frame.to_parquet(f"{url}/parquet")
        found = dask.dataframe.read_parquet(f"{url}/parquet").compute()
        pandas.testing.assert_frame_equal(found.reset_index(drop=True), table, check_dtype=False)
        frame.to_csv(f"{url}/csv/*.csv", index=False)
        found = dask.dataframe.read_csv(f"{url}/csv/*.csv").compute()
        pandas.testing.assert_frame_equal(found.reset_index(drop=True), table, check_dtype=False)
