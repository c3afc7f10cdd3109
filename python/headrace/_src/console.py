"""Stores the output of a program with the record of its run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import IO, Any

_STREAMS = ("stdout", "stderr")


class _Copied:
    """A text stream that also passes its writes to `copy`. The original stream handles all other calls."""

    def __init__(self, stream: IO[str], copy: Callable[[str], None]):
        self._stream = stream
        self._copy = copy

    def write(self, text: str) -> int:
        written = self._stream.write(text)
        self._copy(text)
        return written

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Any:
        return iter(self._stream)


class ConsoleCopy:
    """Captures `sys.stdout` and `sys.stderr` until `stop`. `keep(is_error_stream, text)` is called with each
    text that Python code writes there. Output of C libraries and of forked children is not captured."""

    def __init__(self, keep: Callable[[bool, str], None]):
        self._keep: Callable[[bool, str], None] | None = keep
        self._process = os.getpid()
        self._copied: dict[str, _Copied] = {}
        for name in _STREAMS:
            if stream := getattr(sys, name):
                self._copied[name] = _Copied(stream, self._copy_to(name == "stderr"))
                setattr(sys, name, self._copied[name])

    def _copy_to(self, is_error_stream: bool) -> Callable[[str], None]:
        def copy(text: str) -> None:
            if self._keep is not None and os.getpid() == self._process:
                self._keep(is_error_stream, text.encode(errors="replace").decode())

        return copy

    def stop(self) -> None:
        """Ends the capture. A stream that other code has replaced meanwhile is left alone."""
        self._keep = None
        for name, copied in self._copied.items():
            if getattr(sys, name) is copied:
                setattr(sys, name, copied._stream)
