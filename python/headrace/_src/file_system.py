"""fsspec's view of a store: folders that are prefixes, over objects that are whole."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.core import get_compression, has_magic
from fsspec.spec import AbstractFileSystem
from fsspec.utils import other_paths

from headrace._src.file_object import HeadraceFile, WrittenCompressed, WrittenText
from headrace._src.store import ObjectInfo, Store
from headrace._src.store import store as open_store
from headrace._src.store_options import option_names, unknown_option
from headrace.errors import (
    DataLossError,
    Error,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    UnimplementedError,
)

_OF_FSSPEC = ("use_listings_cache", "listings_expiry_time", "max_paths", "asynchronous", "loop")
_PIECE_BYTES = 64 << 20  # size of the pieces in which files are downloaded


class HeadraceFileSystem(AbstractFileSystem):
    """Objects of one kind of store as files. Threads may share it; a fork's child may use it.

    A folder is a prefix of objects' paths: an empty one does not exist, and nothing makes one. Listings are
    kept only with `use_listings_cache=True`. Errors are those of headrace.errors, which subclass Python's own
    where those exist: FileNotFoundError, FileExistsError, PermissionError, TimeoutError, ConnectionError.

    Args:
        options: those of `headrace.store`, and fsspec's own: use_listings_cache, listings_expiry_time,
            max_paths.
    """

    scheme: ClassVar[str]
    bucket_segments: ClassVar[int] = 1  # path segments that name the store; 2 if they are "host/name"
    blocksize = 8 << 20

    def __init__(self, **options: Any):
        own = {name: options.pop(name) for name in list(options) if name not in _OF_FSSPEC}
        super().__init__(**{"use_listings_cache": False, **options})
        for name in own:
            if name not in option_names():
                raise unknown_option(str(self.protocol), name)
        self._options = own
        self._stores: dict[str, Store] = {}

    # ---- paths and objects

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        stripped = super()._strip_protocol(path)
        if cls.root_marker != "/" or not isinstance(stripped, str):
            return stripped
        if cls.scheme == "file":
            return os.path.abspath(stripped)
        if "://" in str(path) and not stripped.startswith("/") and stripped:
            raise InvalidArgumentError(
                f"{path}: a path cannot name a host here; set the host in the environment"
            )
        return os.path.normpath(f"/{stripped.lstrip('/')}")

    def _store_of(self, path: str) -> tuple[Store, str]:
        """The store of a path, and the key in that store: "" for the root."""
        if self.root_marker:
            bucket, key = "", path.lstrip("/")
        else:
            segments = path.split("/", self.bucket_segments)
            named, rest = segments[: self.bucket_segments], segments[self.bucket_segments :]
            if len(named) < self.bucket_segments or not all(named):
                form = "host/name/key" if self.bucket_segments == 2 else "bucket/key"
                raise UnimplementedError(f"{self.protocol}:// does not list buckets; name a bucket: {form}")
            bucket, key = "/".join(named), "".join(rest)
        if bucket not in self._stores:
            url = f"{self.scheme}://{bucket}{self.root_marker}"
            self._stores[bucket] = open_store(url, **self._options)
        return self._stores[bucket], key

    def _by_store(self, paths: Iterable[str]) -> Iterator[tuple[Store, list[int], list[str]]]:
        """Each store, with the indices of its paths in `paths`, and their keys."""
        found: dict[int, tuple[Store, list[int], list[str]]] = {}
        for place, path in enumerate(paths):
            store, key = self._store_of(self._strip_protocol(path))
            _, places, keys = found.setdefault(id(store), (store, [], []))
            places.append(place)
            keys.append(key)
        yield from found.values()

    def _entry(self, path: str, key: str, info: ObjectInfo) -> dict[str, Any]:
        """fsspec's dict for a found object or folder; `path` belongs to the store's `key`."""
        name = (path[: len(path) - len(key)] if key else path.rstrip("/") + "/") + info.key
        if info.is_folder:
            return {"name": name.rstrip("/"), "size": 0, "type": "directory"}
        mtime = None if info.modified is None else info.modified.timestamp()
        size, version = info.size_bytes, info.version
        return {"name": name, "size": size, "type": "file", "version": version, "mtime": mtime}

    # ---- looking

    def info(self, path: str | os.PathLike[str], refresh: bool = False, **kwargs: Any) -> dict[str, Any]:
        """Name, size in bytes and type ("file" or "directory"); for a file also its version, and mtime in
        seconds.
        """
        path = self._strip_protocol(path)
        listed = None if refresh else self._listed(self._parent(path))
        for entry in listed or []:
            if entry["name"] == path:
                return entry
        folder = {"name": path, "size": 0, "type": "directory"}
        if path == self.root_marker:
            return folder
        store, key = self._store_of(path)
        if not key:
            return folder
        try:
            return self._entry(path, key, store.stat(key))
        except NotFoundError:
            if next(store.list(key + "/", folders=True), None) is None:
                raise
        return folder

    def _listed(self, path: str) -> list[dict[str, Any]] | None:
        try:
            return self.dircache[path]
        except KeyError:
            return None

    def _type_of(self, path: str | os.PathLike[str]) -> str | None:
        """Unlike fsspec's own method, raises errors instead of returning False."""
        try:
            return self.info(path)["type"]
        except FileNotFoundError:
            return None

    def exists(self, path: str, **kwargs: Any) -> bool:
        return self._type_of(path) is not None

    def isfile(self, path: str) -> bool:
        return self._type_of(path) == "file"

    def isdir(self, path: str) -> bool:
        return self._type_of(path) == "directory"

    def ls(self, path: str, detail: bool = True, refresh: bool = False, **kwargs: Any) -> list:
        """The entries of a folder; for a file, the file itself."""
        path = self._strip_protocol(path)
        entries = None if refresh else self._listed(path)
        if entries is None:
            store, key = self._store_of(path)
            found = store.list(key and key + "/", folders=True)
            entries = [self._entry(path, key, info) for info in found]
            entries = [entry for entry in entries if entry["name"] != path]  # an object "folder/"
            if not entries and key:
                entry = self.info(path)
                return ([entry] if detail else [path]) if entry["type"] == "file" else []
            self.dircache[path] = entries
        return entries if detail else [entry["name"] for entry in entries]

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **kwargs: Any,
    ) -> Any:
        """All files below `path`, from one listing; with `maxdepth`, from one listing of each folder.

        Args:
            withdirs: also return folders, including `path`; if a file and a folder share a name, return the
                file.
        """
        path = self._strip_protocol(path)
        store, key = self._store_of(path)
        files, folders = {}, {}
        if maxdepth is None:
            for info in store.list(key and key + "/"):
                entry = self._entry(path, key, info)
                if entry["type"] == "file":
                    files[entry["name"]] = entry
            for name in self._folders_of(files, path):
                folders[name] = {"name": name, "size": 0, "type": "directory"}
        else:
            for _, below, found in self.walk(path, maxdepth, detail=True, **kwargs):
                files.update({entry["name"]: entry for entry in found.values()})
                folders.update({entry["name"]: entry for entry in below.values()})
            if files or folders:
                folders[path] = {"name": path, "size": 0, "type": "directory"}
        if not files and not folders and key and self.isfile(path):
            files[path] = self.info(path)
        found = folders | files if withdirs else files
        names = sorted(found)
        return {name: found[name] for name in names} if detail else names

    def walk(
        self,
        path: str,
        maxdepth: int | None = None,
        topdown: bool = True,
        on_error: Any = None,
        **kwargs: Any,
    ) -> Iterator[tuple[str, Any, Any]]:
        """Like os.walk, but raises errors, so that a partial listing is never mistaken for a whole one. A
        missing folder is empty.

        Args:
            on_error: "raise" also raises if a folder is missing; "omit" treats folders that fail as empty; a
                function is called with the error.
        """
        if maxdepth is not None and maxdepth < 1:
            raise ValueError(f"maxdepth is {maxdepth}; it must be at least 1")
        path, detail = self._strip_protocol(path), kwargs.pop("detail", False)
        try:
            entries = self.ls(path, detail=True, **kwargs)
        except Error as error:
            if on_error == "raise" or (on_error is None and not isinstance(error, NotFoundError)):
                raise
            if callable(on_error):
                on_error(error)
            return
        named = [(entry["name"][len(path) :].lstrip("/"), entry) for entry in entries]
        folders: Any = {name: entry for name, entry in named if entry["type"] == "directory"}
        files: Any = {name: entry for name, entry in named if entry["type"] != "directory"}
        if not detail:
            folders, files = list(folders), list(files)
        if topdown:
            yield path, folders, files
        if maxdepth is None or maxdepth > 1:
            deeper = None if maxdepth is None else maxdepth - 1
            for name in list(folders):  # the caller may have removed some
                below = f"{path.rstrip('/')}/{name}"
                yield from self.walk(below, deeper, topdown, on_error, detail=detail, **kwargs)
        if not topdown:
            yield path, folders, files

    def _folders_of(self, files: Iterable[str], root: str) -> set[str]:
        """All folders that contain the files, from `root` down."""
        folders: set[str] = set()
        for name in files:
            folder = self._parent(name)
            while folder not in folders and len(folder) >= len(root) and folder != self.root_marker:
                folders.add(folder)
                folder = self._parent(folder)
        return folders

    def du(
        self,
        path: str,
        total: bool = True,
        maxdepth: int | None = None,
        withdirs: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Bytes of all files below `path`, in total or by file."""
        found = self.find(path, maxdepth=maxdepth, withdirs=withdirs, detail=True, **kwargs)
        sizes = {name: entry["size"] for name, entry in found.items()}
        return sum(sizes.values()) if total else sizes

    def modified(self, path: str) -> datetime.datetime:
        """Time of the last write, in UTC."""
        mtime = self.info(path).get("mtime")
        if mtime is None:
            raise UnimplementedError(f"{path}: the time of the last write is not known")
        return datetime.datetime.fromtimestamp(mtime, datetime.timezone.utc)

    created = modified  # objects are only replaced as a whole, so the last write created them

    def ukey(self, path: str) -> str:
        """A token that differs for each version of the file."""
        entry = self.info(path)
        return hashlib.sha256(f"{entry['size']} {entry.get('version')}".encode()).hexdigest()

    def checksum(self, path: str) -> int:
        return int(self.ukey(path), 16)

    def invalidate_cache(self, path: str | None = None) -> None:
        if path is None:
            self.dircache.clear()
        else:
            path = self._strip_protocol(path)
            while path and path != self.root_marker:
                self.dircache.pop(path, None)
                path = self._parent(path)
            self.dircache.pop(self.root_marker, None)
        super().invalidate_cache(path)

    # ---- reading

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        """Bytes `start` to `end` of a file; negative numbers count from its end."""
        path = self._strip_protocol(path)
        store, key = self._store_of(path)
        version = kwargs.get("version")
        if (start or 0) < 0 or (end or 0) < 0:
            entry = self.info(path)
            start, end, _ = slice(start, end).indices(entry["size"])
            version = version or entry.get("version")
        begin = start or 0
        size = None if end is None else max(end - begin, 0)
        try:
            return store.read(key, begin, size, version)
        except OutOfRangeError:
            return b""

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **kwargs: Any,
    ) -> list:
        """Ranges of many files, all requested at once."""
        if not isinstance(paths, list):
            raise TypeError(f"paths is {paths!r}; it must be a list")
        starts = starts if isinstance(starts, list) else [starts] * len(paths)
        ends = ends if isinstance(ends, list) else [ends] * len(paths)
        if not len(paths) == len(starts) == len(ends):
            raise ValueError(f"there are {len(paths)} paths, {len(starts)} starts and {len(ends)} ends")
        out: list = [None] * len(paths)
        for store, places, keys in self._by_store(paths):
            wanted = [(starts[place] or 0, ends[place]) for place in places]
            try:
                if any(begin < 0 or (end or 0) < 0 for begin, end in wanted):
                    raise OutOfRangeError("counted from the end")
                ranges = [
                    (key, begin, None if end is None else max(end - begin, 0))
                    for key, (begin, end) in zip(keys, wanted, strict=True)
                ]
                found: list = store.read_many(ranges)
            except (NotFoundError, OutOfRangeError, DataLossError):
                # one file failed: read each by itself, to find out which, and where each file ends
                found = [
                    self._cat_one(paths[place], starts[place], ends[place], on_error) for place in places
                ]
            except Error as error:  # the store failed: retrying each file would not help
                if on_error != "return":
                    raise
                found = [error] * len(places)
            for place, content in zip(places, found, strict=True):
                out[place] = content
        return out

    def _cat_one(self, path: str, start: int | None, end: int | None, on_error: str) -> bytes | Exception:
        try:
            return self.cat_file(path, start, end)
        except Error as error:
            if on_error != "return":
                raise
            return error

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **kwargs: Any) -> Any:
        """Content of a file; for several files, a dict of path → content, all requested at once.

        Args:
            on_error: "raise"; "omit" leaves out files that fail; "return" returns their exceptions.
        """
        paths = self._files(path, recursive)
        if len(paths) == 1 and not isinstance(path, list) and paths[0] == self._strip_protocol(path):
            return self.cat_file(paths[0], **kwargs)
        start, end = kwargs.get("start"), kwargs.get("end")
        contents = self.cat_ranges(paths, start, end, on_error="raise" if on_error == "raise" else "return")
        pairs = zip(paths, contents, strict=True)
        return {
            path: content for path, content in pairs if on_error == "return" or isinstance(content, bytes)
        }

    def _expand(self, path: Any, recursive: bool, maxdepth: int | None = None) -> dict[str, bool]:
        """The paths that expand_path finds, and whether each is a file. (`a` beside `a/x` is a file.)"""
        found: dict[str, bool] = {}
        for one in [path] if isinstance(path, str | os.PathLike) else path:
            name = self._strip_protocol(one)
            if not has_magic(name):
                if recursive:
                    found |= self._tree(name, maxdepth)
                else:
                    found[name] = True
                continue
            matched = self.glob(name, maxdepth=maxdepth, detail=True)
            found |= {match: entry["type"] == "file" for match, entry in matched.items()}
            if recursive and maxdepth != 1:
                for match in matched:
                    found |= self._tree(match, maxdepth and maxdepth - 1)
        if not found:
            raise FileNotFoundError(path)
        return {name: found[name] for name in sorted(found)}

    def _tree(self, root: str, maxdepth: int | None) -> dict[str, bool]:
        entries = self.find(root, maxdepth, withdirs=True, detail=True)
        found = {name: entry["type"] == "file" for name, entry in entries.items()}
        if found.get(root) is False:  # a folder of this name may hide an object of the same name
            store, key = self._store_of(root)
            found[root] = key != "" and store.exists(key)
        return found

    def _files(self, path: Any, recursive: bool, maxdepth: int | None = None) -> list[str]:
        return [name for name, is_file in self._expand(path, recursive, maxdepth).items() if is_file]

    def get_file(
        self, rpath: str, lpath: Any, callback: Any = DEFAULT_CALLBACK, outfile: Any = None, **kwargs: Any
    ) -> None:
        """Downloads a file in large pieces, all of one version."""
        entry = self.info(rpath, refresh=True)
        if entry["type"] == "directory":
            os.makedirs(lpath, exist_ok=True)
            return
        callback.set_size(entry["size"])
        target = outfile or (lpath if hasattr(lpath, "write") else None)
        if target is not None:
            self._copy_to(target, entry, callback)
            return
        os.makedirs(os.path.dirname(os.path.abspath(lpath)), exist_ok=True)
        with open(lpath, "wb") as file:
            self._copy_to(file, entry, callback)

    def _copy_to(self, file: Any, entry: dict[str, Any], callback: Any) -> None:
        store, key = self._store_of(entry["name"])
        for offset in range(0, entry["size"], _PIECE_BYTES):
            piece = store.read(key, offset, _PIECE_BYTES, entry["version"])
            file.write(piece)
            callback.relative_update(len(piece))

    # ---- writing

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> HeadraceFile:
        store, key = self._store_of(path)
        size_bytes = block_size or self.blocksize
        return HeadraceFile(store, key, self, path, mode, size_bytes, autocommit, cache_options, **kwargs)

    def open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        """Opens a file. Modes r, w and x work as in Python; see docs/python-store.md.

        Args:
            block_size: number of bytes to read ahead, or to collect before sending; 8 MiB by default.
            cache_type: fsspec's way to read ahead; "readahead" by default.
            version: version to read, as `info` returns it; by default the current one.
            compression, encoding, …: as fsspec's own.
        """
        if "r" in mode:
            return super().open(path, mode, **kwargs)
        compression = get_compression(path, kwargs.pop("compression", None))
        text = {name: kwargs.pop(name) for name in ("encoding", "errors", "newline") if name in kwargs}
        file = super().open(path, mode.replace("t", "").replace("b", "") + "b", **kwargs)
        if compression is not None:
            file = WrittenCompressed(file, compression)
        return file if "b" in mode else WrittenText(file, **text)

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **kwargs: Any) -> None:
        """Writes a whole file. With mode "create", only if the file does not exist yet, atomically."""
        store, key = self._store_of(self._strip_protocol(path))
        store.write(key, value, if_absent=mode == "create")
        self.invalidate_cache(path)

    def put_file(
        self,
        lpath: str,
        rpath: str,
        callback: Any = DEFAULT_CALLBACK,
        mode: str = "overwrite",
        **kwargs: Any,
    ) -> None:
        super().put_file(lpath, rpath, callback=callback, if_absent=mode == "create", **kwargs)

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Copies a file. Within a bucket, the server copies it."""
        path1, path2 = self._strip_protocol(path1), self._strip_protocol(path2)
        (store, source), (to, target) = self._store_of(path1), self._store_of(path2)
        try:
            if store is to:
                store.copy(source, target)
            else:
                with self.open(path1, "rb") as file, to.upload(target) as upload:
                    while piece := file.read(_PIECE_BYTES):
                        upload.write(piece)
        except NotFoundError:
            if not self.isdir(path1):  # a folder exists only once it contains an object
                raise
        self.invalidate_cache(path2)

    def mv(
        self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **kwargs: Any
    ) -> None:
        """Moves files: copies all files as `copy` would, then removes the sources. A file that is its own
        target stays.

        Raises:
            IsADirectoryError: `path1` is a folder, and `recursive` is not set. InvalidArgumentError: data
                would be lost, because a folder would move into itself, two files would move to the same path,
                or a target is also a source.
        """
        pairs = self._moves(path1, path2, recursive, maxdepth)
        for source, target in pairs:
            self.cp_file(source, target)
        self._remove([source for source, _ in pairs])

    def _moves(self, path1: Any, path2: Any, recursive: bool, maxdepth: int | None) -> list[tuple[str, str]]:
        """The files to move, each with its target."""
        if isinstance(path1, list) and isinstance(path2, list):
            expanded = {self._strip_protocol(path): True for path in path1}
            targets = path2
        else:
            self._require_no_folder(path1, recursive)
            expanded = self._expand(path1, recursive, maxdepth)
            if not recursive or maxdepth is not None:
                expanded = {path: True for path, is_file in expanded.items() if is_file}
            targets = self._targets(path1, list(expanded), path2)
        pairs = [
            (source, self._strip_protocol(target), is_file)
            for (source, is_file), target in zip(expanded.items(), targets, strict=True)
        ]
        for source, target, is_file in pairs:
            if not is_file and target.startswith(source.rstrip("/") + "/"):
                raise InvalidArgumentError(f"{source} cannot be moved into itself, to {target}")
        moves = [(source, target) for source, target, is_file in pairs if is_file and source != target]
        taken = {source for source, _ in moves}
        for source, target in moves:
            if target in taken:
                raise InvalidArgumentError(
                    f"{source} cannot be moved to {target}: another moved file has that path"
                )
            taken.add(target)
        return moves

    def _targets(self, path1: Any, sources: list[str], path2: Any) -> list[str]:
        """The paths to which fsspec's copy would copy the sources."""
        is_one = isinstance(path1, str | os.PathLike)
        into = isinstance(path2, str) and (path2.endswith("/") or self.isdir(path2))
        if is_one and has_magic(self._strip_protocol(path1)):
            below = len(sources) == 1
        else:
            below = is_one and into and not os.fspath(path1).endswith("/")
        return other_paths(sources, path2, exists=below, flatten=not is_one)

    def _require_no_folder(self, path: Any, recursive: bool) -> None:
        """Raises unless `recursive` is set, or `path` is a list, a pattern, or an existing file."""
        if recursive or not isinstance(path, str | os.PathLike) or has_magic(self._strip_protocol(path)):
            return
        if self.info(path)["type"] == "directory":
            raise IsADirectoryError(f"{path} is a folder; give recursive=True")

    def rm_file(self, path: str) -> None:
        """Removes the file of exactly this name, without patterns. A missing file is not an error."""
        self._remove([path])

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Removes files, a thousand with each request. With a list, missing files are not an error.

        Raises:
            FileNotFoundError: nothing is at `path`. IsADirectoryError: `path` is a folder, and `recursive` is
                not set.
        """
        self._require_no_folder(path, recursive)
        self._remove(self._files(path, recursive, maxdepth))

    def _remove(self, paths: list[str]) -> None:
        for store, _, keys in self._by_store(paths):
            store.remove(*keys)
        for path in paths:
            self.invalidate_cache(path)
