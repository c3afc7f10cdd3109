"""Frames of rows on their way to a user's function and back: docs/formats/mapped-rows.md."""

from __future__ import annotations

import functools
import itertools
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

ROW, DROPPED, FAILED = range(3)
_MISSING, _BYTES, _REFERENCE, _FLOATS, _INT64S, _BYTE_STRINGS, _TEXT, _TEXTS = range(8)
_COLUMNS_MAX = 10_000


def decode(frame: bytes) -> Iterator[dict[str, Any]]:
    """The rows of a frame from Headrace."""
    rows, names, cells = struct.unpack_from("<3I", frame)
    at = 12 + rows

    def numbers(count: int) -> tuple[int, ...]:
        nonlocal at
        at += 4 * count
        return struct.unpack_from(f"<{count}I", frame, at - 4 * count)

    counts = numbers(rows)
    name_sizes = numbers(names)
    name_numbers = numbers(cells)
    kinds = frame[at : at + cells]
    at += cells
    sizes = numbers(cells)
    texts = []
    for size in name_sizes:
        texts.append(frame[at : at + size].decode("utf-8", "surrogateescape"))
        at += size
    ends = list(itertools.accumulate(sizes, initial=at))
    parts = map(frame.__getitem__, map(slice, ends, ends[1:]))
    values = iter([_DECODERS[kind](part) for kind, part in zip(kinds, parts, strict=True)])
    names_of_cells = map(texts.__getitem__, name_numbers)
    for count in counts:
        yield dict(zip(itertools.islice(names_of_cells, count), itertools.islice(values, count), strict=True))


def _decode_numbers(code: str, width: int, data: bytes) -> Any:
    if len(data) == width:
        return struct.unpack(f"<{code}", data)[0]
    import numpy as np

    return np.frombuffer(data, f"<{code}").copy()


def _decode_byte_strings(data: bytes) -> list[bytes]:
    values, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        at += 4 + size
        values.append(data[at - size : at])
    return values


_DECODERS: dict[int, Callable[[bytes], Any]] = {
    _MISSING: lambda data: None,
    _BYTES: bytes,
    _FLOATS: functools.partial(_decode_numbers, "f", 4),
    _INT64S: functools.partial(_decode_numbers, "q", 8),
    _BYTE_STRINGS: _decode_byte_strings,
    _TEXT: bytes.decode,
    _TEXTS: lambda data: [value.decode() for value in _decode_byte_strings(data)],
}


class Answers:
    """Collects the function's results until they are sent. A row that cannot be sent counts as failed."""

    def __init__(self, row_bytes_max: int) -> None:
        self._row_bytes_max = row_bytes_max
        self.clear()

    def clear(self) -> None:
        self._verdicts = bytearray()
        self._counts: list[int] = []
        self._names: dict[str, int] = {}
        self._shapes: dict[tuple[str, ...], list[int]] = {}  # names of a row's features → their numbers
        self._numbers: list[int] = []
        self._kinds = bytearray()
        self._data: list[bytes] = []
        self.size_bytes = 0

    def add_failed(self, detail: str) -> None:
        self._add(FAILED, ("",), bytes([_TEXT]), [detail.encode(errors="backslashreplace")])

    def add(self, features: Any) -> None:
        """Adds a result of the function."""
        if features is None:
            return self._add(DROPPED, (), b"", [])
        if not isinstance(features, Mapping):
            return self.add_failed(
                f"it returned {_type_name(features)}; it must return a dict of features, or None"
            )
        name: Any = ""
        try:
            shape = tuple(features)
            for name in shape if shape not in self._shapes else ():
                _check_name(name)
            kinds, data = bytearray(), []
            for name in shape:
                value = features[name]
                # Most values are text.
                kind, part = (_TEXT, value.encode()) if type(value) is str else _encode(value)
                kinds.append(kind)
                data.append(part)
        except (TypeError, ValueError, OverflowError) as error:
            return self.add_failed(f"{name!s}: {error}")
        if len(shape) > _COLUMNS_MAX:
            return self.add_failed(f"it returned {len(shape)} features; at most {_COLUMNS_MAX} are possible")
        if (size := sum(map(len, data))) > self._row_bytes_max:
            return self.add_failed(f"it returned {size} bytes; a row has at most {self._row_bytes_max}")
        return self._add(ROW, shape, kinds, data)

    def _add(self, verdict: int, shape: tuple[str, ...], kinds: bytes, data: list[bytes]) -> None:
        if shape not in self._shapes:
            self._shapes[shape] = [self._names.setdefault(name, len(self._names)) for name in shape]
        self._verdicts.append(verdict)
        self._counts.append(len(shape))
        self._numbers += self._shapes[shape]
        self._kinds += kinds
        self._data += data
        self.size_bytes += sum(map(len, data))

    def frame(self) -> bytes:
        """All rows since `clear`."""
        names = [name.encode("utf-8", "surrogateescape") for name in self._names]
        numbers = (*self._counts, *map(len, names), *self._numbers)
        rows, cells = len(self._counts), len(self._data)
        return b"".join(
            (
                struct.pack("<3I", rows, len(names), cells),
                self._verdicts,
                struct.pack(f"<{len(numbers)}I", *numbers),
                self._kinds,
                struct.pack(f"<{cells}I", *map(len, self._data)),
                *names,
                *self._data,
            )
        )

    def __len__(self) -> int:
        return len(self._counts)


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a feature is {_type_name(name)}; it must be str")
    name.encode("utf-8", "surrogateescape")


