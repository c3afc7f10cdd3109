"""Batches of a cache's rows as they are read, without a snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace import _headrace
from headrace._src import checked
from headrace._src.columns import Column
from headrace._src.early_end import EarlyEnd
from headrace._src.images import Augmentation, checked_augmentations, row_shape
from headrace._src.loader import POLICIES, Batch, check_columns, native_columns
from headrace._src.log import logger
from headrace._src.stopwatch import Stopwatch
from headrace.errors import FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    import tensorflow as tf


class StreamedRows:
    """Batches of the rows that a cache has while it is read: dicts of name → array, like those of a `Loader`.

    Each `for` is a new scan, which returns every row once, by partition, as the nodes deliver them. So there
    is no seed, no rank, no length and no state. Workers divide the rows by partitions.
    """

    def __init__(
        self,
        cluster: _headrace.IgniteCluster,
        cache: str,
        partitions: list[int],
        *,
        batch_size: int,
        columns: Mapping[str, Column] | None,
        augment: Sequence[Augmentation] = (),
        drop_remainder: bool = False,
        on_corrupt: str = "fail",
        memory_budget: int | str = "1GiB",
    ):
        if not isinstance(columns, Mapping):
            raise InvalidArgumentError(
                "without a snapshot the columns of the rows are not known, so columns= is required: "
                "{'val.label': hr.int64}"
            )
        check_columns(dict(columns))
        augment = checked_augmentations(augment)
        self._early_end = EarlyEnd()  # never signalled, because these passes have no length
        self._hand_over = Stopwatch()
        self._cluster = cluster
        self._columns = dict(columns)
        self._shapes = {name: row_shape(column, augment) for name, column in columns.items()}
        self._arguments: dict[str, Any] = {
            "cache": cache,
            "partitions": partitions,
            **native_columns(self._columns, augment),
            "batch_size": checked.integer("batch_size", batch_size, least=1),
            "seed": 0,
            "drop_remainder": checked.choice("drop_remainder", drop_remainder, (True, False)),
            "on_corrupt": checked.choice("on_corrupt", on_corrupt, POLICIES),
            "memory_budget_bytes": checked.size_bytes("memory_budget", memory_budget),
        }
        self._is_closed = False

    def __iter__(self) -> Iterator[Batch]:
        return self.pass_batches()

    @property
    def early_end(self) -> EarlyEnd:
        """The early end of the passes that `as_tf_dataset` makes."""
        return self._early_end

    @property
    def hand_over(self) -> Stopwatch:
        """Adds up the time in which batches become tensors."""
        return self._hand_over

    def pass_batches(self) -> Iterator[Batch]:
        """Iterates over a new scan.

        Raises:
            FailedPreconditionError: the loader is closed.
        """
        if self._is_closed:
            raise FailedPreconditionError("the loader is closed; make another one")
        stream = self._cluster.stream(**self._arguments)
        while not self._is_closed and (batch := stream.next()) is not None:
            for remark in stream.new_remarks():
                logger.warning("%s", remark)
            yield batch

    def close(self) -> None:
        """Ends the passes under way after their present batch; there are no more."""
        self._is_closed = True

    def state(self, step: int | None = None) -> bytes:
        """Raises FailedPreconditionError, because the same position in another scan may be another row."""
        raise FailedPreconditionError(
            "a stream of a cache has no position to resume from, because its rows come in no fixed order: "
            "make the loader with a snapshot"
        )

    @property
    def columns(self) -> dict[str, Column]:
        return dict(self._columns)

    @property
    def row_shapes(self) -> dict[str, tuple[int, ...] | None]:
        """The shape of one row of each column; None: the column is ragged."""
        return dict(self._shapes)

    @property
    def weights(self) -> None:
        """None: every row is a record."""
        return None

    @property
    def rows(self) -> int:
        """Number of rows of a full batch."""
        return self._arguments["batch_size"]

    @property
    def has_equal_batches(self) -> bool:
        return self._arguments["drop_remainder"] and self._arguments["on_corrupt"] == "fail"

    @property
    def batches_per_epoch(self) -> None:
        """None: the number of rows is known when the scan ends."""
        return None

    def as_tf_dataset(
        self, features: str | Sequence[str] | None = None, labels: str | None = None
    ) -> tf.data.Dataset:
        """Returns a tf.data.Dataset; each pass over it is a new scan. Arguments and elements as for
        `Loader.as_tf_dataset`."""
        from headrace._src.tensorflow import dataset_of

        return dataset_of(self, features, labels)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {column!r}" for name, column in self._columns.items())
        return f"<rows of the cache {self._arguments['cache']!r} in batches of {self.rows}, {{{columns}}}>"
