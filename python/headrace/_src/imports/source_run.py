"""A run as a source has it, and how the command is told of it.

Messages, each an object of one member (channel.py):

* "run": the facts of a run, as `SourceRun` has them, without points. The answer is "take" or "skip".
* "points": of the run that was taken last: `metric`, and of each point `steps`, `times_us` and `values`.
* "end": the points of that run were all.
* "problem": a run, or all, cannot be read: why.
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

MOST_TEXT_BYTES = 1 << 20  # of a param, a tag or a description in a file
_MOST_MESSAGE_BYTES = 12 << 20
_MOST_POINTS = 10_000  # of a message
_MOST_NAME_BYTES = 1024

# Contents that no tracker has written raise these in a reader. They concern one run: the others are read.
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
    """A run, or a source, that cannot be read. The message says which, and what to do."""


@dataclasses.dataclass
class SourceRun:
    """A run.

    Attributes:
        identity: as docs/formats/run-record.md has it, "Imported runs".
        source: "mlflow", "wandb" or "neptune".
        id: that the run has there.
        place: path of what the run was read from.
        status: "finished", "failed", "stopped"; any other text: it has not ended.
        started_ms, ended_ms: since 1970.
        metrics: final values, where they are not the last points.
        files: URLs or paths of files and folders, and their paths within the artifact.
        remarks: what was left out.
        state: how much the source has of the points; another text as soon as it has more, wherever it lies.
        points: reads them; is called once, if the run is taken.
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
        """As JSON can hold them: valid texts and finite numbers.

        Raises:
            Problem: they are too many for a message, or something else than a text where one is needed.
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
        """The command takes another type as a fault of this program, which ends the import."""
        own = (self.identity, self.source, self.id, self.place, self.name, self.group)
        own += (self.status, self.error, self.state)
        pairs = (*self.parameters.items(), *self.tags.items())
        for text in (*own, *(each for pair in pairs for each in pair), *self.remarks):
            if not isinstance(text, str):
                raise Problem(f"{self.place}: {type(text).__name__} instead of a text: {text!r:.100}")


def tell(channel: Channel, runs: Iterator[SourceRun | Problem]) -> None:
    """Tells the command of each run, and of the points of those that it takes."""
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
    """Whether symbolic links lead from a path below the source to a place that is not below it."""
    return not pathlib.Path(os.path.realpath(path)).is_relative_to(os.path.realpath(source))


def is_metric_name(name: str) -> bool:
    return 0 < len(name.encode(errors="replace")) <= _MOST_NAME_BYTES


def _tell_points(channel: Channel, run: SourceRun) -> None:
    """Points of a metric that come one after the other share messages."""
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
    """The command takes what no record can have to the nearest time."""
    return min(max(time_ms, 0), 1 << 60)


def _valid(value: Any) -> Any:
    """The same with texts that UTF-8 can hold: a file's name, or an escape in JSON, may be none."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_valid(name): _valid(each) for name, each in value.items()}
    return [_valid(each) for each in value] if isinstance(value, list | tuple) else value


def _number(value: float) -> float | str:
    """JSON has no NaN and no infinities."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
