"""The calls of Weights & Biases' tutorials, implemented with `tracking`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from headrace._src import artifacts, media, tracking
from headrace.errors import FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from typing import Self  # from Python 3.11 on

    from headrace._src.track_callback import Track

_DEFAULT_ROOT = "runs"
_DEFAULT_PROJECT = "uncategorized"
_current: Run | None = None  # the run of `init`, until it is finished


class Config(MutableMapping[str, Any]):
    """Values by name, as items and as attributes: `config["lr"]`, `config.lr`."""

    def __init__(self, values: dict[str, Any]):
        object.__setattr__(self, "_values", values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"there is no {name}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def update(self, other: Any = (), /, *, allow_val_change: bool = True, **values: Any) -> None:
        """Adds the values of mappings, or of objects with attributes, such as argparse's results."""
        given = other if isinstance(other, Mapping) or not hasattr(other, "__dict__") else vars(other)
        self._values.update(given, **values)


class Artifact(artifacts.Artifact):
    """Like `headrace.Artifact`, with the parameter names that tutorials use."""

    def __init__(
        self,
        name: str,
        type: str,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ):
        super().__init__(name, type, description=description or "", metadata=metadata)

    def add_file(self, local_path: str | os.PathLike[str], name: str | None = None) -> None:
        super().add_file(local_path, name)

    def add_dir(self, local_path: str | os.PathLike[str], name: str | None = None) -> None:
        super().add_dir(local_path, name)

    def add_reference(self, uri: str | os.PathLike[str], name: str | None = None) -> None:
        super().add_reference(uri, name)


class Image(media.Image):
    """Like `headrace.Image`; also takes the path of a file. `caption` is not logged."""

    def __init__(self, data_or_path: Any, caption: str | None = None):
        del caption
        if isinstance(data_or_path, str | os.PathLike):
            with open(data_or_path, "rb") as file:
                data_or_path = file.read()
        super().__init__(data_or_path)


class Histogram(media.Histogram):
    """Like `headrace.Histogram`."""

    def __init__(self, sequence: Any, num_bins: int = 64):
        super().__init__(sequence, num_bins)


class Audio(media.Audio):
    """Like `headrace.Audio`; also takes the path of a WAV file. `caption` is not logged."""

    def __init__(self, data_or_path: Any, sample_rate: int | None = None, caption: str | None = None):
        del caption
        if isinstance(data_or_path, str | os.PathLike):
            with open(data_or_path, "rb") as file:
                data_or_path = file.read()
        elif sample_rate is None:
            raise InvalidArgumentError("an array of samples needs its sample_rate")
        super().__init__(data_or_path, sample_rate or 0)


class Table(media.Table):
    """Like `headrace.Table`; also takes a data frame, and rows can be added until the table is logged."""

    def __init__(
        self,
        columns: Sequence[Any] | None = None,
        data: Iterable[Sequence[Any]] | None = None,
        rows: Iterable[Sequence[Any]] | None = None,
        dataframe: Any = None,
    ):
        given = data if data is not None else rows
        if dataframe is not None:
            columns, given = list(dataframe.columns), dataframe.itertuples(index=False)
        names = ["Input", "Output", "Expected"] if columns is None else columns
        super().__init__([str(name) for name in names], [list(row) for row in given or ()])

    @property
    def data(self) -> list[Sequence[Any]]:
        """The rows."""
        return cast(list[Sequence[Any]], self.rows)

    def add_data(self, *cells: Any) -> None:
        """Adds a row."""
        if len(cells) != len(self.columns):
            raise InvalidArgumentError(f"a row must have {len(self.columns)} cells, not {len(cells)}")
        self.data.append(list(cells))


class Run:
    """A run that is being recorded; `init` returns one.

    Attributes:
        id, name, project: of the run.
        config: its settings; changes are recorded until the run is finished.
        summary: values that stand for the run; by default the last one of each metric.
        tracked: the `headrace.Run` below it.
    """

    def __init__(self, tracked: tracking.Run, project: str):
        self.tracked = tracked
        self.id = tracked.id
        self.name = tracked.name
        self.project = project
        self.config = Config(tracked.config)
        self.summary = Config(tracked.summary)
        self._step = 0
        self._refused: set[str] = set()

    def log(self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None) -> None:
        """Logs numbers, images, histograms, audio and tables of a step; nested names are joined with '/'.
        Other values are left out, with a warning.

        Args:
            step: None: the next one.
            commit: whether the step is complete, so that the next call logs the next step. None: complete
                unless `step` is given.
        """
        if step is not None:
            self._step = step
        self.tracked.log(self._known(data), step=self._step)
        if commit or (commit is None and step is None):
            self._step += 1

    def _known(self, data: Mapping[str, Any]) -> dict[str, Any]:
        known: dict[str, Any] = {}
        for name, value in tracking.flat(data).items():
            if isinstance(value, media.MEDIA):
                known[name] = value
                continue
            try:
                known[name] = float(value)
            except (TypeError, ValueError):
                if name not in self._refused:
                    kind = type(value).__name__
                    warnings.warn(f"{name} is a {kind}, which is not logged", stacklevel=4)
                    self._refused.add(name)
        return known

    def log_artifact(
        self,
        artifact_or_path: artifacts.Artifact | str | os.PathLike[str],
        name: str | None = None,
        type: str | None = None,
        aliases: Iterable[str] = (),
    ) -> artifacts.ArtifactVersion:
        """Publishes an artifact, or a file or folder as an artifact.

        Raises:
            InvalidArgumentError: a path is given without `name` or `type`.
        """
        artifact = artifact_or_path
        if not isinstance(artifact, artifacts.Artifact):
            if name is None or type is None:
                raise InvalidArgumentError("a path needs name= and type= for its artifact")
            path, artifact = artifact, Artifact(name, type)
            (artifact.add_dir if os.path.isdir(path) else artifact.add_file)(path)
        return self.tracked.log_artifact(artifact, [each for each in aliases if each != "latest"])

    def use_artifact(self, name: str, type: str | None = None) -> artifacts.ArtifactVersion:
        """Records that the run uses "NAME:ALIAS" or "NAME:v3"; without an alias, the latest version.

        Raises:
            NotFoundError: there is no such artifact.
            InvalidArgumentError: the artifact has another type.
        """
        used = self.tracked.use(name if ":" in name else f"{name}:latest")
        if used is None:
            raise InvalidArgumentError(f"{name} names no artifact: give NAME:ALIAS")
        if type is not None and used.type != type:
            raise InvalidArgumentError(f"{name} is a {used.type}, not a {type}")
        return used

    def finish(self, exit_code: int | None = None) -> None:
        """Ends the record. An exit code other than 0 means that the run has failed."""
        self._leave()
        self.tracked.finish(f"exit code {exit_code}" if exit_code else None)

    def _leave(self) -> None:
        global _current
        if _current is self:
            _current = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        self.tracked.__exit__(kind, error, trace)


