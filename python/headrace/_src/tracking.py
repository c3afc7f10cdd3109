"""The record of a run of your own program: the program, its settings, and the numbers that it logged."""

from __future__ import annotations

import atexit
import functools
import json
import operator
import os
import platform
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headrace import _headrace
from headrace._src.artifacts import Artifact, ArtifactVersion, names_an_artifact
from headrace._src.console import ConsoleCopy
from headrace._src.loader_metrics import LoaderMetrics
from headrace._src.media import MEDIA
from headrace._src.system_metrics import SystemMetrics
from headrace._src.version import __version__
from headrace.errors import Error, InvalidArgumentError

if TYPE_CHECKING:
    from typing import Self  # from Python 3.11 on

    from headrace._src.loader import Loader
    from headrace.summary import Writer

_GIT_SECONDS = 5
_FINISH_SECONDS = 60.0
_MEDIA_SECONDS = 10.0
_MEDIA_SHARE = 0.75  # share of the time to finish; numbers get the rest
_MOST_FINAL_METRICS = 1000
_STEPS = 1 << 63
_MOST_PACKAGES = 500
_MOST_VERSION = 64  # characters
_MEDIA = "media"
_open: set[Run] = set()
_raised: BaseException | None = None  # the exception that ends the program, if any


def init(
    root: str | os.PathLike[str],
    *,
    name: str | None = None,
    config: Mapping[str, Any] | None = None,
    run_id: str | None = None,
    rank: int = 0,
    world_size: int = 1,
    from_step: int | None = None,
    system_metrics_each: float | None = 15.0,
    console: bool = False,
) -> Run:
    """Starts the record of a run in the folder `root` of a store. Needs no server and no account.

    Args:
        root: a URL or path; records lie below it in `_headrace/runs/`, metrics in `_headrace/metrics/`.
        name: a name for people; several runs may share a name.
        config: settings, nested as you like; each is kept as a parameter of the run.
        run_id: the id of the run. All ranks must use the same id, and so must a restarted job. 1 to 64
            letters, digits, '.', '_' and '-'. None: a new id.
        rank, world_size: number of this process, and number of processes in the run. Several processes need a
            `run_id`.
        from_step: this process continues an interrupted run, and logs again from this step on: points at
            this step or later that an earlier attempt of this rank has logged no longer count.
        system_metrics_each: seconds between samples of the load of this process and the machine: processors,
            memory, disk, network, and NVIDIA's GPUs if `nvidia-smi` answers. The metrics' names begin with
            "system/", and their steps are seconds since the start. None: no samples.
        console: store what Python code prints from now on, for `headrace runs console`: at most 8 MiB,
            without secrets. Output of C libraries is not stored. If the process is killed, the lines of the
            last minutes are lost.

    Returns:
        The run. Use it in a `with`, or call `finish`; otherwise it ends with the program.

    Raises:
        InvalidArgumentError: the id is not valid, or several ranks have no id.
        PermissionDeniedError, UnavailableError, …: the store does not take the record.
    """
    return Run(
        os.fspath(root),
        name,
        dict(config or {}),
        run_id or "",
        rank,
        world_size,
        from_step,
        system_metrics_each,
        console,
    )


