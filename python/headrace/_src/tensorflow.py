"""A loader as a tf.data.Dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from headrace._src.columns import Column
from headrace._src.early_end import EarlyEnd
from headrace._src.producers import Producers
from headrace._src.stopwatch import Stopwatch
from headrace._src.variable import Ragged, Strings
from headrace.errors import FailedPreconditionError, InvalidArgumentError

_LABEL_NAMES = ("label", "labels")
_producers = Producers()


class Source(Protocol):
    """The properties of a loader that tf.data needs. `headrace.Loader` documents each of them."""

    @property
    def columns(self) -> Mapping[str, Column]: ...
    @property
    def row_shapes(self) -> Mapping[str, tuple[int, ...] | None]: ...
    @property
    def weights(self) -> str | None: ...
    @property
    def rows(self) -> int: ...
    @property
    def has_equal_batches(self) -> bool: ...
    @property
    def batches_per_epoch(self) -> int | None: ...
    @property
    def early_end(self) -> EarlyEnd: ...
    @property
    def hand_over(self) -> Stopwatch: ...
    def pass_batches(self) -> Iterator[dict[str, Any]]: ...
    def close(self) -> None: ...


class _Choice(NamedTuple):
    """Chooses the columns of an element."""

    features: str | list[str]
    labels: str | None
    weights: str | None

    def of(self, values: dict[str, Any]) -> Any:
        """The element, made from the tensor of each column, or from its specification."""
        names = self.features
        features = values[names] if isinstance(names, str) else {name: values[name] for name in names}
        rest = [values[name] for name in (self.labels, self.weights) if name is not None]
        return (features, *rest) if rest else features


def _choose(loader: Source, features: str | Sequence[str] | None, labels: str | None) -> _Choice:
    names = list(loader.columns)
    weights = [] if loader.weights is None else [loader.weights]
    asked = [features] if isinstance(features, str) else list(features or [])
    if features is not None and not asked:
        raise InvalidArgumentError(
            "features names no column; leave it out to use all columns except the labels"
        )
    for name in [*asked, *([] if labels is None else [labels])]:
        if name not in names + weights:
            known = ", ".join(names)
            raise InvalidArgumentError(f"the loader has no column {name or repr(name)}; it has: {known}")
    if labels is None and len(names) > 1:
        labels = next((name for name in _LABEL_NAMES if name in names and name not in asked), None)
    chosen = asked or [name for name in names if name != labels]
    if not chosen:
        raise InvalidArgumentError(f"the loader has no column beside the labels, {labels}")
    if labels is None:
        # By name, because nothing marks a second part of an element as weights.
        return _Choice(features if isinstance(features, str) else asked or names + weights, None, None)
    is_one = isinstance(features, str) or (features is None and len(chosen) == 1)
    return _Choice(chosen[0] if is_one else chosen, labels, loader.weights)


def _spec(loader: Source, column: Column, row_shape: tuple[int, ...] | None) -> tf.TypeSpec:
    rows = loader.rows if loader.has_equal_batches else None
    dtype = tf.string if column.dtype == "bytes" else tf.as_dtype(column.dtype)
    if row_shape is None:
        return tf.RaggedTensorSpec([rows, None], dtype, ragged_rank=1, row_splits_dtype=tf.int64)
    return tf.TensorSpec([rows, *row_shape], dtype)


def _tensor(column: Any) -> Any:
    """A column in the form that tf.data takes. Arrays are passed on without a copy."""
    if isinstance(column, Ragged):
        return tf.RaggedTensor.from_row_splits(_tensor(column.values), column.offsets, validate=False)
    return tf.constant(np.asarray(column), tf.string) if isinstance(column, Strings) else column


def dataset_of(loader: Source, features: str | Sequence[str] | None, labels: str | None) -> tf.data.Dataset:
    """`Loader.as_tf_dataset`."""
    choice = _choose(loader, features, labels)
    columns = loader.columns

    shapes = loader.row_shapes
    specs = {name: _spec(loader, column, shapes[name]) for name, column in columns.items()}
    if loader.weights is not None:
        specs[loader.weights] = tf.TensorSpec(specs[next(iter(specs))].shape[:1], tf.float32)

    length = loader.batches_per_epoch

    def elements() -> Iterator[Any]:
        if loader.early_end.take():
            return
        count = 0
        try:
            for batch in loader.pass_batches():
                count += 1
                with loader.hand_over:
                    element = choice.of({name: _tensor(column) for name, column in batch.items()})
                yield element
        except FailedPreconditionError:
            if not _producers.have_ended:
                raise
        if length is not None and count < length:
            loader.early_end.announce()

    def passes() -> Iterator[Any]:
        return _producers.follow(loader, elements())

    if length is None:
        return tf.data.Dataset.from_generator(passes, output_signature=choice.of(specs))
    # tf.data is told the length, because Keras counts epochs by it. The rest of an epoch, which is a shorter
    # pass, may still end without an error: `repeat` ends when a repetition is empty.
    dataset = tf.data.Dataset.from_generator(passes, output_signature=choice.of(specs))
    return dataset.repeat().take(length)
