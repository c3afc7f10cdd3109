"""Runs in MLflow's folder `mlruns`: a folder for each experiment, and in it one for each run."""

from __future__ import annotations

import functools
import os
import pathlib
import urllib.parse
from collections.abc import Iterator
from typing import Any

from headrace._src.imports.source_run import (
    MOST_TEXT_BYTES,
    Point,
    Problem,
    SourceRun,
    is_metric_name,
)

STATUSES = {"FINISHED": "finished", "FAILED": "failed", "KILLED": "stopped"}
_STATUS_OF_NUMBER = {3: "FINISHED", 4: "FAILED", 5: "KILLED"}  # service.proto, RunStatus
_DELETED = "deleted"
_META = "meta.yaml"


def runs(path: str) -> Iterator[SourceRun | Problem]:
    """The runs of all experiments, but for those that were deleted."""
    for meta in sorted(pathlib.Path(path).glob(f"*/{_META}")):
        if meta.parent.name.startswith("."):  # .trash
            continue
        try:
            experiment = _read_yaml(meta)
            models = _logged_models(meta.parent)
        except Problem as problem:
            yield problem
            continue
        for run_meta in sorted(meta.parent.glob(f"*/{_META}")):
            try:
                run = _read_yaml(run_meta)
                if ("run_id" in run or "run_uuid" in run) and run.get("lifecycle_stage") != _DELETED:
                    yield _run(run, run_meta.parent, str(experiment.get("name", "")), models)
            except Problem as problem:
                yield problem
            except (OSError, ValueError, TypeError) as error:
                yield Problem(f"{run_meta.parent}: {error}")


def _run(meta: dict[str, Any], folder: pathlib.Path, experiment: str, models: dict[str, list]) -> SourceRun:
    run_id = str(meta.get("run_id") or meta["run_uuid"])
    status = meta.get("status")
    tags = _texts(folder / "tags")
    ended = meta.get("end_time")
    return SourceRun(
        identity=f"mlflow/{run_id}",
        source="mlflow",
        id=run_id,
        place=str(folder),
        points=functools.partial(_points, folder / "metrics"),
        name=str(meta.get("run_name") or tags.get("mlflow.runName", "")),
        group=experiment,
        parameters=_texts(folder / "params"),
        tags=tags,
        status=STATUSES.get(_STATUS_OF_NUMBER.get(status, str(status)), "unfinished"),
        started_ms=int(meta.get("start_time") or 0),
        ended_ms=int(ended) if ended else None,
        files=[
            *artifact_files(folder / "artifacts", str(meta.get("artifact_uri", "")), ""),
            *models.get(run_id, []),
        ],
    )


def artifact_files(beside: pathlib.Path | None, uri: str, path: str) -> list[tuple[str, str]]:
    """Where artifacts are: `beside` the run, although the folder was moved; else where MLflow says.

    A URL of another store is given as it is, to be opened or refused by the command.
    """
    if beside is not None and beside.is_dir():
        return [(str(beside), path)]
    if uri.startswith("file:"):
        local = urllib.parse.unquote(urllib.parse.urlsplit(uri).path)
    elif "://" in uri or uri.startswith("mlflow-artifacts:"):
        return [(uri if "://" in uri else uri.replace(":", "://", 1), path)]
    else:
        local = uri
    return [(os.path.abspath(local), path)] if local and os.path.isdir(local) else []


def _logged_models(experiment: pathlib.Path) -> dict[str, list[tuple[str, str]]]:
    """The files of models, by the run that logged them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for meta in sorted(experiment.glob(f"models/*/{_META}")):
        model = _read_yaml(meta)
        if model.get("lifecycle_stage") != _DELETED:
            uri = str(model.get("artifact_location", ""))
            files = artifact_files(meta.parent / "artifacts", uri, f"models/{meta.parent.name}")
            found.setdefault(str(model.get("source_run_id")), []).extend(files)
    return found


def _read_yaml(path: pathlib.Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        raise ImportError("reading mlruns needs PyYAML, which is not there: pip install pyyaml") from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        read = yaml.load(_text(path), Loader=loader)  # noqa: S506  a safe one
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise Problem(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(read, dict):
        raise Problem(f"{path} describes nothing")
    return read


def _text(path: pathlib.Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_TEXT_BYTES + 1)
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}") from None
    if len(content) > MOST_TEXT_BYTES:
        raise Problem(f"{path} has more than {MOST_TEXT_BYTES} bytes")
    return content.decode(errors="replace")


def _files(folder: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    """The files of a folder by name; a name with '/' is a file in a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _texts(folder: pathlib.Path) -> dict[str, str]:
    return {_name(name): _text(path) for name, path in _files(folder)}


def _name(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


def _points(folder: pathlib.Path) -> Iterator[Point]:
    """A line for each point: time in milliseconds, value, step; later versions add a dataset."""
    for name, path in _files(folder):
        if not is_metric_name(_name(name)):
            continue
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                try:
                    time_ms, value, *rest = line.split()
                    yield Point(_name(name), int(rest[0]) if rest else 0, int(time_ms) * 1000, float(value))
                except ValueError:
                    raise Problem(f"{path}, line {number} is no point of a metric") from None
