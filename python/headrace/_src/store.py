"""Objects in a store: one of those, and how to get it."""

from __future__ import annotations

import builtins
import datetime
import os
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace import _headrace
from headrace._src import checked
from headrace._src.store_options import DEFAULT_TIMEOUT, StoreOptions, texts_of, timeout_of
from headrace.errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from typing import Self, TypeAlias, Unpack  # from Python 3.11 on

    Buffer: TypeAlias = Any  # bytes, bytearray, memoryview, array, …: collections.abc.Buffer, from 3.12 on
    Range: TypeAlias = (
        str | tuple[str, int] | tuple[str, int, int | None] | tuple[str, int, int | None, str | None]
    )

_MOST_BYTES = 2**63 - 1
_FIRST_PAGE = 1_000  # what S3 gives at once
_LARGEST_PAGE = 64_000


class ObjectInfo(NamedTuple):
    """What a store says of an object, or of a folder in a listing."""

    key: str
    """Below the store's URL. A folder's ends in "/"."""
    size_bytes: int
    """0 of a folder."""
    version: str
    """Opaque: equal versions are equal contents. Empty of a folder."""
    modified: datetime.datetime | None
    """Time of the last write, in UTC; None where it is not told, as by some writes."""

    @property
    def is_folder(self) -> bool:
        return self.key.endswith("/")


class Capabilities(NamedTuple):
    """What a store promises."""

    atomic_if_absent: bool
    """Of several writers with `if_absent`, exactly one wins."""
    atomic_if_version: bool
    """`if_version` is honoured by writes."""
    strong_list: bool
    """A list shows every write that has returned."""
    latest_only: bool
    """A read of a version that was replaced is refused; else it may be had."""
    keeps_ranges: bool
    """What was read of a version is near, if just that range is read again."""


def store(url: str | os.PathLike[str], **options: Unpack[StoreOptions]) -> Store:
    """A store of objects: of a bucket, or of what lies in one of its folders. Asks the server nothing.

    Args:
        url: "s3://bucket", "s3://bucket/folder", "file:///folder", "memory://name", or a path. Keys lie below
            it; the key "" is the object at the URL itself.
        timeout: seconds that a call may go on without progress; 30.
        endpoint_url: of S3: the server, as "https://minio.example:9000".
        access_key_id, secret_access_key: of S3: instead of those in the environment or in a profile.
        session_token: of S3: with them, if they are temporary.
        region: of S3.
        verify_tls: of S3: False: take any certificate.
        anonymous: of S3: True: without keys, for public buckets; no profile is read.
        client_certificate, client_key: of S3: PEM files of the certificate that is shown to a server that
            asks for one, and of its key, if that is another file.
        client_key_password: of S3: if that key is encrypted.

    What is not given is taken from the environment as it is now. Stores with equal options share connections.

    Raises:
        InvalidArgumentError: no URL, or an option that is not of its kind of store. UnauthenticatedError:
            there are no keys.
    """
    return Store(os.fspath(url), **options)


