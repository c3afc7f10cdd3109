"""How a column is asked for: element type, shape of one record's value, what stands in for an absent one."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from headrace.errors import InvalidArgumentError

_MOST_VALUES = 2**31 - 1
# Of Python's values to what a column may be filled with.
_DEFAULT_TYPES = {"float32": (int, float), "int64": (int,), "bytes": (bytes,)}


@dataclasses.dataclass(frozen=True, repr=False)
class Column:
    """A column of a batch: `hr.float32[512]`, `hr.int64` (a scalar), `hr.ragged(hr.bytes_)`.

    Attributes:
        dtype: "float32", "int64" or "bytes".
        shape: of one record's value; `()` is a scalar. None: any number of values, another one in each
        record.
        fill: what stands where a record lacks the feature; None: that is an error.
    """

    dtype: str
    shape: tuple[int, ...] | None = ()
    fill: Any = None

    def __getitem__(self, sizes: int | tuple[int, ...]) -> Column:
        """The same element type in a fixed shape: `hr.float32[28, 28]`. Row-major, as in the record."""
        sizes = sizes if isinstance(sizes, tuple) else (sizes,)
        if not sizes or not all(isinstance(size, int) and size > 0 for size in sizes):
            raise InvalidArgumentError(f"a shape consists of positive sizes, not {sizes}")
        if math.prod(sizes) > _MOST_VALUES:
            raise InvalidArgumentError(f"{sizes} are more than {_MOST_VALUES:,} values in one record")
        return dataclasses.replace(self, shape=sizes)

    def default(self, value: Any) -> Column:
        """The same column, with `value` for each of its values where a record lacks the feature.

        Of a ragged column the only default is `()`: an empty row.
        """
        fits = value == () if self.is_ragged else isinstance(value, _DEFAULT_TYPES[self.dtype])
        if not fits or isinstance(value, bool):
            raise InvalidArgumentError(f"{value!r} is no default of {self!r}")
        return dataclasses.replace(self, fill=value)

    @property
    def is_ragged(self) -> bool:
        return self.shape is None

    @property
    def length(self) -> int | None:
        """Values in one record; None for a ragged column."""
        return None if self.shape is None else math.prod(self.shape)

    def __repr__(self) -> str:
        name = f"hr.{'bytes_' if self.dtype == 'bytes' else self.dtype}"
        if self.shape is None:
            name = f"hr.ragged({name})"
        elif self.shape:
            name += f"[{', '.join(map(str, self.shape))}]"
        return name if self.fill is None else f"{name}.default({self.fill!r})"


float32 = Column("float32")
int64 = Column("int64")
bytes_ = Column("bytes")


def ragged(column: Column) -> Column:
    """A column with any number of values in each record: `hr.ragged(hr.float32)`."""
    if column.shape != ():
        raise InvalidArgumentError(f"a ragged column is made of single values, not of {column!r}")
    return dataclasses.replace(column, shape=None)
