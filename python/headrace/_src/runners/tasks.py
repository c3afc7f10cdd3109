"""Tasks of a shared plan as engines see them: the URL of the plan, and task numbers. The native program does
the work on the machine that the engine chooses, so bytes go from store to store and never through the
engine."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace._src.program import find_program

# Temporary errors: docs/concepts.md, "Errors".
_TRANSIENT = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "RESOURCE_EXHAUSTED"}
_GROUPS = 256  # of a phase, about: enough for many machines, yet few starts of the program
_GROUP_TASKS_MAX = 64


class TaskError(Exception):
    """A task, or something that it needs, failed permanently."""


class TransientTaskError(TaskError):
    """A task failed for a temporary reason, such as a fault of the store or a kill: retry it."""


@dataclass(frozen=True)
class Plan:
    """A plan, and the options of `headrace execute` for it."""

    url: str
    options: tuple[str, ...] = ()

    def execute(self, numbers: Sequence[int]) -> None:
        """Executes tasks on this machine. Tasks that are already done cost only a check."""
        self._run(*(f"--task={number}" for number in numbers))

    def look(self) -> dict:
        """The remaining tasks: the document of `headrace execute --list --json`."""
        return json.loads(self._run("--list"))

    def _run(self, *arguments: str) -> str:
        try:
            program = find_program()
        except SystemExit as missing:
            raise TaskError(f"on {socket.gethostname()}: {missing}") from None
        done = subprocess.run(
            [program, "execute", self.url, "--json", "--quiet", *self.options, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            # The message is read from stderr, even if a headrace.prepare above wants errors as JSON.
            env={name: value for name, value in os.environ.items() if name != "HEADRACE_ERRORS"},
        )
        if done.returncode == 0:
            return done.stdout
        message = f"on {socket.gethostname()}: {done.stderr.strip()[-2000:]}"
        if done.returncode < 0:
            raise TransientTaskError(f"{message} (ended by signal {-done.returncode})")
        code = json.loads(done.stdout or "{}").get("error", {}).get("code")
        raise (TransientTaskError if code in _TRANSIENT else TaskError)(message)


def execute(numbers: Sequence[int], url: str, options: tuple[str, ...]) -> None:
    """`Plan.execute` with arguments that engines can send to machines that may lack this package."""
    Plan(url, options).execute(numbers)


def groups(numbers: Sequence[int]) -> list[list[int]]:
    """Groups of tasks, a few for each start of the program."""
    size = max(1, min(_GROUP_TASKS_MAX, len(numbers) // _GROUPS))
    return [list(numbers[first : first + size]) for first in range(0, len(numbers), size)]


def run_phases(plan: Plan, run_groups: Callable[[list[list[int]]], None]) -> None:
    """Runs the reading tasks on the engine, then the writing tasks, whose number is known only after all
    reading."""
    for phase in ("unread", "undone"):
        if left := plan.look()[phase]:
            run_groups(groups(left))


def message_of(error: BaseException) -> str:
    """The task's own message, without the engine's report of where it ran."""
    text = str(error)
    if "No module named 'headrace" in text:
        return "the machines of the cluster lack the Python package headrace: pip install headrace there"
    # Engines report an exception of a worker as the text of its traceback.
    own = re.findall(r"TaskError: (.*?)(?= \[while running|\n\nDuring handling|\Z)", text, re.DOTALL)
    return own[-1].strip() if own else text


def main(engine: str, package: str, run: Callable[[Plan, str, dict[str, str]], None]) -> int:
    """Runs an adapter as a program. If it fails, the last line of its output is a JSON object with the
    reason."""
    parser = argparse.ArgumentParser(prog=f"headrace._src.runners.{engine}")
    parser.add_argument("url")
    parser.add_argument("--target", default="")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--execute-option", action="append", default=[])
    arguments = parser.parse_args()
    options = dict(option.split("=", 1) for option in arguments.option)
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:  # a plain folder of that name is not the package
        install = f"{sys.executable} -m pip install {package.replace('_', '-')}"
        return _fail(f"{package} is not installed in {sys.executable}: {install}")
    try:
        run(Plan(arguments.url, tuple(arguments.execute_option)), arguments.target, options)
    except Exception as error:  # an engine may raise anything; the command reports it
        return _fail(message_of(error))
    return 0


def _fail(message: str) -> int:
    print(json.dumps({"error": message}), flush=True)
    return 1
