"""TensorFlow gets the file systems of stores as soon as a program imports it; nothing is imported for it."""

from __future__ import annotations

import sys
from types import ModuleType

from headrace._src.after_import import after_import


def _add_file_systems(_: ModuleType) -> None:
    try:
        import headrace.tensorflow  # noqa: F401
    except Exception as error:  # a program that does not need them must not end for it
        sys.stderr.write(f"headrace: TensorFlow gets no file systems of stores: {error}\n")


def enable() -> None:
    """For `headrace tensorflow enable`: called at the start of every Python of that environment."""
    after_import("tensorflow", _add_file_systems)
