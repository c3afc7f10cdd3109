"""Stores of objects: how to open one, and the calls on its objects."""

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

    Buffer: TypeAlias = Any  # bytes, bytearray, memoryview, array, …; collections.abc.Buffer from 3.12 on
    Range: TypeAlias = (
        str | tuple[str, int] | tuple[str, int, int | None] | tuple[str, int, int | None, str | None]
    )

_MOST_BYTES = 2**63 - 1
_FIRST_PAGE = 1_000  # the page size of S3
_LARGEST_PAGE = 64_000


class ObjectInfo(NamedTuple):
    """Facts about an object, or about a folder in a listing."""

    key: str
    """Key below the store's URL. A folder's key ends in "/"."""
    size_bytes: int
    """Size in bytes; 0 for a folder."""
    version: str
    """An opaque text: equal versions mean equal contents. Empty for a folder."""
    modified: datetime.datetime | None
    """Time of the last write, in UTC; None if the store does not say, as after some writes."""

    @property
    def is_folder(self) -> bool:
        return self.key.endswith("/")


class Capabilities(NamedTuple):
    """The promises of a store."""

    atomic_if_absent: bool
    """If several writers use `if_absent`, exactly one of them succeeds."""
    atomic_if_version: bool
    """Writes obey `if_version`."""
    strong_list: bool
    """A list shows every write that has returned."""
    latest_only: bool
    """The store refuses to read a version that was replaced. Otherwise the read may succeed."""
    keeps_ranges: bool
    """If the same range of the same version is read again, the bytes come from a nearby copy."""


def store(url: str | os.PathLike[str], **options: Unpack[StoreOptions]) -> Store:
    """Opens a store of objects: a bucket, or one of its folders. Sends no request.

    Options that are not given come from the environment as it is now. Stores with equal options share
    connections.

    Args:
        url: "s3://bucket", "s3://bucket/folder", "file:///folder", "ignite://host:10800/name",
            "igfs:///folder", "memory://name", or a path. Keys lie below it; the key "" is the object at the
            URL itself.
        timeout: seconds that a call may last without progress; by default 30.
        endpoint_url: S3 only: the server, for example "https://minio.example:9000".
        access_key_id, secret_access_key: S3 only: keys that replace those of the environment or a profile.
        session_token: S3 only: the token of temporary keys.
        region: S3 only.
        verify_tls: S3, Ignite: False accepts any certificate.
        anonymous: S3 only: True sends no keys, for public buckets, and reads no profile.
        client_certificate, client_key: S3, Ignite: PEM files of the certificate that is shown to a server
            that asks for one, and of its key, if that is another file.
        client_key_password: S3, Ignite: password of that key, if it is encrypted.
        username, password: Ignite only: the user, if the cluster asks for one.
        tls: Ignite only: True if the nodes use TLS; not needed with a file for TLS.
        ca_file: Ignite only: PEM file of certificate authorities to trust instead of the system's.
        backups: Ignite only: copies of each chunk besides the first one, if the first write creates the
            store.
        discover: Ignite only: False connects to the given addresses only.

    Raises:
        InvalidArgumentError: the URL is not valid, or the option does not belong to this kind of store.
        UnauthenticatedError: there are no keys.
    """
    return Store(os.fspath(url), **options)


