"""What headrace raises: one class for each of gRPC's codes, all of them `Error`.

The message says what was being done to which URL, record and offset, and what to do about it.
docs/concepts.md, "Errors", says what a caller should do about each code. Those that Python has an exception
for are that exception, too.
"""

from __future__ import annotations


class Error(Exception):
    """Something that headrace was asked for failed. `code` is gRPC's name of the reason: "NOT_FOUND"."""

    code = "UNKNOWN"


class CancelledError(Error):
    """It was asked to stop."""

    code = "CANCELLED"


class InvalidArgumentError(Error, ValueError):
    """The call is wrong, whatever the data: change it."""

    code = "INVALID_ARGUMENT"


class DeadlineExceededError(Error, TimeoutError):
    """It took too long; the same call may succeed later."""

    code = "DEADLINE_EXCEEDED"


class NotFoundError(Error, FileNotFoundError):
    """An ordinary answer: check the URL."""

    code = "NOT_FOUND"


class AlreadyExistsError(Error, FileExistsError):
    """Somebody else was first: look at what is there."""

    code = "ALREADY_EXISTS"


class PermissionDeniedError(Error, PermissionError):
    """The credentials do not allow it."""

    code = "PERMISSION_DENIED"


class ResourceExhaustedError(Error):
    """Memory, disk or a budget is too small."""

    code = "RESOURCE_EXHAUSTED"


class FailedPreconditionError(Error):
    """Something is not in the state that the call needs: look, decide, call again."""

    code = "FAILED_PRECONDITION"


class AbortedError(Error):
    """Another process was at it: redo the larger operation, not the single call."""

    code = "ABORTED"


class OutOfRangeError(Error):
    """Past the end."""

    code = "OUT_OF_RANGE"


class UnimplementedError(Error, NotImplementedError):
    """Not possible here."""

    code = "UNIMPLEMENTED"


class InternalError(Error):
    """A defect of headrace: report it."""

    code = "INTERNAL"


class UnavailableError(Error, ConnectionError):
    """The store does not answer; the same call may succeed later."""

    code = "UNAVAILABLE"


class DataLossError(Error):
    """Stored bytes are damaged: restore them, or skip them with `on_corrupt`."""

    code = "DATA_LOSS"


class UnauthenticatedError(Error, PermissionError):
    """There are no credentials, or wrong ones."""

    code = "UNAUTHENTICATED"


_CLASSES = {kind.code: kind for kind in Error.__subclasses__()}


def error_of(code: str, message: str) -> Error:
    """The exception for a code's name; the native module raises what this returns."""
    return _CLASSES.get(code, Error)(message)