def init(
    *,
    project: str | None = None,
    entity: str | None = None,
    config: Mapping[str, Any] | None = None,
    name: str | None = None,
    id: str | None = None,
    group: str | None = None,
    job_type: str | None = None,
    notes: str | None = None,
    tags: Iterable[str] | None = None,
    dir: str | os.PathLike[str] | None = None,
    **others: Any,
) -> Run:
    """Starts a run, which the functions of this module then log into. Finishes the previous run.

    Args:
        project: the folder of its record, below `dir`.
        dir: a URL or path. None: $HEADRACE_RUNS, or `runs` in the current folder.
        group, job_type, notes, tags: stored as settings with these names.
        entity, and other parameters of the original: ignored; unknown ones are named in a warning.

    Raises:
        PermissionDeniedError, UnavailableError, …: the store does not take the record.
    """
    global _current
    finish()
    if others:
        warnings.warn(f"ignored: {', '.join(sorted(others))}", stacklevel=2)
    said = {"group": group, "job_type": job_type, "notes": notes, "tags": list(tags) if tags else None}
    settings = {key: value for key, value in said.items() if value is not None} | dict(config or {})
    root = os.fspath(dir) if dir is not None else os.environ.get("HEADRACE_RUNS") or _DEFAULT_ROOT
    project = project or _DEFAULT_PROJECT
    place = f"{root.rstrip('/')}/{project}"
    if "://" not in place:
        os.makedirs(place, exist_ok=True)
    run = Run(tracking.init(place, name=name, config=settings, run_id=id), project)
    _current = run
    return run


def current() -> Run:
    """The run of `init`.

    Raises:
        FailedPreconditionError: there is none.
    """
    if _current is None:
        raise FailedPreconditionError("no run has begun: call wandb.init() first")
    return _current


def log(data: Mapping[str, Any], step: int | None = None, commit: bool | None = None) -> None:
    """`Run.log` of the run of `init`."""
    current().log(data, step, commit)


def log_artifact(
    artifact_or_path: artifacts.Artifact | str | os.PathLike[str],
    name: str | None = None,
    type: str | None = None,
    aliases: Iterable[str] = (),
) -> artifacts.ArtifactVersion:
    """`Run.log_artifact` of the run of `init`."""
    return current().log_artifact(artifact_or_path, name, type, aliases)


def use_artifact(name: str, type: str | None = None) -> artifacts.ArtifactVersion:
    """`Run.use_artifact` of the run of `init`."""
    return current().use_artifact(name, type)


def finish(exit_code: int | None = None) -> None:
    """Ends the run of `init`, if there is one."""
    if _current is not None:
        _current.finish(exit_code)


def watch(*models: Any, **options: Any) -> None:
    """Warns that gradients are not logged."""
    del models, options
    warnings.warn("gradients and the graphs of models are not logged", stacklevel=2)


def WandbCallback(**options: Any) -> Track:  # noqa: N802
    """A callback for Keras that logs the metrics of each epoch into the run of `init`. Models are not saved:
    use `headrace.keras.Resume` or `log_artifact`."""
    if options:
        warnings.warn(f"ignored: {', '.join(sorted(options))}", stacklevel=2)
    return WandbMetricsLogger()


def WandbMetricsLogger(log_freq: str | int = "epoch", **options: Any) -> Track:  # noqa: N802
    """A callback for Keras that logs the metrics of each epoch into the run of `init`.

    Args:
        log_freq: also log the metrics of every n-th batch; "batch": of every batch.
    """
    from headrace._src.track_callback import Track

    if options:
        warnings.warn(f"ignored: {', '.join(sorted(options))}", stacklevel=2)
    every = log_freq if isinstance(log_freq, int) else {"epoch": 0, "batch": 1}.get(log_freq, -1)
    return Track(current().tracked, every=every)
