"""Offline runs of Weights & Biases: `run-<id>.wandb` with the files of the run in `files/` beside it."""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import math
import os
import pathlib
from collections.abc import Iterator
from typing import Any

from headrace._src.imports.source_run import UNREADABLE, Point, Problem, SourceRun, is_metric_name, leads_out
from headrace._src.imports.wandb_log import Fields, fields_of, records

# Fields of wandb_internal.proto.
_HISTORY, _SUMMARY, _CONFIG, _STATS, _RUN, _EXIT = 2, 3, 5, 7, 17, 18
_KEY, _NESTED_KEY, _VALUE_JSON = 1, 2, 16
_UPDATE, _REMOVE = 1, 2
_OWN = "_"  # prefix of names that the client adds: _step, _timestamp, _runtime, _wandb


def runs(path: str) -> Iterator[SourceRun | Problem]:
    """The run in a file, or in each file below a folder."""
    start = pathlib.Path(path)
    found = (
        {pathlib.Path(os.path.realpath(log)) for log in start.rglob("*.wandb")} if start.is_dir() else {start}
    )
    for log in sorted(found):
        try:
            if start.is_dir() and leads_out(log, start):
                raise Problem(
                    f"a symbolic link leads to {log}, which is not in {start}: import that path instead"
                )
            yield _run(log)
        except Problem as problem:
            yield problem
        except UNREADABLE as error:
            yield Problem(f"{log}: {error!r}")


@dataclasses.dataclass
class _Seen:
    """The facts in the records of a run."""

    run: Fields = dataclasses.field(default_factory=dict)
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    summary: dict[str, Any] = dataclasses.field(default_factory=dict)
    exit_code: int | None = None
    last_s: float = 0
    left_out: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    damaged: int = 0

    def take(self, record: Fields) -> None:
        for run in messages(record, _RUN):
            self.run = self.run or run
            for config in messages(run, 4):
                _change(self.config, config)
            for summary in messages(run, 5):
                _change(self.summary, summary)
        for config in messages(record, _CONFIG):
            _change(self.config, config)
        for summary in messages(record, _SUMMARY):
            _change(self.summary, summary)
        for stats in messages(record, _STATS):
            self.last_s = max(self.last_s, _seconds(stats, 2))
        for history in messages(record, _HISTORY):
            values = _items(history)
            self.last_s = max(self.last_s, _number(values.get("_timestamp")) or 0)
            self.left_out.update(name for name, value in values.items() if not _is_metric(name, value))
        for end in messages(record, _EXIT):
            self.exit_code = _signed(end.get(1, [0])[0])


def _run(log: pathlib.Path) -> SourceRun:
    seen = _Seen()
    for content in records(log):
        if content is None:
            seen.damaged += 1
        else:
            seen.take(fields_of(content))
    if not seen.run:
        raise Problem(f"{log} contains no record of a run: nothing can be imported from it")
    run_id, project, entity = _text(seen.run, 1), _text(seen.run, 3), _text(seen.run, 2)
    started = next(messages(seen.run, 17), {})
    seconds, nanos = _signed(started.get(1, [0])[0]), started.get(2, [0])[0]
    parameters = {
        name: _as_text(value) for name, value in _flat(seen.config) if not name.startswith("_wandb")
    }
    for name, number in (("group", 6), ("job_type", 7), ("notes", 9)):
        if text := _text(seen.run, number):
            parameters.setdefault(name, text)
    if tags := [_decoded(tag) for tag in seen.run.get(10, [])]:
        parameters.setdefault("tags", json.dumps(tags, ensure_ascii=False))
    return SourceRun(
        identity=f"wandb/{entity}/{project}/{run_id}/{seconds}.{nanos}",
        source="wandb",
        id=run_id,
        place=str(log.parent),
        points=functools.partial(_points, log, seconds + nanos / 1e9),
        name=_text(seen.run, 8),
        group=project,
        parameters=parameters,
        status={None: "unfinished", 0: "finished"}.get(seen.exit_code, "failed"),
        error=f"exit code {seen.exit_code}" if seen.exit_code else "",
        started_ms=seconds * 1000 + nanos // 1_000_000,
        ended_ms=math.ceil(seen.last_s * 1000) if 0 < seen.last_s < 1e12 else None,
        metrics={n: float(v) for n, v in _flat(seen.summary) if _is_metric(n, v) and not n.startswith(_OWN)},
        files=[(str(log.parent / "files"), "")] if (log.parent / "files").is_dir() else [],
        remarks=_remarks(seen),
        state=f"{log.stat().st_size} bytes",
    )


