"""A cache of Apache Ignite as training data: its rows, snapshots of them, and loaders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headrace import _headrace
from headrace._src import checked
from headrace._src.columns import Column
from headrace._src.dataset import Dataset
from headrace._src.loader import POLICIES, Loader, LoaderOptions
from headrace._src.streamed_rows import StreamedRows
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing import Unpack  # from Python 3.11 on

_STREAM_OPTIONS = {"batch_size", "columns", "augment", "drop_remainder", "on_corrupt", "memory_budget"}


class Cache:
    """A cache to read. `headrace.ignite.dataset` returns one.

    `for row in cache` scans it: every row once, as `{"key": …, "val": …}`. Each `for` is a new scan. `loader`
    makes batches for training.
    """

    def __init__(self, cluster: _headrace.IgniteCluster, name: str, partitions: list[int]):
        self._cluster = cluster
        self._name = name
        self._partitions = partitions

    @property
    def name(self) -> str:
        return self._name

    @property
    def partitions(self) -> list[int]:
        """The numbers of the partitions to read; empty means all."""
        return list(self._partitions)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        next_page = self._cluster.scan(self._name, self._partitions).next_page
        while (page := next_page()) is not None:
            yield from page

    def snapshot(
        self,
        url: str | os.PathLike | None = None,
        *,
        take_changed: bool = False,
        on_corrupt: str = "fail",
        memory: int | str = "256MiB",
    ) -> Dataset:
        """Scans the cache for its keys, and returns the rows that it has now as a `Dataset`.

        The dataset holds keys and fingerprints of values; rows are read from the cache when an epoch needs
        them. A cache with the same rows gives an equal dataset, so another process can continue a loader's
        state. `schema` has the features that the rows have, named by the path to them: "key", "val.NAME",
        "val.metadata.label". Fields without a form as features, such as maps, are left out; `remarks` names
        them.

        Args:
            url: where the snapshot is stored, as one object. An existing snapshot is read, and never
                replaced; otherwise a snapshot is taken and written. So all processes read the same rows.
                None: in memory.
            take_changed: True: a row whose value has changed since is read as it is now. False: such a row
                counts as gone.
            on_corrupt: what loaders do about a row that is gone or cannot be decoded. "fail": raise an error
                that names the key. "skip-record": leave the row out of its batch. "skip-shard": also leave
                out the rest of its block.
            memory: bytes ("1GiB") for the snapshot, or for the partitions that are being scanned if the
                snapshot goes to a store. Each row needs 9 bytes and the key.

        Raises:
            NotFoundError: there is no such cache.
            FailedPreconditionError: the snapshot at `url` belongs to another cache or to other partitions.
            ResourceExhaustedError: the snapshot needs more than `memory`.
        """
        checked.choice("on_corrupt", on_corrupt, POLICIES)
        native = self._cluster.snapshot(
            self._name,
            self._partitions,
            None if url is None else os.fspath(url),
            checked.size_bytes("memory", memory),
            checked.choice("take_changed", take_changed, (True, False)),
        )
        return Dataset._of(native, on_corrupt)

    def loader(
        self,
        *,
        batch_size: int,
        columns: Mapping[str, Column] | list[str] | None = None,
        snapshot: bool | str | os.PathLike = True,
        take_changed: bool = False,
        **options: Unpack[LoaderOptions],
    ) -> Loader | StreamedRows:
        """Makes a loader of batches over the rows that the cache has now.

        Args:
            columns: path → `hr.float32[640000]`, …: `{"val.pixels": hr.float32[640000]}`; or paths alone;
                None: all features.
            snapshot: True: in memory; a URL: at that URL, as `Cache.snapshot` says. False: no snapshot; each
                row is streamed once, in the order of arrival. Such a loader needs `columns`, takes `augment`,
                `drop_remainder`, `on_corrupt` and `memory_budget`, and has no state.
            take_changed: as `Cache.snapshot` says.
            batch_size, options: as for `Dataset.loader`; `on_corrupt` is "fail" unless it is given.

        Raises: what `Cache.snapshot` and `Dataset.loader` raise.
        """
        if snapshot is False:
            return self._stream(take_changed, batch_size=batch_size, columns=columns, **options)
        url = None if snapshot is True else snapshot
        on_corrupt = options.pop("on_corrupt", None) or "fail"
        data = self.snapshot(url, take_changed=take_changed, on_corrupt=on_corrupt)
        return data.loader(batch_size=batch_size, columns=columns, **options)

    def _stream(self, take_changed: bool, **options: Any) -> StreamedRows:
        if needs_order := ["take_changed"] * take_changed + sorted(options.keys() - _STREAM_OPTIONS):
            raise InvalidArgumentError(
                f"{needs_order[0]} needs a snapshot: without one, rows come in no fixed order"
            )
        return StreamedRows(self._cluster, self._name, self._partitions, **options)

    def __repr__(self) -> str:
        part = f", {len(self._partitions)} partitions" if self._partitions else ""
        return f"<headrace.ignite.Cache {self._name!r}{part}>"
