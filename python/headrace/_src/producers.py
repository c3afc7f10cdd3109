"""Ends TensorFlow's threads that take elements of loaders before the interpreter ends."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any, Protocol

_QUIET_SECONDS = 0.05
_MOST_SECONDS = 5.0


class Closable(Protocol):
    def close(self) -> None: ...


class Producers:
    """Threads of TensorFlow that run Python to take the elements of loaders.

    TensorFlow destroys an iterator only when the interpreter clears its modules, and then waits for the
    iterator's thread. A thread that is inside Python at that time never returns, so the process would not
    end. Therefore `atexit` closes the loaders and waits until no thread takes elements, at most for 5
    seconds.

    Create this object after TensorFlow and the native module are imported: `atexit` calls the last function
    first.
    """

    def __init__(self) -> None:
        self.have_ended = False
        """Whether the interpreter is ending: a pass that fails then simply ends."""
        self._process = os.getpid()
        self._loaders: weakref.WeakSet[Closable] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._inside = 0
        self._calls = 0
        atexit.register(self._end)

    def follow(self, loader: Closable, elements: Iterator[Any]) -> Iterator[Any]:
        """Returns an iterator over `elements` of that loader, which the end of the interpreter waits for;
        once the interpreter ends, an empty iterator."""
        if self.have_ended:
            return iter(())
        self._loaders.add(loader)
        return _Followed(self, elements)

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            self._calls += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1

    def _end(self) -> None:
        if os.getpid() != self._process:
            return  # a forked child has no such threads
        self.have_ended = True
        for loader in list(self._loaders):
            loader.close()
        self._wait_until_quiet()

    def _wait_until_quiet(self) -> None:
        """Waits until no thread is inside and none has come back since: a thread may ask for another element
        at once, and must see the end."""
        deadline = time.monotonic() + _MOST_SECONDS
        seen = None
        while (self._inside, self._calls) != (0, seen) and time.monotonic() < deadline:
            seen = self._calls
            time.sleep(_QUIET_SECONDS)


class _Followed(Iterator[Any]):
    def __init__(self, producers: Producers, elements: Iterator[Any]):
        self._producers = producers
        self._elements = elements

    def __next__(self) -> Any:
        with self._producers:
            return next(self._elements)
