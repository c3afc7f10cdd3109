"""`load`: datasets as TensorFlow's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace._src.columns import Column
from headrace._src.dataset import open as open_dataset
from headrace._src.store import store as open_store
from headrace.errors import NotFoundError

if TYPE_CHECKING:
    import tensorflow

_SPLITS = ("TRAIN", "VALIDATION", "TEST")
# Prefix of file names → split; versions before 2.0 wrote "val".
_SPLIT_OF = {split.lower(): split for split in _SPLITS} | {"val": "VALIDATION"}


class Splits(dict[str, Any]):
    """Values by the names of splits, in upper or in lower case."""

    def __getitem__(self, split: str) -> Any:
        return super().__getitem__(split.upper())

    def __contains__(self, split: object) -> bool:
        return isinstance(split, str) and super().__contains__(split.upper())

    def get(self, split: str, default: Any = None) -> Any:
        return super().get(split.upper(), default)


def load(tfrecord_dir: str | os.PathLike[str]) -> dict[str, tensorflow.data.Dataset]:
    """Returns the parsed records of each split that exists: dicts of tensors.

    The keys are TRAIN, VALIDATION and TEST; lower case works, too.

    Args:
        tfrecord_dir: path or URL of a folder that `convert` wrote, of any dataset of Headrace, or of a folder
            that tfrecorder itself wrote.

    Raises:
        NotFoundError (a FileNotFoundError): there is no dataset.
    """
    folder = os.fspath(tfrecord_dir).rstrip("/")
    return Splits(_published(folder) if is_published(folder) else _written_by_tfrecorder(folder))


def is_published(folder: str) -> bool:
    """Whether Headrace wrote the folder."""
    return any(True for _ in open_store(folder).list("_headrace/"))


def first_schema(files: Sequence[str]) -> Mapping[str, Column]:
    """The features of the first record in TFRecord files: all records that tfrecorder writes have the same
    features.

    Raises:
        NotFoundError (a FileNotFoundError): there is no record.
    """
    for file in files:
        data = open_dataset(file)
        if len(data):
            return data.schema
    raise NotFoundError(f"{', '.join(files)}: there are no records")


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


def _published(folder: str) -> dict[str, tensorflow.data.Dataset]:
    datasets, missing = {}, None
    for split in _SPLITS:
        try:
            data = open_dataset(folder, split.lower())
        except NotFoundError as error:
            missing = error
            continue
        datasets[split] = parsed([shard.url for shard in data.shards], data.schema)
    if not datasets and missing is not None:
        raise missing
    return datasets


def _written_by_tfrecorder(folder: str) -> dict[str, tensorflow.data.Dataset]:
    files: dict[str, list[str]] = {}
    for found in open_store(folder).list(folders=True):
        split = _SPLIT_OF.get(found.key.partition("-")[0])
        if split is not None and ".tfrecord" in found.key:
            files.setdefault(split, []).append(f"{folder}/{found.key}")
    if not files:
        raise NotFoundError(
            f"{folder} holds no dataset of Headrace, and no files with the names that tfrecorder gives them: "
            "train-….tfrecord.gz"
        )
    found_splits = {split: files[split] for split in _SPLITS if split in files}
    schema = first_schema([file for of_split in found_splits.values() for file in of_split])
    return {split: parsed(of_split, schema) for split, of_split in found_splits.items()}


def _path(url: str) -> str:
    """As TensorFlow reads it."""
    if "://" not in url:
        return url
    import headrace.tensorflow  # noqa: F401, makes store URLs valid paths in TensorFlow

    scheme, _, place = url.partition("://")
    return f"hrfile://{place}" if scheme.lower() == "file" else url


def _feature(column: Column) -> object:
    import tensorflow as tf

    dtype = tf.string if column.dtype == "bytes" else tf.dtypes.as_dtype(column.dtype)
    if column.shape is None:
        return tf.io.RaggedFeature(dtype)
    default = column.fill if column.fill is None or not column.shape else [column.fill] * column.length
    return tf.io.FixedLenFeature(column.shape, dtype, default)
