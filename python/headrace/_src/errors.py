"""The one exception that the tracer reports to its caller."""

from __future__ import annotations

import re

_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # Keras prints parts of its messages in bold


class ModelError(Exception):
    """The model cannot be used; the message says why and what to change. Programs read `kind`."""

    def __init__(self, kind: str, message: str):
        super().__init__(_TERMINAL_CODES.sub("", message))
        self.kind = kind
