"""Columns whose size varies from row to row: flat values, and offsets that say where each row begins."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError


def _index(place: Any, rows: int) -> int:
    """The index of a row; a negative `place` counts from the end."""
    number = operator.index(place)
    if not -rows <= number < rows:
        raise IndexError(f"row {number} of {rows}")
    return number % rows


def _bounds(place: slice, rows: int) -> tuple[int, int]:
    start, stop, step = place.indices(rows)
    if step != 1:
        raise InvalidArgumentError(f"rows can be sliced only with a step of 1, not {step}")
    return start, max(start, stop)


class Ragged:
    """A column with any number of values in each row. It is a view and keeps the batch's memory alive.

    `ragged[r]` is row r, `values[offsets[r]:offsets[r + 1]]`, without a copy. `ragged[a:b]` is a Ragged of
    those rows, which shares the values. A slice's step is 1.

    Attributes:
        values: the values of all rows, one row after another: an int64 or float32 array [values], or Strings.
        offsets: int64 array [rows + 1], ascending from 0.

    Raises:
        IndexError: there is no such row. InvalidArgumentError: a slice has another step than 1.
    """

    __slots__ = ("offsets", "values")

    def __init__(self, values: Any, offsets: Any):
        self.values = values
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            start, stop = _bounds(place, len(self))
            first, last = self.offsets[start], self.offsets[stop]
            return Ragged(self.values[first:last], self.offsets[start : stop + 1] - first)
        row = _index(place, len(self))
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def tolist(self) -> list[list]:
        return [row.tolist() for row in self]

    def __repr__(self) -> str:
        return f"<headrace.Ragged: {len(self)} rows, {len(self.values)} values>"


class Strings:
    """A column of byte strings. It is a view and keeps the batch's memory alive.

    String i, in row-major order, is `data[offsets[i]:offsets[i + 1]]`; `strings[i]` copies it into a `bytes`.
    `strings[a:b]` is a Strings of those rows, which shares the bytes. `strings[mask]` and `strings[rows]`,
    for a list of rows, are arrays of `bytes` objects; so is `np.asarray(strings)`.

    Attributes:
        data: uint8 array [bytes]: all strings, one after another.
        offsets: int64 array [strings + 1], ascending. It begins at 0, unless this is a slice.
        shape: (rows,), or (rows, …) if a row has several strings.

    Raises:
        IndexError: there is no such row. InvalidArgumentError: a slice has another step than 1.
    """

    __slots__ = ("data", "offsets", "shape")

    def __init__(self, data: np.ndarray, offsets: np.ndarray, shape: tuple[int, ...]):
        self.data = data
        self.offsets = offsets
        self.shape = shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, place: int | slice | np.ndarray | list) -> Any:
        inner = math.prod(self.shape[1:])
        if isinstance(place, slice):
            start, stop = _bounds(place, len(self))
            offsets = self.offsets[start * inner : stop * inner + 1]
            return Strings(self.data, offsets, (stop - start, *self.shape[1:]))
        if isinstance(place, np.ndarray | list):
            return np.asarray(self)[place]
        place = _index(place, len(self))
        if len(self.shape) > 1:
            offsets = self.offsets[place * inner : (place + 1) * inner + 1]
            return Strings(self.data, offsets, self.shape[1:])
        return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def tolist(self) -> list:
        """Returns lists of `bytes`, nested as `shape` says."""
        return [item.tolist() if isinstance(item, Strings) else item for item in self]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Returns an array of `bytes` objects, which is a copy."""
        if copy is False:
            raise ValueError("an array of bytes objects is a copy")
        flat = np.empty(math.prod(self.shape), dtype=object)
        flat[:] = [self.data[a:b].tobytes() for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]
        return flat.reshape(self.shape)

    def __repr__(self) -> str:
        return f"<headrace.Strings: shape {self.shape}, {int(self.offsets[-1] - self.offsets[0]):,} bytes>"
