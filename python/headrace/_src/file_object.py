"""Open files of fsspec: a reader sees one version; a writer writes a whole file or nothing."""

from __future__ import annotations

import contextlib
import io
import warnings
from types import TracebackType
from typing import Any

from fsspec.compression import compr
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from headrace._src.store import Store, Upload
from headrace.errors import AlreadyExistsError, UnimplementedError


class _WholeOrNothing(io.IOBase):
    """A file that `close` writes. Nothing is written if an exception ends the `with`, or if the file is
    dropped while open.
    """

    def abandon(self) -> None:
        """Closes the file without writing; the old content stays."""
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abandon()
        self.close()

    def __del__(self) -> None:
        if self.closed:
            return
        if self.writable():
            warnings.warn(f"{self} was never closed: nothing was written", ResourceWarning, stacklevel=2)
        self.abandon()


class HeadraceFile(_WholeOrNothing, AbstractBufferedFile):
    """The object `key` of `store` as the file `path` of `fs`. `HeadraceFileSystem.open` returns one."""

    def __init__(
        self,
        store: Store,
        key: str,
        fs: AbstractFileSystem,
        path: str,
        mode: str,
        block_size: int,
        autocommit: bool,
        cache_options: dict[str, Any] | None,
        version: str | None = None,
        if_absent: bool = False,
        **kwargs: Any,
    ):
        self._store, self._key = store, key
        self._upload: Upload | None = None
        self._if_absent = if_absent or "x" in mode
        if "a" in mode:
            raise UnimplementedError(f"{path}: an object cannot be appended to; write a new object")
        if mode == "xb" and fs.exists(path):  # an early error; the check that counts is made on close
            raise AlreadyExistsError(f"{path} already exists")
        if mode == "rb":
            details = fs.info(path, refresh=True)
            if details["type"] == "directory":
                raise IsADirectoryError(f"{path} is a folder")
            self._version = version or details["version"]
            kwargs = {**kwargs, "size": details["size"]}
        super().__init__(fs, path, mode, block_size, autocommit, cache_options=cache_options, **kwargs)
        if mode == "rb":
            self.details = details
            self.kwargs = {**self.kwargs, "version": self._version}  # a pickle reopens this version

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self._store.read(self._key, start, max(end - start, 0), self._version)

    # ---- what fsspec calls while it writes

    def _initiate_upload(self) -> None:
        self._upload = self._store.upload(self._key, if_absent=self._if_absent)

    def _upload_chunk(self, final: bool = False) -> bool:
        try:
            self._upload.write(self.buffer.getbuffer())
            if final and self.autocommit:
                self.commit()
        except BaseException:  # the sent bytes have a gap now and must not become an object
            self.discard()
            raise
        return True

    def commit(self) -> None:
        """Makes the file visible; a transaction calls it at its end."""
        upload, self._upload = self._upload, None
        if upload is not None:
            upload.commit()

    def discard(self) -> None:
        """Discards the file; the old content stays, and later writes are refused."""
        upload, self._upload = self._upload, None
        self.forced = True  # so that `close` sends nothing
        if upload is not None:
            upload.discard()

    def abandon(self) -> None:
        if self.writable():
            self.discard()
        self.close()


class WrittenText(_WholeOrNothing, io.TextIOWrapper):
    """Text that is written to a file."""

    def abandon(self) -> None:
        self.buffer.abandon()  # this closes the text file, too


class WrittenCompressed(_WholeOrNothing, io.RawIOBase):
    """Bytes that are compressed and written to a file. fsspec's own class would leave the file open."""

    def __init__(self, file: HeadraceFile, compression: str):
        self._file = file
        self._compressor = compr[compression](file, mode="w")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._compressor.write(data)
        return memoryview(data).nbytes

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._compressor.close()
            self._file.close()

    def abandon(self) -> None:
        super().close()
        self._file.abandon()
        with contextlib.suppress(ValueError):  # the file refuses the compressor's last bytes
            self._compressor.close()
