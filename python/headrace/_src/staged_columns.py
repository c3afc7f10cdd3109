"""Converts Python's values to columns as the native module stages them."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from headrace.errors import InvalidArgumentError

_INT64 = np.iinfo(np.int64)
_TEXT_AS_IT_PRINTS = (decimal.Decimal, uuid.UUID)
_FLOAT32_MANTISSA_BITS, _FLOAT32_BITS_MAX = 24, 128
_MISSING_NAMES = ("NAType", "NaTType")  # types of pandas, matched by name so that pandas is not imported


class StagedColumn(NamedTuple):
    """A column in the form that `_headrace.encode_examples` takes."""

    name: str
    kind: str  # "int64", "float32", "bytes"
    values: Any
    offsets: Any = None  # int64, one more than rows; None: one value for each row
    validity: Any = None  # bool; None: every row has a value
    lists: Any = (
        None  # only "bytes": int64 indices into `offsets`, one more than rows; None: one text for each row
    )


def refuse(name: str, what: str, row: int | None = None) -> NoReturn:
    place = "" if row is None else f", row {row + 1}"
    raise InvalidArgumentError(f"column {name}{place}: {what}")


def refuse_type(name: str, kind: str, row: int | None = None) -> NoReturn:
    what = f"{kind} is not a type that a record can hold"
    if "PIL." in kind or "Image" in kind:
        what += "; encode the image: image.save(buffer, 'jpeg'), and give buffer.getvalue()"
    elif kind in ("dict", "struct") or "map" in kind:
        what += "; make its members columns, or make it a text: json.dumps(…)"
    elif "timedelta" in kind or "duration" in kind:
        what += "; make it a number: .total_seconds()"
    else:
        what += "; give numbers, text, bytes, dates, or lists of numbers or texts"
    refuse(name, what, row)


def float32_of(name: str, values: np.ndarray, row_of: Callable[[int], int]) -> np.ndarray:
    """Returns the nearest float32s; `row_of` maps the index of a value that is too large to its row, for the
    error."""
    with np.errstate(over="ignore"):
        floats = np.ascontiguousarray(values, dtype=np.float32)
    too_large = np.isinf(floats) & np.isfinite(values)
    if too_large.any():
        place = int(too_large.argmax())
        refuse(name, f"{values[place]} is too large for float32; scale it, or give it as text", row_of(place))
    return floats


def column_of_floats(name: str, values: np.ndarray, first_row: int) -> StagedColumn:
    """A column of floats. NaN counts as missing."""
    floats = float32_of(name, values, lambda place: first_row + place)
    missing = np.isnan(values)
    return StagedColumn(name, "float32", floats, None, ~missing if missing.any() else None)


def column_of_integers(
    name: str, values: np.ndarray, first_row: int, validity: np.ndarray | None = None
) -> StagedColumn:
    """A column of integers; booleans become 0 and 1."""
    if values.dtype.kind == "u" and values.size and values.max() > _INT64.max:
        refuse(name, f"{values.max()} is too large for int64", first_row + int(values.argmax()))
    return StagedColumn(name, "int64", np.ascontiguousarray(values, dtype=np.int64), None, validity)


def column_of_objects(name: str, values: Sequence[Any], first_row: int = 0) -> StagedColumn | None:
    """A column from any Python values, one value or None for each row. Returns None if every value is
    missing.

    Raises:
        InvalidArgumentError: no record can hold a value, or a column mixes several kinds.
    """
    validity = np.fromiter((not _is_missing(value) for value in values), bool, len(values))
    if not validity.any():
        return None
    present = values if validity.all() else [value for value in values if not _is_missing(value)]
    rows = np.flatnonzero(validity)
    by_type = {}
    for place, value in enumerate(present):
        by_type.setdefault(type(value), place)
    kinds = {kind: _kind_of(name, kind, first_row + int(rows[place])) for kind, place in by_type.items()}
    met = set(kinds.values())
    if met == {"int", "float"}:
        _check_exact(name, present, first_row + rows)
        met = {"float"}
    if len(met) > 1:
        names = " and ".join(sorted({kind.__name__ for kind in kinds}))
        refuse(name, f"has {names}; convert them to one kind")
    make = {"int": _integers, "float": _floats, "text": _texts, "bytes": _byte_strings, "list": _lists}[
        met.pop()
    ]
    return make(name, present, validity, first_row + rows)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return type(value).__name__ in _MISSING_NAMES


def _kind_of(name: str, kind: type, row: int) -> str:
    if issubclass(kind, bool | int | np.bool_ | np.integer):
        return "int"
    if issubclass(kind, float | np.floating):
        return "float"
    if issubclass(kind, bytes | bytearray | memoryview):
        return "bytes"
    dates = (datetime.date, datetime.time, np.datetime64)
    if issubclass(kind, (str, *dates, *_TEXT_AS_IT_PRINTS)):
        return "text"
    if issubclass(kind, list | tuple | np.ndarray):
        return "list"
    refuse_type(
        name, kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}", row
    )


def _text_of(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat().encode()
    return str(value).encode()  # str() of NumPy's dates is ISO 8601, too


def _spread(name: str, kind: str, present: np.ndarray, validity: np.ndarray) -> StagedColumn:
    """A column from one value for each row that has a value; `validity` says which rows have one."""
    if validity.all():
        return StagedColumn(name, kind, present)
    values = np.zeros(len(validity), present.dtype)
    values[validity] = present
    return StagedColumn(name, kind, values, None, validity)


def _integers(name: str, present: Sequence[Any], validity: np.ndarray, rows: np.ndarray) -> StagedColumn:
    try:
        return _spread(name, "int64", np.fromiter(present, np.int64, len(present)), validity)
    except OverflowError:
        place = next(i for i, value in enumerate(present) if not _INT64.min <= int(value) <= _INT64.max)
        refuse(name, f"{present[place]} does not fit int64", int(rows[place]))


def _floats(name: str, present: Sequence[Any], validity: np.ndarray, rows: np.ndarray) -> StagedColumn:
    numbers = np.fromiter(present, np.float64, len(present))
    return _spread(name, "float32", float32_of(name, numbers, lambda place: int(rows[place])), validity)


def _check_exact(name: str, present: Sequence[Any], rows: np.ndarray) -> None:
    """Integers beside floats become float32; an integer that this would change is an error."""
    for place, value in enumerate(present):
        if isinstance(value, float | np.floating):
            continue
        bits = abs(int(value)).bit_length()
        if bits > _FLOAT32_BITS_MAX or int(value) % (1 << max(0, bits - _FLOAT32_MANTISSA_BITS)):
            refuse(
                name,
                f"{value} does not fit float32, the type of a column with floats; make all values "
                "integers, or make them floats if they may be rounded",
                int(rows[place]),
            )


def _joined(name: str, pieces: Sequence[Any], validity: np.ndarray) -> StagedColumn:
    return StagedColumn(
        name, "bytes", b"".join(pieces), offsets_of(map(len, pieces), validity), _or_all(validity)
    )


def _texts(name: str, present: Sequence[Any], validity: np.ndarray, rows: np.ndarray) -> StagedColumn:
    return _joined(name, [_text_of(value) for value in present], validity)


def _byte_strings(name: str, present: Sequence[Any], validity: np.ndarray, rows: np.ndarray) -> StagedColumn:
    return _joined(name, [bytes(value) for value in present], validity)


def _lists(name: str, present: Sequence[Any], validity: np.ndarray, rows: np.ndarray) -> StagedColumn:
    present = [_flat(value) if isinstance(value, np.ndarray) else value for value in present]
    for value in present:
        if len(value) and isinstance(value[0], str | bytes):
            kind = str if isinstance(value[0], str) else bytes
            return _lists_of_texts(name, kind, present, validity, rows)
    arrays = []
    for place, value in enumerate(present):
        try:
            array = np.asarray(value).reshape(-1)
        except ValueError:  # lists inside it have different lengths
            array = np.empty(0, object)
        if array.size == 0 and array.dtype != object:
            array = array.astype(np.int64)
        if array.dtype.kind not in "biuf" or (
            array.dtype.kind == "u" and array.size and array.max() > _INT64.max
        ):
            refuse(name, "is not a list of texts, or of numbers that fit int64 or float32", int(rows[place]))
        arrays.append(array)
    is_float = any(array.dtype.kind == "f" for array in arrays)
    offsets = offsets_of((array.size for array in arrays), validity)
    if not is_float:
        values = np.concatenate(arrays).astype(np.int64)
        return StagedColumn(name, "int64", values, offsets, _or_all(validity))
    for place, array in enumerate(arrays):
        if array.dtype.kind != "f":
            _check_exact(name, array.tolist(), np.full(array.size, rows[place]))
    first_row = int(rows[0] - np.flatnonzero(validity)[0])
    floats = float32_of(name, np.concatenate(arrays), row_by_offsets(offsets, first_row))
    return StagedColumn(name, "float32", floats, offsets, _or_all(validity))


def _flat(array: np.ndarray) -> Sequence[Any]:
    return array.ravel().tolist() if array.dtype.kind in "OSU" else array.ravel()


def _lists_of_texts(
    name: str, kind: type, present: Sequence[Any], validity: np.ndarray, rows: np.ndarray
) -> StagedColumn:
    for place, value in enumerate(present):
        for one in value:
            if not isinstance(one, kind):
                what = f"has {type(one).__name__} in a list, while others have {kind.__name__}"
                refuse(name, what, int(rows[place]))
    texts = [text for value in present for text in value]
    pieces = [_text_of(text) for text in texts] if kind is str else texts
    offsets = offsets_of(map(len, pieces), np.ones(len(pieces), bool))
    lists = offsets_of(map(len, present), validity)
    return StagedColumn(name, "bytes", b"".join(pieces), offsets, _or_all(validity), lists)


def row_by_offsets(offsets: np.ndarray, first_row: int) -> Callable[[int], int]:
    """A function from the index of a value to its row."""
    return lambda place: first_row + int(np.searchsorted(offsets, place, "right")) - 1


def offsets_of(sizes: Any, validity: np.ndarray) -> np.ndarray:
    """The offsets at which the values of each row begin; `sizes` are those of the rows that have values."""
    counts = np.zeros(len(validity), np.int64)
    counts[validity] = np.fromiter(sizes, np.int64)
    offsets = np.zeros(len(validity) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _or_all(validity: np.ndarray) -> np.ndarray | None:
    return None if validity.all() else validity
