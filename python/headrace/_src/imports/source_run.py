"""A run as its source describes it, and the messages that pass it to the command.

Messages, each an object of one member (channel.py):

* "run": the facts of a run, as `SourceRun` has them, without points. The answer is "take" or "skip".
* "points": points of the run that was taken last: `metric`, and `steps`, `times_us` and `values` of each.
* "end": all points of that run were sent.
* "problem": why a run, or the whole source, cannot be read.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from headrace._src.channel import Channel

MOST_TEXT_BYTES = 1 << 20  # per param, tag or description in a file
_MOST_MESSAGE_BYTES = 12 << 20
_MOST_POINTS = 10_000  # per message
_MOST_NAME_BYTES = 1024

# Readers raise these for contents that no tracker writes. They concern one run; the other runs are still
# read.
UNREADABLE = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)


class Point(NamedTuple):
    """A value of a metric. `time_us`: microseconds since 1970."""

    metric: str
    step: int
    time_us: int
    value: float


class Problem(Exception):
    """A run or a source cannot be read. The message says which, and what to do."""


@dataclasses.dataclass
class SourceRun:
    """A run.

    Attributes:
        identity: see docs/formats/run-record.md, "Imported runs".
        source: "mlflow", "wandb" or "neptune".
        id: the run's id in its source.
        place: path that the run was read from.
        status: "finished", "failed" or "stopped"; any other text means that the run has not ended.
        started_ms, ended_ms: since 1970.
        metrics: final values, if they differ from the last points.
        files: URLs or paths of files and folders, and their paths within the artifact.
        remarks: what was left out.
        state: how much of the points the source has; the text changes when the source has more, but not when
            the source moves.
        points: a function that reads the points; called once, if the run is taken.
    """

    identity: str
    source: str
    id: str
    place: str
    points: Callable[[], Iterable[Point]]
    name: str = ""
    group: str = ""
    parameters: dict[str, str] = dataclasses.field(default_factory=dict)
    tags: dict[str, str] = dataclasses.field(default_factory=dict)
    status: str = "finished"
    error: str = ""
    started_ms: int = 0
    ended_ms: int | None = None
    metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    files: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    remarks: list[str] = dataclasses.field(default_factory=list)
    state: str = ""

    def facts(self) -> dict[str, Any]:
        """The facts as JSON can hold them: valid texts and finite numbers.

        Raises:
            Problem: the facts are too large for a message, or a value that must be a text is not one.
        """
        facts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del facts["points"]
        self._check_texts()
        facts["metrics"] = {name: _number(value) for name, value in self.metrics.items()}
        facts["started_ms"] = _within(self.started_ms)
        facts["ended_ms"] = None if self.ended_ms is None else _within(self.ended_ms)
        valid = _valid(facts)
        if len(json.dumps(valid)) > _MOST_MESSAGE_BYTES:
            raise Problem(
                f"{self.place}: params, tags and files of the run have more than {_MOST_MESSAGE_BYTES} bytes"
            )
        return valid

    def _check_texts(self) -> None:
        """Checks the type of a text, because the command would end the import at another type."""
        own = (self.identity, self.source, self.id, self.place, self.name, self.group)
        own += (self.status, self.error, self.state)
        pairs = (*self.parameters.items(), *self.tags.items())
        for text in (*own, *(each for pair in pairs for each in pair), *self.remarks):
            if not isinstance(text, str):
                raise Problem(f"{self.place}: {type(text).__name__} instead of a text: {text!r:.100}")


def tell(channel: Channel, runs: Iterator[SourceRun | Problem]) -> None:
    """Sends each run to the command, and the points of the runs that it takes."""
    for run in runs:
        if isinstance(run, Problem):
            channel.say(problem=_valid(str(run)))
            continue
        try:
            if channel.ask(run=run.facts()).strip() == "take":
                _tell_points(channel, run)
                channel.say(end=True)
        except Problem as problem:
            channel.say(problem=_valid(str(problem)))
        except UNREADABLE as error:
            channel.say(problem=_valid(f"{run.place}: {error!r}"))


def leads_out(path: pathlib.Path, source: pathlib.Path) -> bool:
    """Whether symbolic links lead from a path below the source to a place outside it."""
    return not pathlib.Path(os.path.realpath(path)).is_relative_to(os.path.realpath(source))


def is_metric_name(name: str) -> bool:
    return 0 < len(name.encode(errors="replace")) <= _MOST_NAME_BYTES


def _tell_points(channel: Channel, run: SourceRun) -> None:
    """Consecutive points of a metric share messages."""
    held: list[Point] = []
    for point in run.points():
        if held and (point.metric != held[0].metric or len(held) == _MOST_POINTS):
            _tell_held(channel, held)
            held = []
        held.append(point)
    if held:
        _tell_held(channel, held)


def _tell_held(channel: Channel, held: list[Point]) -> None:
    _, steps, times_us, values = zip(*held, strict=True)
    if not all(-(1 << 63) <= number < 1 << 63 for number in (*steps, *times_us)):
        raise Problem(f"a step or a time of {held[0].metric} has more than 64 bits")
    channel.say(
        points={
            "metric": _valid(held[0].metric),
            "steps": steps,
            "times_us": times_us,
            "values": [_number(value) for value in values],
        }
    )


def _within(time_ms: int) -> int:
    """The command replaces times that no record can hold by the nearest possible time."""
    return min(max(time_ms, 0), 1 << 60)


def _valid(value: Any) -> Any:
    """The same value with valid UTF-8 texts: file names and JSON escapes may hold text that is not valid
    UTF-8."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_valid(name): _valid(each) for name, each in value.items()}
    return [_valid(each) for each in value] if isinstance(value, list | tuple) else value


def _number(value: float) -> float | str:
    """Replaces NaN and infinities, which JSON lacks."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
