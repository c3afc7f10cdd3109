"""Finds the native program `headrace`."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def find_program() -> Path:
    """Returns the path of the native program: in the wheel, otherwise in the build folder of a checkout."""
    build = Path(os.environ.get("HEADRACE_BUILD") or _PACKAGE.parents[1] / "build" / "release")
    for path in (_PACKAGE / "bin" / "headrace", build / "bin" / "headrace"):
        if os.access(path, os.X_OK):
            return path
    raise SystemExit(
        f"headrace: the program is neither in {_PACKAGE / 'bin'} nor in {build / 'bin'}: run ./dev build"
    )
