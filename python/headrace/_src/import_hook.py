"""Registers the file systems of stores with TensorFlow as soon as a program imports TensorFlow. Imports
nothing itself."""

from __future__ import annotations

import sys
from types import ModuleType

from headrace._src.after_import import after_import


def _add_file_systems(_: ModuleType) -> None:
    try:
        import headrace.tensorflow  # noqa: F401
    except Exception as error:  # must not end a program that does not need the file systems
        sys.stderr.write(f"headrace: TensorFlow gets no file systems of stores: {error}\n")


def enable() -> None:
    """Called at every start of Python in an environment with `headrace tensorflow enable`."""
    after_import("tensorflow", _add_file_systems)
