"""The command `headrace` of an installed package: the native program that lies in it, and some more."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def find_program() -> Path:
    """The native program: the wheel's, else the build folder's of a checkout."""
    build = Path(os.environ.get("HEADRACE_BUILD") or _PACKAGE.parents[1] / "build" / "release")
    for path in (_PACKAGE / "bin" / "headrace", build / "bin" / "headrace"):
        if os.access(path, os.X_OK):
            return path
    raise SystemExit(
        f"headrace: the program is neither in {_PACKAGE / 'bin'} nor in {build / 'bin'}: ./dev build"
    )


def main() -> int:
    if sys.argv[1:2] == ["demo"]:
        from headrace._src.demo import main as demo

        return demo(sys.argv[2:])
    if sys.argv[1:2] == ["tfrecorder"]:
        from headrace.tfrecorder._command import main as tfrecorder

        return tfrecorder(sys.argv[2:])
    os.environ.setdefault("HEADRACE_PYTHON", sys.executable)
    program = str(find_program())
    os.execv(program, [program, *sys.argv[1:]])