def _encode(value: Any) -> tuple[int, bytes]:
    """Kind and bytes of a value. \\raises TypeError, ValueError, OverflowError  what is wrong with it"""
    if value is None:
        return _MISSING, b""
    if isinstance(value, str):
        return _TEXT, value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _BYTES, bytes(value)
    if isinstance(value, int):
        return _int64s([value])
    if isinstance(value, float):
        return _FLOATS, _pack("f", [value])
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _array(numpy, value)
    if isinstance(value, (list, tuple)):
        return _list(value)
    raise TypeError(
        f"the value is {_type_name(value)}; only str, bytes, numbers, lists of these, and None can be stored"
    )


def _pack(code: str, numbers: Any) -> bytes:
    return struct.pack(f"<{len(numbers)}{code}", *numbers)


def _int64s(numbers: Any) -> tuple[int, bytes]:
    try:
        return _INT64S, _pack("q", numbers)
    except struct.error:
        raise ValueError("a whole number does not fit into 64 bits") from None


def _list(values: Any) -> tuple[int, bytes]:
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        values = [value.item() if isinstance(value, numpy.generic) else value for value in values]
    if values and all(isinstance(value, str) for value in values):
        return _byte_strings([value.encode() for value in values])
    if values and all(isinstance(value, bytes) for value in values):
        return _byte_strings(values)
    for value in values:
        if not isinstance(value, (int, float)):
            raise TypeError(
                f"a list contains {_type_name(value)}; only lists of numbers, of str or of bytes can be "
                "stored"
            )
    if all(isinstance(value, int) for value in values):
        return _int64s(values)
    return _FLOATS, _pack("f", values)


def _byte_strings(values: Iterable[bytes]) -> tuple[int, bytes]:
    return _BYTE_STRINGS, b"".join(struct.pack("<I", len(value)) + value for value in values)


def _array(numpy: Any, value: Any) -> tuple[int, bytes]:
    array = numpy.asarray(value)
    if array.dtype.kind in "bi":
        return _INT64S, array.astype("<i8").tobytes()
    if array.dtype.kind == "u":
        if array.size and array.max() > numpy.iinfo(numpy.int64).max:
            raise ValueError("a whole number does not fit into 64 bits")
        return _INT64S, array.astype("<i8").tobytes()
    if array.dtype.kind == "f":
        with numpy.errstate(over="ignore"):
            floats = array.astype("<f4")
        if not (numpy.isfinite(floats) == numpy.isfinite(array)).all():
            raise OverflowError("float too large to pack with f format")
        return _FLOATS, floats.tobytes()
    if array.dtype.kind in "OSU":
        return _list(array.ravel().tolist())
    raise TypeError(f"an array has the type {array.dtype}; only arrays of numbers or of texts can be stored")