class Run:
    """A run that is being recorded; `init` returns one. Threads may share it; a forked child may not use it.

    Numbers and media survive a kill of this process half a second after they were logged, and once `flush`
    has returned. Local files ($XDG_STATE_HOME/headrace) hold them until they go to the store, every ten
    seconds. If a run was killed, the next run on this machine, or `headrace runs recover`, writes the rest.
    Only `finish` waits for the store.

    Attributes:
        id: id of the run.
        root: URL of the folder that holds the record.
        name: the name for people, or None.
        config: the settings. Settings that are added or changed before `finish` are recorded with the end.
        summary: final values of the run; for a metric that is not set here, its last value counts.
    """

    def __init__(
        self,
        root: str,
        name: str | None,
        config: dict[str, Any],
        run_id: str,
        rank: int,
        world_size: int,
        from_step: int | None,
        system_metrics_each: float | None,
        console: bool,
    ):
        if system_metrics_each is not None and not system_metrics_each > 0:
            raise InvalidArgumentError(
                f"system_metrics_each is {system_metrics_each}; it must be a number of seconds, or None"
            )
        self.name = name
        self.config = config
        self.summary: dict[str, float] = {}
        self._parameters = _parameters(config)
        named = {"name": as_unicode(name)} if name is not None else {}
        parameters = {**self._parameters, **named}
        self._native = _headrace.Run(
            root, run_id, parameters, program_versions(), program_command_line(), rank, world_size, from_step
        )
        self.id = self._native.id
        self.root = self._native.root
        self._next_step = from_step or 0
        self._lock = threading.Lock()
        self._is_finished = False
        self._media: Writer | None = None
        for remark in self._native.remarks:
            warnings.warn(remark, stacklevel=3)
        self._system = SystemMetrics(self._native.log, system_metrics_each) if system_metrics_each else None
        self._console: ConsoleCopy | None = None
        if console:
            self._native.keep_console()
            self._console = ConsoleCopy(self._native.print)
        _open.add(self)
        _watch_the_end()

    def log(self, values: Mapping[str, Any], step: int | None = None) -> None:
        """Logs numbers: floats, ints, bools and everything that `float` accepts, such as arrays of one
        element; and `Image`, `Histogram`, `Text`, `Audio` and `Table`. Names are texts; those of nested
        mappings are joined with '/'. Numbers are kept as float64, also NaN and infinities. The other values,
        media, go into event files. TensorBoard shows them, except tables.

        Args:
            step: None: one more than the previous step, starting at 0. Steps may repeat and go back.

        Raises:
            InvalidArgumentError: a value is neither a number nor a medium, a name is not a text of 1 to 1,024
                bytes, the step is not an integer of 64 bits, or the run is finished.
            ResourceExhaustedError, PermissionDeniedError: the store or this machine's disk refuses media. The
                media of this call are kept, or dropped if 1 GiB is waiting or the disk is full.
        """
        self._require_open("log")
        step = _checked_step(self._next_step if step is None else step)
        self._next_step = step + 1
        try:
            self._native.log(values, step)  # the common case: a flat dict of numbers
        except (TypeError, OverflowError, UnicodeError):
            self._log_mixed(flat(values), step)

    def _log_mixed(self, values: dict[str, Any], step: int) -> None:
        for name in values:
            if name != as_unicode(name):
                raise InvalidArgumentError(f"{name!r} is not a name: it is not valid UTF-8")
        media = {name: value for name, value in values.items() if isinstance(value, MEDIA)}
        numbers = _numbers({name: value for name, value in values.items() if name not in media})
        if numbers:
            self._native.log(numbers, step)
        for name, medium in media.items():
            medium.write(self._media_writer(), name, step)

    def _media_writer(self) -> Writer:
        from headrace.summary import Writer

        with self._lock:
            self._require_open("log")  # after the end, nothing would close the writer
            if self._media is None:
                folder, record = self._native.add_media()
                self._media = Writer(folder, flush_seconds=_MEDIA_SECONDS, journal=True, _owner=record)
            return self._media

    def use(self, what: str | os.PathLike[str], *, name: str | None = None) -> ArtifactVersion | None:
        """Records that the run reads something. Lineage shows it from both sides.

        Args:
            what: the URL or path of a dataset, a model or an object; or an artifact of the run's folder:
                "NAME:ALIAS", "NAME:v3", or "NAME:latest". "./a:b" is a path.
            name: the name of the input in the run. None: "data", or the artifact's name.

        Returns:
            The version of the artifact; None for a URL.

        Raises:
            NotFoundError: nothing is there.
            InvalidArgumentError: the run is finished.
        """
        self._require_open("use")
        text = os.fspath(what)
        if names_an_artifact(text):
            return ArtifactVersion(self._native.use_artifact(text, name or ""))
        self._native.add_input(name or "data", text)
        return None

    def made(self, url: str | os.PathLike[str], *, name: str = "model") -> None:
        """Records that the run has published an output. Call this after the output exists."""
        self._require_open("made")
        self._native.add_output(name, os.fspath(url))

    def event_files(self, folder: str | os.PathLike[str], *, name: str = "events") -> None:
        """Records that the program writes event files into this folder, with Keras' `TensorBoard` callback,
        `headrace.summary.Writer` or others. Their scalars are metrics of the run, named "NAME/TAG", or
        "NAME/train/TAG" in a folder `train` below; they are not written a second time.

        Args:
            folder: a URL or path. Each run needs a folder of its own.
            name: prefix of the metrics' names: 1 to 64 letters, digits, '.', '_' and '-'.

        Raises:
            InvalidArgumentError: the name is not valid, or the run is finished.
        """
        self._require_open("event_files")
        if name == _MEDIA:
            raise InvalidArgumentError(f"{_MEDIA} is the name of the run's own media; choose another name")
        self._native.add_event_files(name, os.fspath(folder))

    def log_loader(self, loader: Loader, *, name: str = "loader") -> None:
        """Logs where the training's time goes, with each sample of the machine and at the end: the shares of
        waiting for the loader's batches (`loader/input_percent`), of converting them to tensors
        (`loader/hand_over_percent`) and of the rest, the training (`loader/compute_percent`); and
        `loader/records_per_s`, `loader/fetched_bytes_per_s` and `loader/ready_batches`. A high input_percent
        means that the data does not keep up. Call this before the first batch.

        Args:
            name: prefix of the metrics' names; use a different name for each loader of a run.

        Raises:
            InvalidArgumentError: the run takes no samples (`system_metrics_each=None`), or is finished.
        """
        self._require_open("log_loader")
        if self._system is None:
            raise InvalidArgumentError(
                "log_loader needs the samples of the machine: remove system_metrics_each=None"
            )
        self._system.add(LoaderMetrics(loader, name))

    def log_artifact(self, artifact: Artifact, aliases: Iterable[str] = ()) -> ArtifactVersion:
        """Publishes the artifact in the run's folder, and records it as an output, and the URLs that it
        refers to as inputs. "latest" always names the newest version. If the latest version has the same
        entries, type, description and metadata, that version is used, and no new version is made.

        Args:
            aliases: names that point to this version from now on: ["stable"].

        Returns:
            The version.

        Raises:
            FailedPreconditionError: a file has changed since it was added, the artifact has no entries, or
                earlier versions have another type.
            InvalidArgumentError: an alias is not valid, or the run is finished.
            AbortedError: another process has set one of the aliases meanwhile.
        """
        self._require_open("log_artifact")
        if isinstance(aliases, str):
            raise InvalidArgumentError(f"aliases is a text; it must be a list of names: [{aliases!r}]")
        return ArtifactVersion(self._native.log_artifact(artifact._native, list(aliases)))

    def flush(self) -> None:
        """Makes everything logged so far survive a kill of this process. Does not wait for the store.

        Raises:
            ResourceExhaustedError: the disk or the journal is full, and points were dropped; raised once.
        """
        self._native.flush()
        if self._media is not None:
            self._media._native.flush_journal()

    @property
    def dropped_points(self) -> int:
        """Number of points that were dropped, because they were logged faster than this machine can store
        them, or while its disk was full."""
        return self._native.counts()["dropped"]

    def finish(self, error: str | None = None, *, timeout: float = _FINISH_SECONDS) -> None:
        """Writes the remaining data and the end of the record. Further calls do nothing.

        Args:
            error: why the run has failed. None: it has finished.
            timeout: longest time in seconds to wait for the store to take numbers and media; a request that
                is under way may take half a minute more. Values that the store does not take stay on this
                machine, until the next run or `headrace runs recover` writes them.

        Raises:
            DeadlineExceededError: the store did not take all numbers and media in time.
        """
        self._end(error or "", False, timeout)

    def _require_open(self, call: str) -> None:
        if self._is_finished:
            raise InvalidArgumentError(f"the run {self.id} is finished: call {call} before `finish`")

    def _end(self, error: str, is_stopped: bool, timeout: float = _FINISH_SECONDS) -> None:
        with self._lock:
            if self._is_finished:
                return
            self._is_finished = True
        _open.discard(self)
        if self._console is not None:
            self._console.stop()
        values = self._native.last_values()
        if self._system is not None:
            self._system.stop()
            values = {name: value for name, value in values.items() if name not in self._system.names}
        final = dict(list(values.items())[:_MOST_FINAL_METRICS]) | _numbers(self.summary)
        now = _parameters(self.config).items()
        changed = {key: value for key, value in now if self._parameters.get(key) != value}
        end = time.monotonic() + timeout
        try:
            if self._media is not None:
                self._media.close(timeout=timeout * _MEDIA_SHARE)
        finally:
            self._native.finish(as_unicode(error), is_stopped, final, changed, end - time.monotonic())

    def _end_by(self, error: BaseException | None) -> None:
        if error is None or (isinstance(error, SystemExit) and not error.code):
            self._end("", False)
        else:
            self._end(f"{type(error).__name__}: {error}", isinstance(error, KeyboardInterrupt))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_by(error)


