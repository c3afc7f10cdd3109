"""Runs in MLflow's folder `mlruns`, which has a folder for each experiment, with a folder for each run
inside."""

from __future__ import annotations

import functools
import os
import pathlib
import urllib.parse
from collections.abc import Iterator
from typing import Any

from headrace._src.imports.source_run import (
    MOST_TEXT_BYTES,
    UNREADABLE,
    Point,
    Problem,
    SourceRun,
    is_metric_name,
    leads_out,
)

STATUSES = {"FINISHED": "finished", "FAILED": "failed", "KILLED": "stopped"}
_STATUS_OF_NUMBER = {3: "FINISHED", 4: "FAILED", 5: "KILLED"}  # service.proto, RunStatus
_DELETED = "deleted"
_META = "meta.yaml"


def runs(path: str) -> Iterator[SourceRun | Problem]:
    """The runs of all experiments, except those that were deleted."""
    source = pathlib.Path(path)
    for meta in sorted(source.glob(f"*/{_META}")):
        if meta.parent.name.startswith("."):  # .trash
            continue
        try:
            experiment = _scalar(_read_yaml(meta, source), "name")
        except Problem as problem:
            yield problem
            continue
        models, problems = _logged_models(meta.parent, source)
        yield from problems
        for run_meta in sorted(meta.parent.glob(f"*/{_META}")):
            try:
                run = _read_yaml(run_meta, source)
                if ("run_id" in run or "run_uuid" in run) and run.get("lifecycle_stage") != _DELETED:
                    yield _run(run, run_meta.parent, source, experiment, models)
            except Problem as problem:
                yield problem
            except UNREADABLE as error:
                yield Problem(f"{run_meta.parent}: {error!r}")


def _run(
    meta: dict[str, Any],
    folder: pathlib.Path,
    source: pathlib.Path,
    experiment: str,
    models: dict[str, list],
) -> SourceRun:
    run_id = _scalar(meta, "run_id") or _scalar(meta, "run_uuid")
    if not run_id:
        raise Problem(f"{folder}: the run has no id")
    status = meta.get("status")
    tags = _texts(folder / "tags", source)
    ended = meta.get("end_time")
    return SourceRun(
        identity=f"mlflow/{run_id}",
        source="mlflow",
        id=run_id,
        place=str(folder),
        points=functools.partial(_points, folder / "metrics", source),
        name=_scalar(meta, "run_name") or tags.get("mlflow.runName", ""),
        group=experiment,
        parameters=_texts(folder / "params", source),
        tags=tags,
        status=STATUSES.get(_STATUS_OF_NUMBER.get(status, status), "unfinished"),
        started_ms=int(meta.get("start_time") or 0),
        ended_ms=int(ended) if ended else None,
        files=[
            *artifact_files(folder / "artifacts", _scalar(meta, "artifact_uri"), ""),
            *models.get(run_id, []),
        ],
        remarks=_remarks(folder, source),
        state=f"{sum(path.stat().st_size for _, path in _files_within(folder / 'metrics', source))} bytes",
    )


def _remarks(folder: pathlib.Path, source: pathlib.Path) -> list[str]:
    counts = {kind: _count_links_out(folder / kind, source) for kind in ("params", "tags", "metrics")}
    return [
        f"{kind} were left out, because they are symbolic links that lead out of the source: {count}"
        for kind, count in counts.items()
        if count
    ]


def _scalar(meta: dict[str, Any], name: str) -> str:
    """A field as a text. Lists are refused: with aliases, a small file can describe gigabytes of text."""
    value = meta.get(name)
    if value is None:
        return ""
    if not isinstance(value, str | int | float | bool):
        raise Problem(f"{name} is a {type(value).__name__} instead of a text")
    return str(value)


def artifact_files(beside: pathlib.Path | None, uri: str, path: str) -> list[tuple[str, str]]:
    """Where the artifacts are: `beside` the run, even if the folder was moved; otherwise where MLflow says.

    A URL of another store is returned unchanged; the command opens or refuses it.
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


def _logged_models(
    experiment: pathlib.Path, source: pathlib.Path
) -> tuple[dict[str, list[tuple[str, str]]], list[Problem]]:
    """The files of models, by the run that logged them; and the reasons why models cannot be read."""
    found: dict[str, list[tuple[str, str]]] = {}
    problems: list[Problem] = []
    for meta in sorted(experiment.glob(f"models/*/{_META}")):
        try:
            model = _read_yaml(meta, source)
            if model.get("lifecycle_stage") != _DELETED:
                uri = _scalar(model, "artifact_location")
                files = artifact_files(meta.parent / "artifacts", uri, f"models/{meta.parent.name}")
                found.setdefault(_scalar(model, "source_run_id"), []).extend(files)
        except Problem as problem:
            problems.append(problem)
        except UNREADABLE as error:
            problems.append(Problem(f"{meta.parent}: {error!r}"))
    return found, problems


def _read_yaml(path: pathlib.Path, source: pathlib.Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        raise ImportError("reading mlruns needs PyYAML, which is not installed: pip install pyyaml") from None

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def flatten_mapping(self, node: Any) -> None:
            """Merge keys of aliases can grow to gigabytes, and MLflow never writes them."""
            if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
                raise yaml.YAMLError("merge keys (<<) are not supported")

    if leads_out(path, source):
        raise Problem(f"{path} is a symbolic link that leads out of {source}: import its target instead")
    try:
        read = yaml.load(_text(path), Loader=Loader)  # noqa: S506 a safe loader
    except (yaml.YAMLError, *UNREADABLE) as error:
        raise Problem(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(read, dict):
        raise Problem(f"{path} is not a YAML mapping")
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


def _files_within(folder: pathlib.Path, source: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    """The files without those behind a symbolic link that leads out of the source: a secret's file must not
    become a param."""
    return ((name, path) for name, path in _files(folder) if not leads_out(path, source))


def _count_links_out(folder: pathlib.Path, source: pathlib.Path) -> int:
    return sum(leads_out(path, source) for _, path in _files(folder))


def _texts(folder: pathlib.Path, source: pathlib.Path) -> dict[str, str]:
    return {_name(name): _text(path) for name, path in _files_within(folder, source)}


def _name(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


def _points(folder: pathlib.Path, source: pathlib.Path) -> Iterator[Point]:
    """Each line is a point: time in milliseconds, value, step; later versions add a dataset."""
    for name, path in _files_within(folder, source):
        if not is_metric_name(_name(name)):
            continue
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                try:
                    time_ms, value, *rest = line.split()
                    yield Point(_name(name), int(rest[0]) if rest else 0, int(time_ms) * 1000, float(value))
                except ValueError:
                    raise Problem(f"{path}, line {number} is not a point of a metric") from None
