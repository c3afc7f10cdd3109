"""The exceptions of headrace: one class for each of gRPC's codes, all of them subclasses of `Error`.

A message says what failed, at which URL, record and offset, and what to do. docs/concepts.md, "Errors", says
how a caller should treat each code. Where Python has an exception for the same reason, the class is a
subclass of that one, too: `NotFoundError` is a `FileNotFoundError`.
"""

from __future__ import annotations


class Error(Exception):
    """A call of headrace failed. `code` is gRPC's name for the reason, for example "NOT_FOUND"."""

    code = "UNKNOWN"


class CancelledError(Error):
    """The call was asked to stop."""

    code = "CANCELLED"


class InvalidArgumentError(Error, ValueError):
    """The call is wrong whatever the data: change the call."""

    code = "INVALID_ARGUMENT"


class DeadlineExceededError(Error, TimeoutError):
    """The call took too long; the same call may succeed later."""

    code = "DEADLINE_EXCEEDED"


class NotFoundError(Error, FileNotFoundError):
    """Nothing lies at the URL. This is an ordinary answer: check the URL."""

    code = "NOT_FOUND"


class AlreadyExistsError(Error, FileExistsError):
    """Another writer was first: look at what is there."""

    code = "ALREADY_EXISTS"


class PermissionDeniedError(Error, PermissionError):
    """The credentials do not allow the call."""

    code = "PERMISSION_DENIED"


class ResourceExhaustedError(Error):
    """Memory, disk or a budget is too small."""

    code = "RESOURCE_EXHAUSTED"


class FailedPreconditionError(Error):
    """Something is not in the state that the call needs: look, decide, call again."""

    code = "FAILED_PRECONDITION"


class AbortedError(Error):
    """Another process interfered: repeat the larger operation, not the single call."""

    code = "ABORTED"


class OutOfRangeError(Error):
    """The call asks for something past the end."""

    code = "OUT_OF_RANGE"


class UnimplementedError(Error, NotImplementedError):
    """This store, platform or build does not support the call."""

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
    """Returns the exception for a code's name. The native module raises it."""
    return _CLASSES.get(code, Error)(message)