def _checked_step(step: Any) -> int:
    try:
        number = operator.index(step)
    except TypeError:
        raise InvalidArgumentError(f"the step is {step!r}; it must be an integer") from None
    if not -_STEPS <= number < _STEPS:
        raise InvalidArgumentError(f"the step is {step!r}; it must fit into 64 bits")
    return number


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flattens nested mappings; their names are joined with '/'."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise InvalidArgumentError(f"{prefix}{name!r} is not a name: names must be texts")
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}/")
        else:
            found[prefix + name] = value
    return found


def _parameters(config: Mapping[str, Any]) -> dict[str, str]:
    return {as_unicode(key): as_unicode(_as_text(value)) for key, value in flat(config).items()}


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    numbers = {}
    for name, value in values.items():
        try:
            numbers[name] = float(value)
        except (TypeError, ValueError, OverflowError) as error:
            kind = type(value).__name__
            raise InvalidArgumentError(f"{name} is not a number but a {kind}: {error}") from error
    return numbers


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def as_unicode(text: str) -> str:
    """The text with escapes in place of characters that are not valid UTF-8, such as bytes of file names in
    `sys.argv`."""
    return text.encode("utf-8", "backslashreplace").decode()


def program_command_line() -> list[str]:
    return [as_unicode(word) for word in (os.path.basename(sys.executable or "python"), *sys.argv)]


