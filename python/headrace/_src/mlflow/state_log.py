"""States that many processes change, stored as numbered objects that are never replaced:
docs/formats/mlflow-state.md."""

from __future__ import annotations

import copy
import hashlib
import json
import threading
import uuid
from collections.abc import Callable
from typing import Any

from headrace._src.store import ObjectInfo, Store
from headrace.errors import (
    AbortedError,
    AlreadyExistsError,
    DataLossError,
    ResourceExhaustedError,
    UnimplementedError,
)

State = dict[str, Any]
Edit = Callable[[State], None]

_VERSION = 1
_DIGEST = "zz_sha256"
_CHANGE = "change"
_MOST_ATTEMPTS = 200
_MOST_BYTES = 16 << 20


class StateLog:
    """The states of a run, or of the experiments of a folder. Threads may share this object.

    Args:
        store: the tracking root.
        folder: key of the folder that holds the states.
        kind: the `format` of the objects.
    """

    def __init__(self, store: Store, folder: str, kind: str):
        self._store = store
        self._folder = folder
        self._kind = kind
        self._lock = threading.RLock()
        self._number = 0  # number of the latest known state; 0: none
        self._state: State = {}

    @property
    def known(self) -> State | None:
        """The state that was read or written last; None if there was none. The caller must not change it."""
        return self._state if self._number else None

    def load(self) -> State | None:
        """The latest state. Lists once, and reads the state if it is new. The caller must not change it."""
        with self._lock:
            numbers = [number_of(one.key) for one in self._store.list(f"{self._folder}/")]
            self.accept(max(numbers, default=0))
            return self.known

    def accept(self, number: int, content: bytes | None = None) -> None:
        """Stores the state with that number, unless a later state is known. `content`: its bytes, if
        known."""
        with self._lock:
            if number <= self._number:
                return
            self._state = self._read(number, content)
            self._number = number

    def _read(self, number: int, content: bytes | None = None) -> State:
        key = _key(self._folder, number)
        if content is None:
            content = self._store.read(key, 0, _MOST_BYTES + 1)
        return _parsed(content, self._kind, self._store.describe(key))

    def is_behind(self, number: int) -> bool:
        return number > self._number

    def change(self, edit: Edit) -> State:
        """Applies `edit` to the latest state and appends the result, unless nothing changes.

        `edit` may be called several times: first with the known state, which may be outdated, and again with
        states that others have written meanwhile. If it raises, nothing is written.
        """
        with self._lock:
            is_latest = False
            for _ in range(_MOST_ATTEMPTS):
                state = copy.deepcopy(self._state)
                try:
                    edit(state)
                except Exception:
                    if is_latest:
                        raise
                    state = self._state
                if state != self._state:
                    if self._append(state):
                        return self._state
                elif is_latest:
                    return state
                else:  # edit raised or changed nothing: check with the latest state
                    self.load()
                is_latest = True  # if it is not the latest, creating its successor fails
        raise AbortedError(
            f"{self._store.describe(self._folder)} was changed by other processes repeatedly; try again"
        )

    def _append(self, state: State) -> bool:
        state[_CHANGE] = uuid.uuid4().hex
        number = self._number + 1
        content = _serialized(state, self._kind)
        if len(content) > _MOST_BYTES:
            raise ResourceExhaustedError(
                f"{self._store.describe(self._folder)} would have a state of {len(content)} bytes; the "
                "limit is "
                f"{_MOST_BYTES}. Log large texts as artifacts"
            )
        try:
            self._store.write(_key(self._folder, number), content, if_absent=True)
        except AlreadyExistsError:
            self.load()
            # Others may already have written later states.
            taken = self._state if self._number == number else self._read(number)
            return taken.get(_CHANGE) == state[_CHANGE]  # ours, if the answer to an attempt was lost
        self._number = number
        self._state = state
        return True


def latest_states(store: Store, folder: str, logs: Callable[[str], StateLog]) -> set[str]:
    """Updates the logs of a folder of folders: lists once, and reads each new state, many at a time. Returns
    the names of all logs."""
    latest: dict[str, ObjectInfo] = {}
    for one in store.list(f"{folder}/"):  # ascending
        if number_of(one.key):
            latest[one.key.rpartition("/")[0].rpartition("/")[2]] = one
    behind = [name for name, one in latest.items() if logs(name).is_behind(number_of(one.key))]
    sizes = [min(latest[name].size_bytes or 0, _MOST_BYTES + 1) for name in behind]
    ranges = [(latest[name].key, 0, size) for name, size in zip(behind, sizes, strict=True)]
    for name, content in zip(behind, store.read_many(ranges), strict=True):
        logs(name).accept(number_of(latest[name].key), content)
    return set(latest)


def number_of(key: str) -> int:
    """The number at the end of a state's key; 0 if the key does not belong to a state."""
    name = key.rpartition("/")[2]
    return int(name) if len(name) == 8 and name.isascii() and name.isdigit() else 0


def _key(folder: str, number: int) -> str:
    return f"{folder}/{number:08}"


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _serialized(state: State, kind: str) -> bytes:
    whole = {**state, "format": kind, "version": _VERSION}
    whole[_DIGEST] = hashlib.sha256(_json(whole)).hexdigest()
    return _json(whole) + b"\n"


def _parsed(content: bytes, kind: str, place: str) -> State:
    if len(content) > _MOST_BYTES:
        raise DataLossError(f"{place} has more than {_MOST_BYTES} bytes: it is no state")
    try:
        whole = json.loads(content)
        digest = whole.pop(_DIGEST)
        is_whole = whole.pop("format") == kind and isinstance(whole["version"], int)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise DataLossError(f"{place} is no state of the kind {kind}: {error!r}") from error
    if is_whole and whole["version"] > _VERSION:
        raise UnimplementedError(
            f"{place} has version {whole['version']}; this Headrace knows {_VERSION}. Update Headrace"
        )
    if not is_whole or digest != hashlib.sha256(_json({**whole, "format": kind})).hexdigest():
        raise DataLossError(f"{place} is damaged: its checksum does not match. Restore it from a copy")
    del whole["version"]
    return whole
