"""Runs the native program's `prepare` as a child process, stops it, and turns its errors into exceptions."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from headrace._src.prepare_options import in_python
from headrace._src.program import find_program
from headrace.errors import CancelledError, Error, InternalError, error_of

_OWN_STOP_SECONDS = 1.0
_STOP_SECONDS = 30.0  # how long a stopped child may take to finish writing


def run_prepare(arguments: Sequence[str]) -> dict[str, Any]:
    """Runs the command and returns its answer. Progress goes to this process's stderr; an exception here,
    such as Ctrl-C, stops the command.

    Raises:
        Error: the subclass for the command's error code.
    """
    environment = dict(os.environ) | {"HEADRACE_ERRORS": "json"}
    if environment.setdefault("HEADRACE_PYTHON", sys.executable) == sys.executable:
        # The child must find the user's functions on the same path as this process.
        environment["PYTHONPATH"] = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    command = [str(find_program()), "prepare", "--json", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment
    ) as child:
        try:
            output, _ = child.communicate()
        except BaseException:
            _stop(child)
            raise
    document = _document_of(output)
    if child.returncode == 0:
        return document
    told = document.get("error")
    if told is None:
        raise _ended_without_a_word(child.returncode)
    raise error_of(told["code"], in_python(told["message"]))


def _document_of(output: bytes) -> dict[str, Any]:
    try:
        document = json.loads(output)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _ended_without_a_word(returncode: int) -> Error:
    if returncode >= 0:
        return InternalError(f"headrace prepare ended with code {returncode}; see its messages on stderr")
    name = signal.Signals(-returncode).name
    return CancelledError(f"headrace prepare was ended by {name}; the same call continues where it stopped")


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Asks the child to end, and kills it if it does not."""
    try:
        # A terminal's Ctrl-C reaches the child, too; at a second signal it would abandon the file that it is
        # writing.
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_OWN_STOP_SECONDS)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=_STOP_SECONDS)
    except BaseException:  # the child is too slow, or the user pressed Ctrl-C again
        child.kill()
        child.communicate()