def program_versions() -> dict[str, str]:
    versions = {"headrace": __version__, "python": platform.python_version(), **_package_versions()}
    if commit := _git("rev-parse", "HEAD"):
        versions["git"] = commit + (" with changes" if _git("status", "--porcelain", "-uno") else "")
    return versions


def _package_versions() -> dict[str, str]:
    """Versions of the loaded packages, as far as the packages provide them."""
    modules = {name: module for name, module in list(sys.modules.items()) if "." not in name}
    told = {
        name: vars(module).get("__version__")
        for name, module in sorted(modules.items())
        if name not in sys.stdlib_module_names and name[:1] != "_" and hasattr(module, "__dict__")
    }
    known = {name: version[:_MOST_VERSION] for name, version in told.items() if isinstance(version, str)}
    return dict(list(known.items())[:_MOST_PACKAGES])


def _git(*arguments: str) -> str:
    """Asks git about the folder of the program; the answer is empty if there is no git or no repository."""
    folder = os.path.dirname(os.path.abspath(sys.argv[0])) if sys.argv and sys.argv[0] else os.getcwd()
    try:
        done = subprocess.run(
            ["git", "-C", folder, *arguments],
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


@functools.cache
def _watch_the_end() -> None:
    """Finishes open runs when the program ends; they fail with the exception that ends the program, if
    any."""
    atexit.register(_finish_all)
    shows = sys.excepthook

    def note(kind, error, trace):
        global _raised
        _raised = error
        shows(kind, error, trace)

    sys.excepthook = note


def _finish_all() -> None:
    for run in list(_open):
        try:
            run._end_by(_raised)
        except Error as error:
            print(f"headrace: the run {run.id}: {error}", file=sys.stderr)