class Store:
    """Objects by their keys, read and written whole or in ranges. Get one from `headrace.store`.

    Threads may share it; while a call waits others run, and Ctrl-C ends it. In a fork's child it opens
    connections of its own. Pickles as its URL and its options, keys among them if they were given.

    Every call may raise, besides what it says itself: UnavailableError (a ConnectionError) or
    DeadlineExceededError (a TimeoutError): the server does not answer; PermissionDeniedError (a
    PermissionError); InvalidArgumentError: a key that none can be (docs/formats/manifest.md says which);
    DataLossError: the server sent something else than it said.
    """

    def __init__(self, url: str, **options: Unpack[StoreOptions]):
        given = {name: value for name, value in options.items() if value is not None}
        timeout = timeout_of(given.pop("timeout", DEFAULT_TIMEOUT))
        scheme = url.partition("://")[0].lower() if "://" in url else "file"
        self._native = _headrace.Store(url, texts_of(scheme, given), timeout)
        self._options = options

    @property
    def url(self) -> str:
        return self._native.url

    def read(
        self, key: str = "", offset: int = 0, size: int | None = None, version: str | None = None
    ) -> bytes:
        """Bytes of an object, all of one version.

        Args:
            key: of the object; "": that at the store's URL.
            offset: where to begin, in bytes.
            size: bytes that are wanted, of which the object may have fewer; None: up to its end.
            version: of `ObjectInfo`: only that one. Else the one that is there.

        Raises:
            NotFoundError (a FileNotFoundError): there is no such object. OutOfRangeError: `offset` lies past
            its end. FailedPreconditionError: it is not of that version any more. ResourceExhaustedError: it
            does not fit into memory.
        """
        return self._native.read(_key(key), _count("offset", offset), _size(size), version)

    def read_into(self, key: str, buffer: Buffer, offset: int = 0, version: str | None = None) -> int:
        """Fills `buffer`, a bytearray, an array or another that can be written to, as far as the object goes.

        What is in it after an error is undefined.

        Returns:
            Bytes that were read: fewer than the buffer has only at the object's end.

        Raises:
            As `read`; TypeError or BufferError: nothing can be written there, or not in one piece.
        """
        return self._native.read_into(_key(key), buffer, _count("offset", offset), version)

    def read_many(self, ranges: Sequence[Range]) -> builtins.list[bytes]:
        """Many ranges, of one or many objects, at once: as many requests in flight as the server takes well.

        Args:
            ranges: of each its key, offset and size in bytes, and version, as in `read`: `(key, offset,
                size)`; from the right they may be left out: `key` alone is a whole object.

        Returns:
            The bytes of each, in the order of `ranges`.

        Raises:
            As `read`, of the first range that fails; DataLossError: an object ends before `size` bytes. What
            was read of the others is dropped.
        """
        return self._native.read_many([_range(one) for one in ranges])

    def write(
        self, key: str, data: Buffer, if_absent: bool = False, if_version: str | None = None
    ) -> ObjectInfo:
        """Writes a whole object: whoever reads gets the old one or the new one, and nothing between.

        Args:
            data: bytes, or another object that has memory in one piece.
            if_absent: create, never replace.
            if_version: replace this version only.

        Raises:
            AlreadyExistsError (a FileExistsError): `if_absent`, and it is there. FailedPreconditionError: it
            is not of `if_version`, or the key is a folder of others. UnimplementedError: the store knows no
            `if_version`, see `capabilities`.
        """
        return _info(self._native.write(_key(key), data, if_absent, if_version))

    def upload(self, key: str, if_absent: bool = False, if_version: str | None = None) -> Upload:
        """Writes an object in pieces, for those that do not fit into memory.

            with store.upload("large.bin") as upload:
                upload.write(piece)

        It is visible, whole, once the `with` has ended; after an exception in it, it was never written.
        Conditions and errors are those of `write`, and hold when it ends.
        """
        return Upload(self._native.upload(_key(key), if_absent, if_version))

    def stat(self, key: str = "") -> ObjectInfo:
        """Size, version and time of an object.

        Raises:
            NotFoundError: there is no such object. A folder is none.
        """
        return _info(self._native.stat(_key(key)))

    def exists(self, key: str = "") -> bool:
        """Whether there is an object with this key. A folder is none."""
        try:
            self.stat(key)
        except NotFoundError:
            return False
        return True

    def list(self, prefix: str = "", folders: bool = False) -> Iterator[ObjectInfo]:
        """All objects whose keys begin with `prefix`, ascending by the bytes of their keys.

        Args:
            prefix: any text: "a" lists "ab", too, "a/" only what lies in that folder.
            folders: stop at the next "/" after the prefix: what lies deeper is told once, as a folder.

        The server is asked when the iterator gets there, for some thousands at a time; what is written
        meanwhile is or is not told. Nothing below the prefix is no error.
        """
        prefix, after, limit = _key(prefix), "", _FIRST_PAGE
        while True:
            page = self._native.page(prefix, after, folders, limit)
            yield from map(_info, page)
            if len(page) < limit:
                return
            after, limit = page[-1][0], min(2 * limit, _LARGEST_PAGE)

    def remove(self, *keys: str) -> None:
        """Removes objects, a thousand with each request. Those that are not there are no error."""
        self._native.remove([_key(key) for key in keys])

    def copy(
        self, source: str, target: str, if_absent: bool = False, if_version: str | None = None
    ) -> ObjectInfo:
        """Copies an object within the store: the bytes do not come here. Conditions are those of `write`.

        Raises:
            NotFoundError: there is no `source`; and as `write`.
        """
        return _info(self._native.copy(_key(source), _key(target), if_absent, if_version))

    def describe(self, key: str = "") -> str:
        """The URL of a key, for people."""
        return self._native.describe(_key(key))

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(*self._native.capabilities())

    def counters(self) -> dict[str, int]:
        """How often the driver did something since it was opened, by this store or another of the same URL
        and options: requests_total, faults_total (attempts that got no answer, or one to be asked for
        again), resent_total, overloads_total, hedges_total, hedges_won_total, moved_bytes_total. Empty for a
        store that talks to no server.
        """
        return self._native.counters()

    def metrics(self) -> str:
        """The calls of this store, their errors, bytes and times, and `counters`, as Prometheus' text."""
        return self._native.metrics()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.url, self._options)

    def __repr__(self) -> str:
        return f"<headrace.Store {self.url!r}>"


