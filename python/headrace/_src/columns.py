"""Columns of a batch: element type, shape of one record's value, and a default where a record has none."""

from __future__ import annotations

import dataclasses
import math
import numbers
import reprlib
from typing import Any

from headrace._src.checked import integer_of
from headrace.errors import InvalidArgumentError

_MOST_VALUES = 2**31 - 1
_MOST_DIMENSIONS = 31  # with the batch's own dimension, as many as every NumPy supports
_LARGEST_FLOAT32 = (2 - 2**-23) * 2.0**127
_EMPTY = {"float32": 0.0, "int64": 0, "bytes": b""}
# Element type → the values that may replace a missing value.
_DEFAULTS = {
    "float32": "a number that float32 can hold, such as 0.0",
    "int64": "an integer from -2**63 to 2**63 - 1",
    "bytes": "a bytes object, such as b''",
}


@dataclasses.dataclass(frozen=True, repr=False)
class Column:
    """A column of a batch: `hr.float32[512]`, `hr.int64` (a scalar), `hr.ragged(hr.bytes_)`.

    Attributes:
        dtype: "float32", "int64" or "bytes".
        shape: shape of one record's value; `()` is a scalar. None: ragged, each record has any number of
            values.
        fill: value for a record that lacks the feature; None: such a record is an error.

    Raises:
        InvalidArgumentError: there is no such column. NumPy integers count as integers; bools do not.
    """

    dtype: str
    shape: tuple[int, ...] | None = ()
    fill: Any = None

    def __post_init__(self):
        if not isinstance(self.dtype, str) or self.dtype not in _DEFAULTS:
            raise InvalidArgumentError(
                f"the type of a column must be 'float32', 'int64' or 'bytes', not {self.dtype!r}"
            )
        object.__setattr__(self, "shape", _checked_shape(self.shape))
        if self.fill is not None:
            object.__setattr__(self, "fill", self._checked_fill(self.fill))

    def __getitem__(self, sizes: int | tuple[int, ...]) -> Column:
        """Returns a column of the same element type with a fixed shape: `hr.float32[28, 28]`. Values are in
        row-major order, as in the record."""
        sizes = sizes if isinstance(sizes, tuple) else (sizes,)
        if self.is_ragged:
            raise InvalidArgumentError(
                f"{self!r} has rows of any length, so it has no shape; for rows of one shape write "
                f"{Column(self.dtype, sizes)!r}"
            )
        if self.shape:
            raise InvalidArgumentError(
                f"{self!r} has a shape already; write all its sizes at once: "
                f"{Column(self.dtype, (*self.shape, *sizes))!r}"
            )
        if not sizes:
            raise InvalidArgumentError(
                f"a shape consists of positive sizes; for one value per record write {self!r}"
            )
        return dataclasses.replace(self, shape=sizes)

    def default(self, value: Any) -> Column:
        """Returns the same column with a default: where a record lacks the feature, every value is `value`.

        A ragged column has one possible default, `()`: an empty row.

        Raises:
            InvalidArgumentError: the column cannot hold `value`.
        """
        return dataclasses.replace(self, fill=self._checked_fill(value))

    @property
    def stored(self) -> Column:
        """The column that a record must hold: this one, unless its values are decoded from another column."""
        return self

    @property
    def advice(self) -> str:
        """The end of the message about a record that lacks the feature."""
        return (
            f"give the column a default: {optional(self)!r}, or leave such records out, with "
            "on_corrupt='skip-record'"
        )

    @property
    def is_ragged(self) -> bool:
        return self.shape is None

    @property
    def length(self) -> int | None:
        """Number of values in one record; None if the column is ragged."""
        return None if self.shape is None else math.prod(self.shape)

    def _checked_fill(self, value: Any) -> Any:
        if self.is_ragged:
            fill = () if isinstance(value, tuple) and not value else None
        else:
            fill = _FILL_OF[self.dtype](value)
        if fill is None:
            allowed = "(), an empty row" if self.is_ragged else _DEFAULTS[self.dtype]
            raise InvalidArgumentError(
                f"{reprlib.repr(value)} cannot be a default of {self._name()}; the default must be {allowed}"
            )
        return fill

    def _name(self) -> str:
        name = f"hr.{'bytes_' if self.dtype == 'bytes' else self.dtype}"
        if self.shape is None:
            return f"hr.ragged({name})"
        return f"{name}[{', '.join(map(str, self.shape))}]" if self.shape else name

    def __repr__(self) -> str:
        return self._name() if self.fill is None else f"{self._name()}.default({self.fill!r})"


def _int64_of(value: Any) -> int | None:
    number = integer_of(value)
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _float32_of(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if math.isfinite(number) and abs(number) > _LARGEST_FLOAT32 else number


def _bytes_of(value: Any) -> bytes | None:
    return bytes(value) if isinstance(value, bytes) else None


_FILL_OF = {"float32": _float32_of, "int64": _int64_of, "bytes": _bytes_of}


def _checked_shape(shape: Any) -> tuple[int, ...] | None:
    if shape is None:
        return None
    if not isinstance(shape, tuple | list):
        raise InvalidArgumentError(f"a shape is a tuple of sizes, or None for any length, not {shape!r}")
    sizes = tuple(map(integer_of, shape))
    if not all(size is not None and size > 0 for size in sizes):
        raise InvalidArgumentError(f"a shape consists of positive sizes, not {reprlib.repr(shape)}")
    if len(sizes) > _MOST_DIMENSIONS:
        raise InvalidArgumentError(
            f"a shape has {len(sizes)} dimensions; it must have at most {_MOST_DIMENSIONS}"
        )
    if math.prod(sizes) > _MOST_VALUES:
        raise InvalidArgumentError(
            f"the shape {reprlib.repr(sizes)} has more than {_MOST_VALUES:,} values in one record"
        )
    return sizes


float32 = Column("float32")
int64 = Column("int64")
bytes_ = Column("bytes")
string = bytes_


def optional(column: Column) -> Column:
    """Returns the column with the default of a feature that records may lack: 0, b"" or an empty row."""
    return column.default(() if column.is_ragged else _EMPTY[column.dtype])


def ragged(column: Column) -> Column:
    """Returns a column with any number of values in each record: `hr.ragged(hr.float32)`.

    In a batch, the column is a `Ragged`.

    Raises:
        InvalidArgumentError: `column` is not one of `hr.float32`, `hr.int64` and `hr.bytes_`.
    """
    if not isinstance(column, Column):
        raise InvalidArgumentError(f"{column!r} is not a column; write hr.ragged(hr.float32), …")
    if column.stored is not column:
        raise InvalidArgumentError(
            f"{column!r} has one value of one shape in each record: it is never ragged"
        )
    rows = Column(column.dtype, None)
    if column.shape != ():
        raise InvalidArgumentError(f"a ragged column has no shape; instead of {column!r} write {rows!r}")
    if column.fill is not None:
        raise InvalidArgumentError(
            f"a missing row of a ragged column can only become an empty row; instead of {column!r} write "
            f"{rows!r}.default(())"
        )
    return rows
