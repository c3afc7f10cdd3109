"""A loader as a tf.data.Dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from headrace._src.variable import Ragged, Strings
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace._src.columns import Column
    from headrace._src.loader import Loader

_LABEL_NAMES = ("label", "labels")


def _features_and_labels(
    loader: Loader, features: str | list[str] | None, labels: str | None
) -> tuple[str | list[str], str | None]:
    names = list(loader.columns)
    for name in [
        *([features] if isinstance(features, str) else features or []),
        *([labels] if labels else []),
    ]:
        if name not in names:
            raise InvalidArgumentError(f"the loader has no column {name}; it has: {', '.join(names)}")
    if labels is None:
        labels = next((name for name in _LABEL_NAMES if name in names and name != features), None)
    if features is None:
        features = [name for name in names if name != labels]
        features = features[0] if len(features) == 1 and labels is not None else features
    return features, labels


def _spec(loader: Loader, column: Column) -> tf.TypeSpec:
    rows = loader.rows if loader.has_equal_batches else None
    dtype = tf.string if column.dtype == "bytes" else tf.as_dtype(column.dtype)
    if column.shape is None:
        return tf.RaggedTensorSpec([rows, None], dtype, ragged_rank=1, row_splits_dtype=tf.int64)
    return tf.TensorSpec([rows, *column.shape], dtype)


def _tensor(column: Any) -> Any:
    """What tf.data takes; arrays are taken as they are, without a copy."""
    if isinstance(column, Ragged):
        return tf.RaggedTensor.from_row_splits(_tensor(column.values), column.offsets, validate=False)
    return tf.constant(np.asarray(column), tf.string) if isinstance(column, Strings) else column


def dataset_of(loader: Loader, features: str | list[str] | None, labels: str | None) -> tf.data.Dataset:
    """`Loader.as_tf_dataset`."""
    features, labels = _features_and_labels(loader, features, labels)
    columns = loader.columns

    def choose(values: dict[str, Any]) -> Any:
        chosen = values[features] if isinstance(features, str) else {name: values[name] for name in features}
        if labels is None:
            if loader.weights is not None:
                chosen = chosen if isinstance(chosen, dict) else {features: chosen}
                chosen = {**chosen, loader.weights: values[loader.weights]}
            return chosen
        weights = () if loader.weights is None else (values[loader.weights],)
        return (chosen, values[labels], *weights)

    specs = {name: _spec(loader, column) for name, column in columns.items()}
    if loader.weights is not None:
        specs[loader.weights] = tf.TensorSpec(specs[next(iter(specs))].shape[:1], tf.float32)

    length = loader.batches_per_epoch
    ended_early = False

    def elements() -> Iterator[Any]:
        nonlocal ended_early
        if ended_early:
            ended_early = False
            return
        count = 0
        for batch in loader.pass_batches():
            count += 1
            yield choose({name: _tensor(column) for name, column in batch.items()})
        ended_early = count < length

    # tf.data is told the length, for Keras counts epochs by it; yet the rest of an epoch, which is a shorter
    # pass, may end without an error: `repeat` ends when a repetition is empty.
    dataset = tf.data.Dataset.from_generator(elements, output_signature=choose(specs))
    return dataset.repeat().take(length)
