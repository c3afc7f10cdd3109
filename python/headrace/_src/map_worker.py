"""Runs a user's function on rows, for `headrace prepare --map`.

    python -m headrace._src.map_worker MODULE:FUNCTION ROW_BYTES_MAX

Standard output is a socket that carries frames (docs/formats/mapped-rows.md) both ways; standard input is a
pipe that hangs up when Headrace ends. The function sees neither: its standard input is empty, and its output
goes to standard error.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable

from headrace._src import mapped_rows
from headrace._src.errors import ModelError
from headrace._src.user_function import load_function

# Answers are sent when this many bytes have collected, or this long after the previous answers: Headrace
# treats a long silence as a function that hangs.
_SEND_BYTES = 64 << 10
_SEND_SECONDS = 0.01


def end_with(lifeline: int) -> list[int]:
    """Ends this process and its children when the pipe hangs up. The kernel does this, even while a library
    holds the interpreter's lock, as long as the returned descriptors are open."""
    ends = []
    for owner in (-os.getpgrp(), os.getpid()):  # the function may move the process to another group
        # Opened again, because a duplicated descriptor would share its owner.
        end = os.open(f"/proc/self/fd/{lifeline}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.fcntl(end, fcntl.F_SETOWN, owner)
        fcntl.fcntl(end, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(end, fcntl.F_SETFL, fcntl.fcntl(end, fcntl.F_GETFL) | os.O_ASYNC)
        ends.append(end)
    hung_up = select.poll()
    hung_up.register(lifeline, 0)
    if hung_up.poll(0):
        sys.exit(1)
    return ends


class Frames:
    """Takes over standard input and output. Make only one per process."""

    def __init__(self) -> None:
        self._lifeline = os.dup(0)
        self._socket = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        self._ends = end_with(self._lifeline)
        self._reader = os.fdopen(self._socket, "rb", buffering=1 << 20)

    def receive(self) -> bytes:
        """The next bytes; empty at the end of the stream."""
        size = self._reader.read(4)
        return self._reader.read(*struct.unpack("<I", size)) if len(size) == 4 else b""

    def send(self, frame: bytes) -> None:
        waiting = memoryview(struct.pack("<I", len(frame)) + frame)
        while waiting:
            waiting = waiting[os.write(self._socket, waiting) :]


def describe(error: Exception) -> str:
    """'ValueError: no name (clean.py:12)': the last line of the user's file that was reached."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    where = f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{where}"


def map_rows(frames: Frames, function: Callable, row_bytes_max: int) -> None:
    """Answers frames with rows until there are no more."""
    answers = mapped_rows.Answers(row_bytes_max)
    while frame := frames.receive():
        sent = time.monotonic()
        for row in mapped_rows.decode(frame):
            try:
                made = function(row)
            except Exception as error:  # the function may raise anything; the error is reported
                answers.add_failed(describe(error))
            else:
                answers.add(made)
            now = time.monotonic()
            if answers.size_bytes >= _SEND_BYTES or now - sent >= _SEND_SECONDS:
                frames.send(answers.frame())
                answers.clear()
                sent = now
        if answers:
            frames.send(answers.frame())
            answers.clear()


def main() -> int:
    name, row_bytes_max = sys.argv[1:]
    frames = Frames()
    ready = mapped_rows.Answers(int(row_bytes_max))
    try:
        function = load_function(name)
    except ModelError as error:
        ready.add_failed(str(error))
        frames.send(ready.frame())
        return 1
    frames.send(ready.frame())
    map_rows(frames, function, int(row_bytes_max))
    return 0


if __name__ == "__main__":
    sys.exit(main())
