"""The one exception that the tracer reports to its caller."""

from __future__ import annotations


class ModelError(Exception):
    """The model cannot be used; the message says why and what to change. `kind` is for programs."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind
