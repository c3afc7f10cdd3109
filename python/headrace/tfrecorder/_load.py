"""`load`: datasets as TensorFlow's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headrace._src.columns import Column
from headrace._src.dataset import open as open_dataset
from headrace.errors import NotFoundError

if TYPE_CHECKING:
    import tensorflow

_SPLITS = ("train", "validation", "test")


def load(tfrecord_dir: str | os.PathLike[str]) -> dict[str, tensorflow.data.Dataset]:
    """Returns the parsed records of each split that exists ("train", "validation", "test"): dicts of tensors.

    Args:
        tfrecord_dir: path or URL of a folder that `convert` wrote, or of any dataset of Headrace.

    Raises:
        NotFoundError (a FileNotFoundError): there is no dataset.
    """
    datasets, missing = {}, None
    for split in _SPLITS:
        try:
            data = open_dataset(tfrecord_dir, split)
        except NotFoundError as error:
            missing = error
            continue
        datasets[split] = parsed([shard.url for shard in data.shards], data.schema)
    if not datasets and missing is not None:
        raise missing
    return datasets


def parsed(files: Sequence[str], schema: Mapping[str, Column]) -> tensorflow.data.Dataset:
    """Records of TFRecord files of one compression, in a fixed order."""
    import tensorflow as tf

    specification = {name: _feature(column) for name, column in schema.items()}
    compression = "GZIP" if files and files[0].endswith(".gz") else ""
    records = tf.data.TFRecordDataset(
        sorted(map(_path, files)), compression, num_parallel_reads=tf.data.AUTOTUNE
    )
    return records.map(
        lambda record: tf.io.parse_single_example(record, specification), num_parallel_calls=tf.data.AUTOTUNE
    )


def _path(url: str) -> str:
    """As TensorFlow reads it."""
    if "://" not in url:
        return url
    import headrace.tensorflow  # noqa: F401, which makes them paths there

    scheme, _, place = url.partition("://")
    return f"hrfile://{place}" if scheme.lower() == "file" else url


def _feature(column: Column) -> object:
    import tensorflow as tf

    dtype = tf.string if column.dtype == "bytes" else tf.dtypes.as_dtype(column.dtype)
    if column.shape is None:
        return tf.io.RaggedFeature(dtype)
    return tf.io.FixedLenFeature(column.shape, dtype)
