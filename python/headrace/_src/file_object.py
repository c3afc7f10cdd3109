"""Files of fsspec that are open: of one version when read, whole or not at all when written."""

from __future__ import annotations

import io
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fsspec.spec import AbstractBufferedFile

from headrace.errors import AlreadyExistsError, UnimplementedError

if TYPE_CHECKING:
    from headrace._src.file_system import HeadraceFileSystem
    from headrace._src.store import Upload


class HeadraceFile(AbstractBufferedFile):
    """An object as a file. Get one from `HeadraceFileSystem.open`."""

    def __init__(
        self,
        fs: HeadraceFileSystem,
        path: str,
        mode: str,
        block_size: int,
        autocommit: bool,
        cache_options: dict | None,
        version: str | None = None,
        if_absent: bool = False,
        **kwargs: Any,
    ):
        self._upload: Upload | None = None
        if "a" in mode:
            raise UnimplementedError(f"{path}: an object cannot be appended to; write it anew")
        super().__init__(fs, path, mode, block_size, autocommit, cache_options=cache_options, **kwargs)
        self._store, self._key = fs._store_of(path)
        self._if_absent = if_absent or "x" in mode
        if mode == "xb" and fs.exists(path):  # told early; what counts is told when it is closed
            raise AlreadyExistsError(f"{path} exists already")
        if mode == "rb":
            if self.details["type"] == "directory":
                raise IsADirectoryError(f"{path} is a folder")
            self._version = version or self.details["version"]
            self.kwargs = {**kwargs, "version": self._version}  # which is what a pickle reopens

    @property
    def _is_being_written(self) -> bool:
        return self.mode != "rb" and not self.closed

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
        except BaseException:  # what was sent has a hole now: it must not become an object
            self.discard()
            raise
        return True

    def commit(self) -> None:
        """Makes the file visible; a transaction calls it at its end."""
        upload, self._upload = self._upload, None
        if upload is not None:
            upload.commit()

    def discard(self) -> None:
        """Leaves what was there as it was; what is written from here on is refused."""
        upload, self._upload = self._upload, None
        self.forced = True  # so that `close` sends nothing
        if upload is not None:
            upload.discard()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._is_being_written:
            self.discard()
        self.close()

    def __del__(self) -> None:
        if self._is_being_written:
            warnings.warn(f"{self} was never closed: nothing was written", ResourceWarning, stacklevel=2)
            self._upload, self.forced = None, True
        super().__del__()


class WrittenText(io.TextIOWrapper):
    """Text that is written, and discarded with its file if an exception ends its `with`."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.buffer.__exit__(kind, error, trace)  # it is closed then, and this with it
        super().__exit__(kind, error, trace)