class Upload:
    """An object that is being written. Get one from `Store.upload`.

    In a `with`, `commit` is called at its end, unless you did, and `discard` if an exception ends it. What is
    dropped without either was never written. Belongs to the process that began it; Ctrl-C in a call discards
    it.
    """

    def __init__(self, native: _headrace.Upload):
        self._native = native
        self._is_over = False
        self.info: ObjectInfo | None = None
        """What was written; None before `commit`."""

    def write(self, data: Buffer) -> int:
        """Appends `data`; may wait until earlier pieces have been sent.

        Returns:
            Its size in bytes: all of it is taken.

        Raises:
            FailedPreconditionError: the upload was committed or discarded.
        """
        return self._native.write(data)

    def commit(self) -> ObjectInfo:
        """Makes the object visible.

        Raises:
            As `Store.write`; then nothing was written. FailedPreconditionError: it was called before.
        """
        self._is_over = True
        self.info = _info(self._native.commit())
        return self.info

    def discard(self) -> None:
        """Leaves what was there as it was. Does nothing after `commit`, nor in a fork's child."""
        self._is_over = True
        self._native.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.discard()
        elif not self._is_over:
            self.commit()


def _reopen(url: str, options: StoreOptions) -> Store:
    return Store(url, **options)


def _info(found: tuple[str, int, str, float | None]) -> ObjectInfo:
    key, size_bytes, version, seconds = found
    modified = None if seconds is None else datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return ObjectInfo(key, size_bytes, version, modified)


def _key(value: str) -> str:
    if not isinstance(value, str):
        raise InvalidArgumentError(f"{value!r} is no key; a key is a text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidArgumentError(f"{value!r} is no key: it is no valid Unicode") from None
    return value


def _count(name: str, value: int) -> int:
    return checked.integer(name, value, most=_MOST_BYTES)


def _size(value: int | None) -> int | None:
    return None if value is None else _count("size", value)


def _range(one: Range) -> tuple[str, int, int | None, str | None]:
    if isinstance(one, str):
        return _key(one), 0, None, None
    if not isinstance(one, tuple) or not 2 <= len(one) <= 4:
        raise InvalidArgumentError(f"{one!r} is no range: write (key, offset, size)")
    key, offset, size, version = (*one, None, None)[:4]
    return _key(key), _count("offset", offset), _size(size), version
