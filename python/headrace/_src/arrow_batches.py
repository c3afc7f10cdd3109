"""Arrow tables and streams, and files of them in any store, as batches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace._src.batch import MOST_BYTES, MOST_ROWS, Batch, names_of_columns
from headrace._src.staged_columns import (
    StagedColumn,
    column_of_floats,
    column_of_integers,
    column_of_objects,
    float32_of,
    offsets_of,
    refuse,
    refuse_type,
    row_by_offsets,
)
from headrace._src.store import store as open_store
from headrace.errors import InvalidArgumentError, NotFoundError

_FORMATS = {".parquet": "parquet", ".feather": "feather", ".arrow": "ipc"}
_LOOKED_AT = 1000  # how many objects of a folder are checked for their format


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError("Arrow tables need pyarrow: pip install 'headrace[arrow]'") from None
    return pyarrow


def batches_of_arrow(source: Any) -> Iterator[Batch]:
    """Batches of any object that has Arrow's stream or array interface."""
    pa = _pyarrow()
    if hasattr(source, "__arrow_c_stream__"):
        return _batches(pa.RecordBatchReader.from_stream(source))
    return _batches([pa.record_batch(source)])


def format_of_arrow(url: str | os.PathLike[str]) -> str | None:
    """ "parquet" and so on, if a URL, pattern or path names files in a format of Arrow, or a folder of
    them."""
    text = os.fspath(url)
    ending = os.path.splitext(text)[1].lower()
    if ending in _FORMATS:
        return _FORMATS[ending]
    if any(sign in text for sign in "*?["):
        return None
    folder = open_store(text)
    for number, found in enumerate(folder.list()):
        name = found.key.rpartition("/")[2]
        if not name.startswith(("_", ".")):
            return _FORMATS.get(os.path.splitext(name)[1].lower())
        if number == _LOOKED_AT:
            break
    return None


def batches_of_files(url: str | os.PathLike[str], file_format: str) -> Iterator[Batch]:
    """Batches of all files at a URL, path or pattern, ascending by name. Folder names such as "year=2024/"
    add columns.

    Raises:
        NotFoundError: there is no such file.
    """
    try:
        import pyarrow.dataset
        from fsspec.core import url_to_fs

        import headrace.fsspec  # noqa: F401  makes the names known
    except ImportError:
        raise ImportError(
            f"{file_format} files need pyarrow and fsspec: pip install 'headrace[arrow]'"
        ) from None

    address = open_store(url).url
    files, path = url_to_fs(f"hr+{address}")
    if any(sign in path for sign in "*?["):
        paths = sorted(files.glob(path))
    else:
        paths = [path] if files.isfile(path) else sorted(files.find(path))
    chosen = [one for one in paths if _FORMATS.get(os.path.splitext(one)[1].lower()) == file_format]
    if not chosen:
        raise NotFoundError(f"there is no {file_format} file at {address}; check the URL with headrace ls")
    table = pyarrow.dataset.dataset(
        chosen,
        filesystem=files,
        format=file_format,
        partitioning="hive",
        partition_base_dir=path if len(chosen) > 1 or chosen[0] != path else None,
    )
    # Reads one file and one batch ahead, which takes memory for two row groups.
    return _batches(table.to_batches(batch_size=MOST_ROWS, batch_readahead=1, fragment_readahead=1))


