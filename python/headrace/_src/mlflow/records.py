"""The records of a folder's runs, and their metrics; data that can no longer change is read once."""

from __future__ import annotations

import datetime
import threading
import warnings
from collections import OrderedDict
from dataclasses import dataclass

from headrace import _headrace
from headrace._src.store import Store
from headrace.errors import Error, NotFoundError

_RUNS = "_headrace/runs/"
_PARTS = "_headrace/runs/v2/"
_NO_RUNS = ("v2", "catalog")  # folders beside those of version 1
_MOST_HISTORIES = 256

Signature = tuple[str, ...]  # keys of the objects that a record was read from


@dataclass
class Record:
    """A run as its record describes it; `parts`: their names, and whether they have ended."""

    id: str
    command: str
    command_line: str
    started: str
    ended: str
    status: str
    error: str
    parameters: dict[str, str]
    versions: dict[str, str]
    inputs: list[tuple[str, str]]
    outputs: list[tuple[str, str]]
    metrics: dict[str, float]
    has_series: bool
    parts: list[tuple[str, bool]]

    @property
    def has_ended(self) -> bool:
        return all(ended for _, ended in self.parts)

    @property
    def started_ms(self) -> int:
        return _milliseconds(self.started) or 0

    @property
    def ended_ms(self) -> int | None:
        return _milliseconds(self.ended)


@dataclass
class LastPoint:
    """The last point of a metric of a run, the metric's name in MLflow, and where the metric is stored."""

    key: str
    name: str
    rank: int
    points: int
    step: int
    value: float


class History:
    """The metrics of a run as they are in the store. If several ranks have a metric of the same name, the
    lowest rank's metric has the plain name, and the others are "NAME/rank-1" and so on."""

    def __init__(self, url: str, run: str):
        self._native = _headrace.RunHistory(url, run)
        self.last_points: dict[str, LastPoint] = {}
        for name, rank, points, step, value in self._native.summaries():
            key = name if name not in self.last_points else f"{name}/rank-{rank}"
            self.last_points[key] = LastPoint(key, name, rank, points, step, value)

    def points(self, key: str) -> list[tuple[int, int, float]]:
        """Steps, times in microseconds since 1970, and values, as they were logged."""
        if key not in self.last_points:
            return []
        last = self.last_points[key]
        return list(zip(*self._native.points(last.name, last.rank), strict=True))


class Records:
    """The records of a folder. Threads may share this object."""

    def __init__(self, store: Store):
        self._store = store
        self._lock = threading.Lock()
        self._records: dict[str, tuple[Signature, Record]] = {}
        self._histories: OrderedDict[str, tuple[Signature, History]] = OrderedDict()

    def all(self) -> dict[str, Record]:
        """Lists twice, and reads records that are new or have changed. Damaged records are left out with a
        warning."""
        found: dict[str, list[str]] = {}
        for one in self._store.list(_RUNS, folders=True):
            name = one.key[len(_RUNS) :].strip("/")
            if name not in _NO_RUNS:
                found[name] = [name]
        for one in self._store.list(_PARTS):
            found.setdefault(one.key[len(_PARTS) :].partition("/")[0], []).append(one.key)
        return self._read(found)

    def one(self, run: str) -> Record:
        """Lists once, and reads the record if it is new or has changed.

        Raises:
            NotFoundError: there is no run with that id.
        """
        keys = [one.key for one in self._store.list(f"{_PARTS}{run}/")]
        known = self._read({run: keys or [run]}, is_strict=True)
        if run not in known:
            raise NotFoundError(f"there is no run {run} below {self._store.url}")
        return known[run]

    def history(self, record: Record) -> History:
        """The metrics of a run; the metrics of a run that has ended are read only once."""
        with self._lock:
            signature, _ = self._records.get(record.id, ((), record))
            if record.id in self._histories and self._histories[record.id][0] == signature:
                return self._histories[record.id][1]
        history = History(self._store.url, record.id)
        if record.has_ended:
            with self._lock:
                self._histories[record.id] = (signature, history)
                while len(self._histories) > _MOST_HISTORIES:
                    self._histories.popitem(last=False)
        return history

    def _read(self, found: dict[str, list[str]], is_strict: bool = False) -> dict[str, Record]:
        signatures = {run: tuple(sorted(keys)) for run, keys in found.items()}
        with self._lock:
            records = {
                run: self._records[run][1]
                for run, signature in signatures.items()
                if run in self._records and self._records[run][0] == signature
            }
        missing = [run for run in signatures if run not in records]
        if not missing:
            return records
        read, damaged = _headrace.run_records(self._store.url, missing)
        if damaged and is_strict:
            raise Error(damaged[0])
        for message in damaged:
            warnings.warn(f"left out a run: {message}", stacklevel=2)
        for facts in read:
            records[facts["id"]] = Record(**facts)
        with self._lock:
            for run in missing:
                if run in records:
                    self._records[run] = (signatures[run], records[run])
        return records


def _milliseconds(text: str) -> int | None:
    if not text:
        return None
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)
