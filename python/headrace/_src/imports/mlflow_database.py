"""Runs in MLflow's SQLite database."""

from __future__ import annotations

import functools
import math
import pathlib
import sqlite3
import urllib.parse
from collections.abc import Iterator

from headrace._src.imports.mlflow_files import STATUSES, artifact_files
from headrace._src.imports.source_run import UNREADABLE, Point, Problem, SourceRun, is_metric_name

_RUNS = """
    SELECT run_uuid, runs.name, status, start_time, end_time, artifact_uri, experiments.name
    FROM runs JOIN experiments USING (experiment_id)
    WHERE runs.lifecycle_stage = 'active' AND experiments.lifecycle_stage = 'active'
    ORDER BY start_time, run_uuid"""
_METRICS = "SELECT key, step, timestamp, value, is_nan FROM metrics WHERE run_uuid = ? ORDER BY key, rowid"
_POINTS = "SELECT count(*) FROM metrics WHERE run_uuid = ?"
_MODELS = """
    SELECT model_id, artifact_location FROM logged_models
    WHERE source_run_id = ? AND lifecycle_stage = 'active' ORDER BY model_id"""


def runs(path: str) -> Iterator[SourceRun | Problem]:
    """The runs that were not deleted. Only reads the database, which may be in use."""
    database = sqlite3.connect(f"file:{urllib.parse.quote(path)}?mode=ro", uri=True)
    database.text_factory = lambda text: text.decode(errors="replace")
    try:
        has_models = bool(
            database.execute("SELECT 1 FROM sqlite_master WHERE name = 'logged_models'").fetchone()
        )
        for row in database.execute(_RUNS).fetchall():
            try:
                yield _run(database, pathlib.Path(path), row, has_models)
            except UNREADABLE as error:
                yield Problem(f"{path}, run {row[0]}: {error!r}")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise Problem(
            f"{path}: {error}. Is it MLflow's database? `mlflow db upgrade` updates an old one"
        ) from None
    finally:
        database.close()


def _run(database: sqlite3.Connection, path: pathlib.Path, row: tuple, has_models: bool) -> SourceRun:
    run_id, name, status, started_ms, ended_ms, uri, experiment = row
    files = artifact_files(None, _absolute(path, uri), "")
    for model_id, location in database.execute(_MODELS, (run_id,)) if has_models else ():
        files += artifact_files(None, _absolute(path, location), f"models/{model_id}")
    (points,) = database.execute(_POINTS, (run_id,)).fetchone()
    return SourceRun(
        identity=f"mlflow/{run_id}",
        source="mlflow",
        id=run_id,
        place=str(path),
        points=functools.partial(_points, database, run_id),
        name=name or "",
        group=experiment or "",
        parameters=_pairs(database, "params", run_id),
        tags=_pairs(database, "tags", run_id),
        status=STATUSES.get(status, "unfinished"),
        started_ms=int(started_ms or 0),
        ended_ms=None if ended_ms is None else int(ended_ms),
        files=files,
        state=f"{points} points",
    )


def _absolute(database: pathlib.Path, uri: str | None) -> str:
    """A relative path is resolved against the database's folder, where `mlflow` usually ran."""
    if not uri or ":" in uri or uri.startswith("/"):
        return uri or ""
    return str(database.parent / uri)


def _pairs(database: sqlite3.Connection, table: str, run_id: str) -> dict[str, str]:
    rows = database.execute(f"SELECT key, value FROM {table} WHERE run_uuid = ?", (run_id,))  # noqa: S608
    return {key: value or "" for key, value in rows}


def _points(database: sqlite3.Connection, run_id: str) -> Iterator[Point]:
    try:
        for key, step, time_ms, value, is_nan in database.execute(_METRICS, (run_id,)):
            if is_metric_name(key):
                yield Point(key, int(step), int(time_ms) * 1000, math.nan if is_nan else float(value))
    except sqlite3.Error as error:
        raise Problem(f"the metrics of the run {run_id}: {error}") from None
