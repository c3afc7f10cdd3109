"""The sources that can be converted, each as a frame with its schema's columns."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pandas

from headrace._src.log import logger
from headrace._src.store import store as open_store
from headrace.errors import InvalidArgumentError
from headrace.tfrecorder import types
from headrace.tfrecorder.input_schema import IMAGE_CSV_SCHEMA, Schema


@dataclass(frozen=True)
class Source:
    """Rows, and the prefix of the image paths in them: "" if the rows are the user's own, which may name
    local files; otherwise the URL of the table's folder, and the rows may not name local files."""

    frame: pandas.DataFrame
    base: str = ""

    def image_urls(self, column: str) -> pandas.Series:
        """The paths no longer depend on a folder, so the rows may be moved."""
        return self.frame[column].map(self._resolved, na_action="ignore")

    def _resolved(self, uri: Any) -> str:
        text = str(uri)
        if not text.strip() or "://" in text or os.path.isabs(text):
            return text
        return f"{self.base}/{text}" if self.base else os.path.abspath(text)


def read_source(source: Any, schema: Schema, header: Any, names: Sequence[str] | None) -> Source:
    """A frame, a table, or a folder of images, with all columns of the schema.

    Raises:
        InvalidArgumentError (a ValueError): the source is none of these.
        AttributeError: a column is missing.
    """
    read = _read(source, header, names)
    keys = list(schema.get_input_keys())
    missing = [column for column in keys if column not in read.frame.columns]
    if missing:
        raise AttributeError(
            f"the input has no column {missing[0]!r}; it has {list(map(str, read.frame.columns))}, and the "
            f"schema has {keys}. Name the columns with names=[…], with header=None if the "
            "file has no header"
        )
    return Source(read.frame[keys], read.base)


def _read(source: Any, header: Any, names: Sequence[str] | None) -> Source:
    if isinstance(source, pandas.DataFrame):
        return Source(source[list(names)] if names else source)
    if isinstance(source, str | os.PathLike):
        url = os.fspath(source).rstrip("/")
        if url.endswith(".csv"):
            return _read_table(url, header, names)
        if os.path.isdir(url) or ("://" in url and any(True for _ in open_store(url).list())):
            return _read_folder(url)
    raise InvalidArgumentError(
        f"source is {source!r}; it must be a pandas.DataFrame, a path that ends in .csv, or a folder of "
        "images as <split>/<label>/<file>"
    )


def _read_table(url: str, header: Any, names: Sequence[str] | None) -> Source:
    """Cells keep their text: "007" and "NA" are labels too."""
    if header is None and not names:
        names = list(IMAGE_CSV_SCHEMA.get_input_keys())
    data = io.BytesIO(open_store(url).read())
    frame = pandas.read_csv(
        data, header=header, names=None if names is None else list(names), dtype=str, keep_default_na=False
    )
    is_in_store = "://" in url and not url.lower().startswith("file://")
    return Source(frame, url.rpartition("/")[0] if is_in_store else "")


def _read_folder(url: str) -> Source:
    rows, passed_over = [], 0
    for found in open_store(url).list():
        *_, split, label, name = ("", "", *PurePosixPath(found.key).parts)
        if split.upper() not in types.SPLITS or name.startswith("."):
            passed_over += 1
            continue
        rows.append((split, f"{url}/{found.key}", label))
    if passed_over:
        logger.warning(
            "%s: %d files are not in <split>/<label>/ with a split of %s, and are left out",
            url,
            passed_over,
            ", ".join(types.SPLITS),
        )
    return Source(pandas.DataFrame(rows, columns=list(IMAGE_CSV_SCHEMA.get_input_keys()), dtype=str))