class Store:
    """Reads and writes objects by their keys, whole or in ranges. `headrace.store` makes one.

    Threads may share a store. While a call waits, other threads run, and Ctrl-C ends the call. A forked child
    opens connections of its own. A pickle holds the URL and the options, including keys that were given.

    Besides the errors that it names, every call may raise: UnavailableError (a ConnectionError) or
    DeadlineExceededError (a TimeoutError), if the server does not answer; PermissionDeniedError (a
    PermissionError); InvalidArgumentError, if the key is not valid (docs/formats/manifest.md says which are);
    DataLossError, if the server sends other bytes than it announced.
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
        """Reads bytes of an object, all of one version.

        Args:
            key: key of the object; "": the object at the store's URL.
            offset: where to begin, in bytes.
            size: number of bytes; the result is shorter if the object ends first. None: up to its end.
            version: version from `ObjectInfo` that the object must have; None: any.

        Raises:
            NotFoundError (a FileNotFoundError): there is no such object.
            OutOfRangeError: `offset` lies past the object's end.
            FailedPreconditionError: the object has another version now.
            ResourceExhaustedError: the bytes do not fit into memory.
        """
        return self._native.read(_key(key), _count("offset", offset), _size(size), version)

    def read_into(self, key: str, buffer: Buffer, offset: int = 0, version: str | None = None) -> int:
        """Reads bytes of an object into `buffer`: a bytearray, an array, or another writable buffer.

        The content of the buffer is undefined after an error.

        Returns:
            Number of bytes that were read. It is below the buffer's size only at the object's end.

        Raises:
            As `read`. TypeError or BufferError: the buffer is not writable, or not contiguous.
        """
        return self._native.read_into(_key(key), buffer, _count("offset", offset), version)

    def read_many(self, ranges: Sequence[Range]) -> builtins.list[bytes]:
        """Reads many ranges of one or many objects at once, with as many requests in flight as the server
        handles well.

        Args:
            ranges: a tuple for each range: key, offset and size in bytes, and version, as in `read`. Values
                at the end may be omitted; a key alone reads a whole object.

        Returns:
            The bytes of each range, in the order of `ranges`.

        Raises:
            As `read`, for the first range that fails; the bytes of the others are dropped. DataLossError: an
            object ends before `size` bytes.
        """
        return self._native.read_many([_range(one) for one in ranges])

    def write(
        self, key: str, data: Buffer, if_absent: bool = False, if_version: str | None = None
    ) -> ObjectInfo:
        """Writes a whole object. A reader gets the old object or the new one, never a mixture.

        Args:
            data: bytes, or another contiguous buffer.
            if_absent: whether to only create the object, and never replace one.
            if_version: version that the object must have to be replaced; None: any.

        Returns:
            Size and version of the new object.

        Raises:
            AlreadyExistsError (a FileExistsError): `if_absent` is set, and the object exists.
            FailedPreconditionError: the object has another version, or the key is a folder of other objects.
            UnimplementedError: the store does not support `if_version`; see `capabilities`.
        """
        return _info(self._native.write(_key(key), data, if_absent, if_version))

    def upload(self, key: str, if_absent: bool = False, if_version: str | None = None) -> Upload:
        """Begins an object that is written in pieces, because it does not fit into memory.

            with store.upload("large.bin") as upload:
                upload.write(piece)

        The whole object becomes visible when the `with` ends. If an exception ends it, nothing is written.
        Conditions and errors are those of `write`, and apply at the end.
        """
        return Upload(self._native.upload(_key(key), if_absent, if_version))

    def stat(self, key: str = "") -> ObjectInfo:
        """Returns size, version and time of an object.

        Raises:
            NotFoundError: there is no such object. A folder is not an object.
        """
        return _info(self._native.stat(_key(key)))

    def exists(self, key: str = "") -> bool:
        """Returns whether an object has this key. A folder is not an object."""
        try:
            self.stat(key)
        except NotFoundError:
            return False
        return True

    def list(self, prefix: str = "", folders: bool = False) -> Iterator[ObjectInfo]:
        """Iterates over all objects whose keys begin with `prefix`, ascending by the bytes of their keys.

        The iterator asks the server for some thousand keys at a time, when it needs them. An object that is
        written meanwhile may or may not appear. An empty listing is not an error.

        Args:
            prefix: any text: "a" also lists "ab"; "a/" lists only that folder.
            folders: whether to stop at the next "/" after the prefix, and list each deeper folder once.
        """
        prefix, after, limit = _key(prefix), "", _FIRST_PAGE
        while True:
            page = self._native.page(prefix, after, folders, limit)
            yield from map(_info, page)
            if len(page) < limit:
                return
            after, limit = page[-1][0], min(2 * limit, _LARGEST_PAGE)

    def remove(self, *keys: str) -> None:
        """Removes objects, a thousand with each request. A missing object is not an error."""
        self._native.remove([_key(key) for key in keys])

    def copy(
        self, source: str, target: str, if_absent: bool = False, if_version: str | None = None
    ) -> ObjectInfo:
        """Copies an object within the store, on the server. Conditions are those of `write`.

        Raises:
            As `write`. NotFoundError: there is no object `source`.
        """
        return _info(self._native.copy(_key(source), _key(target), if_absent, if_version))

    def describe(self, key: str = "") -> str:
        """Returns the URL of a key, for people."""
        return self._native.describe(_key(key))

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(*self._native.capabilities())

    def counters(self) -> dict[str, int]:
        """Returns the driver's counters, which stores of the same URL and options share: requests_total,
        faults_total (attempts without an answer, or whose answer asks for a retry), resent_total,
        overloads_total, hedges_total, hedges_won_total, moved_bytes_total. Empty for a store without a
        server.
        """
        return self._native.counters()

    def metrics(self) -> str:
        """Returns calls, errors, bytes and times of this store, and `counters`, in Prometheus' text
        format."""
        return self._native.metrics()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.url, self._options)

    def __repr__(self) -> str:
        return f"<headrace.Store {self.url!r}>"


class Upload:
    """An object that is being written. `Store.upload` makes one.

    A `with` calls `commit` at its end, unless you did, and `discard` if an exception ends it. An upload that
    is dropped without either writes nothing. It belongs to the process that began it. Ctrl-C in a call
    discards it.
    """

    def __init__(self, native: _headrace.Upload):
        self._native = native
        self._is_over = False
        self.info: ObjectInfo | None = None
        """Facts about the written object; None before `commit`."""

    def write(self, data: Buffer) -> int:
        """Appends `data`. May wait until earlier pieces have been sent.

        Returns:
            The size of `data` in bytes: all of it is taken.

        Raises:
            FailedPreconditionError: the upload was committed or discarded before.
        """
        return self._native.write(data)

    def commit(self) -> ObjectInfo:
        """Makes the object visible.

        Raises:
            As `Store.write`; nothing is written then. FailedPreconditionError: the upload ended before.
        """
        self._is_over = True
        self.info = _info(self._native.commit())
        return self.info

    def discard(self) -> None:
        """Ends the upload and writes nothing. Does nothing after `commit`, nor in a forked child."""
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
        raise InvalidArgumentError(f"{value!r} is not a key; a key must be a text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidArgumentError(f"{value!r} is not a key: it is not valid Unicode") from None
    return value


def _count(name: str, value: int) -> int:
    return checked.integer(name, value, most=_MOST_BYTES)


def _size(value: int | None) -> int | None:
    return None if value is None else _count("size", value)


def _range(one: Range) -> tuple[str, int, int | None, str | None]:
    if isinstance(one, str):
        return _key(one), 0, None, None
    if not isinstance(one, tuple) or not 2 <= len(one) <= 4:
        raise InvalidArgumentError(f"{one!r} is not a range: write (key, offset, size)")
    key, offset, size, version = (*one, None, None)[:4]
    return _key(key), _count("offset", offset), _size(size), version
