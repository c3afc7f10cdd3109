"""`inspect` and `check_tfrecords`: some records as files that people can look at."""

from __future__ import annotations

import base64
import csv
import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from headrace._src.dataset import open as open_dataset
from headrace._src.store import store as open_store
from headrace.errors import InvalidArgumentError, NotFoundError
from headrace.tfrecorder._load import first_schema, is_published, load, parsed
from headrace.tfrecorder._timestamp import timestamp

if TYPE_CHECKING:
    import tensorflow

_IMAGE_FORMATS = (".png", ".jpg", ".jpeg")


def inspect(
    tfrecord_dir: str | os.PathLike[str],
    split: str = "train",
    num_records: int = 1,
    output_dir: str | os.PathLike[str] = "output",
) -> str:
    """Writes some records to a new folder below `output_dir`: `data.csv`, and each image under its own name.

    Returns:
        The folder, `<output_dir>/check-tfrecords-<time>`.

    Raises:
        InvalidArgumentError (a ValueError): there is no such split.
    """
    datasets = load(tfrecord_dir)
    if split not in datasets:
        raise InvalidArgumentError(f"{tfrecord_dir} has no split {split!r}; it has {list(datasets)}")
    return _write_records(datasets[split], num_records, output_dir)


def check_tfrecords(
    file_pattern: str | os.PathLike[str],
    num_records: int = 1,
    output_dir: str | os.PathLike[str] = "output",
) -> str:
    """`inspect` for the files that match a pattern, such as `…/train*.tfrecord.gz`. All of them belong to one
    dataset.

    Raises:
        NotFoundError (a FileNotFoundError): there is no such file.
    """
    folder, _, pattern = os.fspath(file_pattern).rpartition("/")
    folder = folder or "."
    found = [found.key for found in open_store(folder).list(folders=True)]
    names = [name for name in found if fnmatch.fnmatchcase(name, pattern) and not name.endswith(".index")]
    files = [f"{folder}/{name}" for name in names]
    if not files:
        raise NotFoundError(f"no file matches {file_pattern}")
    schema = open_dataset(folder).schema if is_published(folder) else first_schema(files)
    return _write_records(parsed(files, schema), num_records, output_dir)


def _write_records(
    records: tensorflow.data.Dataset, num_records: int, output_dir: str | os.PathLike[str]
) -> str:
    folder = Path(output_dir) / f"check-tfrecords-{timestamp()}"
    folder.mkdir(parents=True)
    with (folder / "data.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        for number, record in enumerate(records.take(num_records).as_numpy_iterator()):
            columns = [name for name in record if name != "image"]
            if number == 0:
                table.writerow(columns)
            table.writerow(_text(record[name]) for name in columns)
            if "image_name" in record:
                _write_image(record, folder)
    return str(folder)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _write_image(record: dict[str, Any], folder: Path) -> None:
    """Writes the image under its original name; if several images share that name, all but the first get a
    number."""
    import PIL.Image

    shape = [int(record[f"image_{side}"]) for side in ("height", "width", "channels")]
    pixels = numpy.frombuffer(base64.urlsafe_b64decode(record["image"]), numpy.uint8).reshape(shape)
    name = Path(_text(record["image_name"])).name
    stem, ending = os.path.splitext(name)
    if ending.lower() not in _IMAGE_FORMATS:
        stem, ending = name, ".png"
    path, number = folder / f"{stem}{ending}", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}{ending}", number + 1
    PIL.Image.fromarray(pixels[:, :, 0] if shape[2] == 1 else pixels).save(path)