def _remarks(seen: _Seen) -> list[str]:
    remarks = [
        f"values of {name} were left out, because they are not numbers: {count}"
        for name, count in sorted(seen.left_out.items())
    ]
    if seen.damaged:
        remarks.append(f"records that are truncated or damaged were left out: {seen.damaged}")
    return remarks[:100]


def _points(log: pathlib.Path, started_s: float) -> Iterator[Point]:
    for content in records(log):
        record = fields_of(content) if content is not None else {}
        for history in messages(record, _HISTORY):
            values = _items(history)
            step = next(messages(history, 2), None)
            number = (
                _signed(step.get(1, [0])[0]) if step is not None else int(_number(values.get("_step")) or 0)
            )
            time_us = _microseconds(_number(values.get("_timestamp")) or 0)
            for name, value in values.items():
                if _is_metric(name, value) and not name.startswith(_OWN):
                    yield Point(name, number, time_us, float(value))
        for stats in messages(record, _STATS):
            time_s = _seconds(stats, 2)
            for item in messages(stats, 3):
                name, value = f"system/{_text(item, 1)}", _number(_value(item))
                if value is not None and is_metric_name(name):
                    yield Point(name, int(max(time_s - started_s, 0)), _microseconds(time_s), value)


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6) if 0 <= seconds < 9e12 else 0


def messages(fields: Fields, number: int) -> Iterator[Fields]:
    """The messages that a field holds."""
    for content in fields.get(number, []):
        if isinstance(content, bytes):
            yield fields_of(content)


def _change(values: dict[str, Any], change: Fields) -> None:
    """Applies a ConfigRecord or SummaryRecord."""
    for item in messages(change, _UPDATE):
        values["/".join(_path(item))] = _value(item)
    for item in messages(change, _REMOVE):
        values.pop("/".join(_path(item)), None)


def _items(history: Fields) -> dict[str, Any]:
    """The values of a step by name. Media, which are messages with a `_type`, are None."""
    values = dict(_flat({"/".join(_path(item)): _value(item) for item in messages(history, 1)}))
    for medium in [name.removesuffix("_type") for name in values if name.endswith("/_type")]:
        values = {name: value for name, value in values.items() if not name.startswith(medium)}
        values[medium.rstrip("/")] = None
    return values


def _path(item: Fields) -> list[str]:
    nested = [_decoded(part) for part in item.get(_NESTED_KEY, [])]
    return nested or [_text(item, _KEY)]


def _value(item: Fields) -> Any:
    try:
        return json.loads(_text(item, _VALUE_JSON) or "null")
    except (ValueError, RecursionError):
        return None


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The names of nested values are joined with '/'."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}/")
        else:
            yield prefix + name, value


def _is_metric(name: str, value: Any) -> bool:
    return is_metric_name(name) and _number(value) is not None


def _number(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(fields: Fields, number: int) -> str:
    return _decoded(fields.get(number, [b""])[-1])


def _decoded(content: Any) -> str:
    return content.decode(errors="replace") if isinstance(content, bytes) else ""


def _signed(number: Any) -> int:
    return number - (1 << 64) if isinstance(number, int) and number >= 1 << 63 else int(number or 0)


def _seconds(fields: Fields, number: int) -> float:
    """A google.protobuf.Timestamp."""
    time = next(messages(fields, number), {})
    return _signed(time.get(1, [0])[0]) + time.get(2, [0])[0] / 1e9