def _batches(source: Any) -> Iterator[Batch]:
    done = 0
    for whole in source:
        names = names_of_columns(whole.schema.names)
        rows = MOST_ROWS
        if whole.num_rows:
            rows = max(1, min(rows, MOST_BYTES * whole.num_rows // max(whole.nbytes, 1)))
        for begin in range(0, whole.num_rows, rows):
            part = whole.slice(begin, rows)
            columns = [
                column_of_arrow(name, column, done) for name, column in zip(names, part.columns, strict=True)
            ]
            yield Batch(part.num_rows, [column for column in columns if column is not None])
            done += part.num_rows


def column_of_arrow(name: str, array: Any, first_row: int) -> StagedColumn | None:
    """None if the column has no value at all."""
    pa = _pyarrow()
    kind, types = array.type, pa.types
    if types.is_null(kind) or array.null_count == len(array):
        return None
    if types.is_dictionary(kind):
        return column_of_arrow(name, _large(array.dictionary).take(array.indices), first_row)
    if isinstance(kind, pa.BaseExtensionType):
        return column_of_arrow(name, array.storage, first_row)
    if types.is_boolean(kind) or types.is_integer(kind):
        filled = array.fill_null(False if types.is_boolean(kind) else 0)
        return column_of_integers(name, filled.to_numpy(zero_copy_only=False), first_row, _validity(array))
    if types.is_floating(kind):
        return column_of_floats(name, array.to_numpy(zero_copy_only=False), first_row)
    if _is_bytes(types, kind):
        return _bytes(name, array)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        is_texts = _is_bytes(types, _plain(kind.value_type))
        return (_lists_of_texts if is_texts else _numbers)(name, array, first_row)
    if types.is_temporal(kind) and not types.is_duration(kind) or types.is_decimal(kind):
        return column_of_objects(name, array.to_pylist(), first_row)
    refuse_type(name, "struct" if types.is_struct(kind) else str(kind))


def _is_bytes(types: Any, kind: Any) -> bool:
    checks = (
        "is_string",
        "is_large_string",
        "is_string_view",
        "is_binary",
        "is_large_binary",
        "is_binary_view",
    )
    return any(getattr(types, check, lambda _: False)(kind) for check in (*checks, "is_fixed_size_binary"))


def _validity(array: Any) -> np.ndarray | None:
    return array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None


def _offsets(array: Any, buffer: Any) -> np.ndarray:
    if not buffer:  # an empty array has no buffer
        return np.zeros(len(array) + 1, np.int64)
    return np.frombuffer(buffer, np.int64)[array.offset : array.offset + len(array) + 1]


def _large(array: Any) -> Any:
    """Texts and bytes with offsets of 64 bits. Views are converted, because Arrow lacks some operations on
    them."""
    pa = _pyarrow()
    types, kind = pa.types, array.type
    if types.is_string(kind) or getattr(types, "is_string_view", lambda _: False)(kind):
        return array.cast(pa.large_string())
    if not _is_bytes(types, kind) or types.is_large_string(kind) or types.is_large_binary(kind):
        return array
    return array.cast(pa.large_binary())


def _bytes(name: str, array: Any) -> StagedColumn:
    large = _large(array)
    _, offsets, values = large.buffers()
    return StagedColumn(name, "bytes", values or b"", _offsets(large, offsets), _validity(array))


def _plain(kind: Any) -> Any:
    """The type of the values, even if a dictionary holds them."""
    return kind.value_type if _pyarrow().types.is_dictionary(kind) else kind


def _lists_of_texts(name: str, array: Any, first_row: int) -> StagedColumn:
    texts = array.flatten()
    if _pyarrow().types.is_dictionary(texts.type):
        texts = _large(texts.dictionary).take(texts.indices)
    lists = _offsets_of_lists(array)
    _refuse_missing(name, "text", texts, lists, first_row)
    column = _bytes(name, texts)
    return StagedColumn(name, "bytes", column.values, column.offsets, _validity(array), lists)


def _offsets_of_lists(array: Any) -> np.ndarray:
    """Offsets into the values of all pieces joined."""
    import pyarrow.compute

    counts = pyarrow.compute.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    return offsets_of(counts, np.ones(len(array), bool))


def _refuse_missing(name: str, what: str, values: Any, lists: np.ndarray, first_row: int) -> None:
    if not values.null_count:
        return
    place = int(np.argmin(values.is_valid().to_numpy(zero_copy_only=False)))
    row = row_by_offsets(lists, first_row)(place)
    refuse(name, f"has a list in which a {what} is missing", row)


def _numbers(name: str, array: Any, first_row: int) -> StagedColumn:
    pa = _pyarrow()
    inner = array.type.value_type
    if not (pa.types.is_integer(inner) or pa.types.is_boolean(inner) or pa.types.is_floating(inner)):
        refuse(name, f"is a list of {inner}; a record holds lists of numbers, texts or bytes", first_row)
    kind = "float32" if pa.types.is_floating(inner) else "int64"
    wide = inner if pa.types.is_float64(inner) else pa.float32() if kind == "float32" else pa.int64()
    try:
        lists = array.cast(pa.large_list(wide))
    except pa.ArrowInvalid as error:
        raise InvalidArgumentError(f"column {name}: {error}") from None
    _refuse_missing(name, "number", lists.flatten(), _offsets_of_lists(lists), first_row)
    numbers = lists.values.to_numpy(zero_copy_only=False)
    offsets = _offsets(lists, lists.buffers()[1])
    if kind == "int64":
        return StagedColumn(name, kind, np.ascontiguousarray(numbers), offsets, _validity(array))
    used = float32_of(
        name, numbers[offsets[0] : offsets[-1]], row_by_offsets(offsets - offsets[0], first_row)
    )
    return StagedColumn(name, kind, used, offsets - offsets[0], _validity(array))
