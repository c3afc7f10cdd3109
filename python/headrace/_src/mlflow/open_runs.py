"""The parts of runs that this process writes: docs/decisions/mlflow.md."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
import weakref
from collections.abc import Callable

import mlflow
from mlflow.exceptions import MlflowException

from headrace import _headrace
from headrace._src.tracking import program_command_line, program_versions
from headrace.errors import Error

PUBLISH_SECONDS = 60.0
Point = tuple[int, int, float]  # step, milliseconds since 1970, value


def is_later(one: Point, other: Point | None) -> bool:
    """Whether a point replaces the last value: the greatest step decides, then the time, then the value."""
    return other is None or one[:2] > other[:2] or (one[:2] == other[:2] and one[2] > other[2])


class OpenPart:
    """The part of a run that this process writes. Threads may share it."""

    def __init__(self, root: str, run: str, parameters: dict[str, str]):
        self._native = _headrace.Run(
            root, run, parameters, program_versions(), program_command_line(), 0, 1, None
        )
        self._lock = threading.Lock()
        self._start_parameters = parameters
        self._is_published = True
        self.run = self._native.id
        self.name = self._native.part
        self.is_finished = False
        self.last_points: dict[str, Point] = {}

    def log(self, key: str, value: float, time_ms: int, step: int) -> bool:
        """Logs a point, without waiting for the store. Returns False if the part was finished meanwhile."""
        with self._lock:
            if self.is_finished:
                return False
            self._native.log_at(key, value, step, time_ms * 1000)
            self._is_published = False
            point = (step, time_ms, value)
            if is_later(point, self.last_points.get(key)):
                self.last_points[key] = point
        return True

    def copy_last_points(self) -> dict[str, Point]:
        with self._lock:
            return dict(self.last_points)

    def publish(self) -> None:
        """Waits until all points so far are in the store."""
        with self._lock:
            if self._is_published or self.is_finished:
                return
            self._is_published = True  # set first: points that arrive meanwhile reset it
        try:
            self._native.publish(PUBLISH_SECONDS)
        except Error:
            self._is_published = False
            raise

    def add_output(self, name: str, url: str) -> None:
        self._native.add_output(name, url)

    def finish(self, error: str, is_stopped: bool, parameters: dict[str, str]) -> None:
        """Writes the end of the part's record. Idempotent."""
        with self._lock:
            if self.is_finished:
                return
            self.is_finished = True
        changed = {
            key: value for key, value in parameters.items() if self._start_parameters.get(key) != value
        }
        metrics = {key: point[2] for key, point in self.last_points.items()}
        dropped = self._native.counts()["dropped"]
        self._native.finish(error, is_stopped, metrics, changed, PUBLISH_SECONDS)
        if dropped:
            warnings.warn(
                f"{dropped} points of the run {self.run} were dropped, because they were logged faster "
                "than they can be stored",
                stacklevel=2,
            )


class OpenRuns:
    """The open parts of this process, by run. A forked child has no parts."""

    def __init__(self, end_part: Callable[[OpenPart], None]):
        self._lock = threading.RLock()
        self._parts: dict[str, OpenPart] = {}
        self._process = os.getpid()
        self._end_part = end_part
        _stores.add(self)

    def find(self, run: str) -> OpenPart | None:
        with self._lock:
            if self._process != os.getpid():
                self._parts, self._process = {}, os.getpid()
            return self._parts.get(run)

    def open(self, run: str, start: Callable[[], OpenPart]) -> OpenPart:
        """The part of this run; if there is none, `start` makes it."""
        with self._lock:
            part = self.find(run)
            if part is None or part.is_finished:
                part = self._parts[run] = start()
            return part

    def add(self, part: OpenPart) -> None:
        with self._lock:
            self.find(part.run)
            self._parts[part.run] = part

    def forget(self, part: OpenPart) -> None:
        with self._lock:
            if self._parts.get(part.run) is part:
                del self._parts[part.run]

    def end_all(self) -> None:
        self.find("")
        for part in list(self._parts.values()):
            try:
                self._end_part(part)
            except (Error, MlflowException) as error:
                warnings.warn(f"the run {part.run}: {error}", stacklevel=2)


_stores: weakref.WeakSet[OpenRuns] = weakref.WeakSet()


@atexit.register
def end_all_runs() -> None:
    """Ends active runs at the end of the program. MLflow does this too, but only after our parts have
    ended."""
    try:
        while mlflow.active_run() is not None:
            mlflow.end_run()
    except (MlflowException, Error) as error:
        warnings.warn(f"an active run could not be ended: {error}", stacklevel=2)
    for runs in list(_stores):
        runs.end_all()
