"""Runs in the output of Neptune's exporter: Parquet with a row for each value, and files.

The columns are those in the exporter's documentation; this was not tested on a real export.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import functools
import json
import pathlib
from collections.abc import Iterator
from typing import Any

from headrace._src.imports.source_run import UNREADABLE, Point, Problem, SourceRun, is_metric_name, leads_out

_VALUES = {
    "float": "float_value",
    "int": "int_value",
    "string": "string_value",
    "bool": "bool_value",
    "datetime": "datetime_value",
    "string_set": "string_set_value",
}
_FILES = ("file", "file_series", "artifact")
_SERIES = "float_series"
_DECIMALS = 1_000_000  # steps have six decimals


def runs(path: str) -> Iterator[SourceRun | Problem]:
    """The runs of all projects. Reads the tables once for the ids, and the rows of each run twice."""
    try:
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ImportError:
        raise ImportError("pyarrow, which reads Parquet, is not installed: pip install pyarrow") from None
    folder = pathlib.Path(path)
    tables = []
    for table in sorted(folder.rglob("*.parquet")):
        if leads_out(table, folder):
            yield Problem(f"{table} is a symbolic link that leads out of {folder}: it was left out")
        else:
            tables.append(table)
    try:
        dataset = ds.dataset([str(table) for table in tables], format="parquet")
        ids: dict[tuple[str, str], None] = {}
        for batch in dataset.to_batches(columns=["project_id", "run_id"]):
            ids.update(dict.fromkeys(zip(*(column.to_pylist() for column in batch.columns), strict=True)))
        for project, run_id in ids:
            if project is None or run_id is None:
                continue
            chosen = (ds.field("project_id") == project) & (ds.field("run_id") == run_id)
            try:
                yield _run(functools.partial(_rows, dataset, chosen), folder, project, run_id)
            except (Problem, *UNREADABLE) as error:
                yield Problem(f"{path}, run {run_id} of {project}: {error!r}")
    except (pa.ArrowException, OSError) as error:
        raise Problem(f"{path}: {error}. Is it a file from neptune-exporter?") from None


def _rows(dataset: Any, chosen: Any) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    try:
        for batch in dataset.to_batches(filter=chosen):
            yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise Problem(f"rows of a run cannot be read: {error}") from None


def _run(rows: functools.partial, folder: pathlib.Path, project: str, run_id: str) -> SourceRun:
    values: dict[str, Any] = {}
    files: list[tuple[str, str]] = []
    others: collections.Counter[str] = collections.Counter()
    times: list[datetime.datetime] = []
    multiplier = 1
    series_rows = 0
    for row in rows():
        kind = row.get("attribute_type")
        if kind in _VALUES:
            values[row["attribute_path"]] = row.get(_VALUES[kind])
        elif kind == _SERIES:
            series_rows += 1
            times = _extremes(times, row.get("timestamp"))
            if (row.get("step") or 0) % 1:
                multiplier = _DECIMALS
        elif kind in _FILES and row.get("file_value"):
            files += _file(folder, str(row["file_value"]["path"]))
        else:
            others[str(kind)] += 1
    started = values.get("sys/creation_time") or (times[0] if times else None)
    remarks = [f"values of the type {kind} were left out: {count}" for kind, count in sorted(others.items())]
    if multiplier > 1:
        remarks.append(f"steps are multiplied by {multiplier}, because some have decimals")
    return SourceRun(
        identity=f"neptune/{project}/{run_id}",
        source="neptune",
        id=run_id,
        place=str(folder),
        points=functools.partial(_points, rows, multiplier),
        name=str(values.get("sys/name") or ""),
        group=project,
        parameters={name: _as_text(value) for name, value in values.items()},
        status="failed" if values.get("sys/failed") else "finished",
        started_ms=_milliseconds(started) or 0,
        ended_ms=_milliseconds(times[-1] if times else values.get("sys/modification_time") or started),
        files=sorted(set(files)),
        remarks=remarks,
        state=f"{series_rows} rows",
    )


def _points(rows: functools.partial, multiplier: int) -> Iterator[Point]:
    for row in rows():
        name, value = row.get("attribute_path"), row.get("float_value")
        if row.get("attribute_type") == _SERIES and value is not None and name and is_metric_name(name):
            step = int((row.get("step") or decimal.Decimal(0)) * multiplier)
            yield Point(name, step, (_milliseconds(row.get("timestamp")) or 0) * 1000, float(value))


def _file(folder: pathlib.Path, path: str) -> list[tuple[str, str]]:
    """Paths are relative to the exporter's folder for files."""
    for root in (folder / "files", folder):
        found = (root / path).resolve()
        if found.is_relative_to(folder.resolve()) and found.exists():
            return [(str(found), path)]
    return []


def _extremes(times: list[datetime.datetime], time: datetime.datetime | None) -> list[datetime.datetime]:
    return times if time is None else [min([*times, time]), max([*times, time])]


def _milliseconds(time: datetime.datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)
