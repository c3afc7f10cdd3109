"""How a Python program that `headrace` started talks to it: JSON lines over the standard streams.

Everything that imported modules print goes to standard error, so that it does not mix with the messages.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

_PR_SET_PDEATHSIG = 1


class Channel:
    """Takes over standard input and output. Make only one per process."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(0), encoding="utf-8")
        self._messages = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)

    def say(self, **message: Any) -> None:
        """Sends a message. Numbers must be finite; see history.to_json."""
        print(json.dumps(message, allow_nan=False), file=self._messages, flush=True)

    def ask(self, **message: Any) -> str:
        """Sends a message and returns the answer, one line. Ends this process if the other side is gone."""
        self.say(**message)
        answer = self._answers.readline()
        if not answer:
            os._exit(1)
        return answer


@contextlib.contextmanager
def quiet_unless_it_fails() -> Iterator[None]:
    """Holds back everything that is written to standard error, including output of C libraries, and shows it
    only after an error."""
    before = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(before, held.read())
            raise
        finally:
            os.dup2(before, 2)
            os.close(before)


def end_with(parent: int) -> None:
    """Makes Linux end this process when the parent process ends, whatever this process is doing."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)
