"""The command `headrace` of an installed package: the native program inside it, and some commands in
Python."""

from __future__ import annotations

import os
import sys

from headrace._src.program import find_program


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
