"""Tables as JSON: docs/formats/event-file.md, "Tables"."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.errors import InvalidArgumentError

MOST_COLUMNS = 1000
MOST_BYTES = 8 << 20


def encoded(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns the JSON of a table.

    Raises:
        InvalidArgumentError: a name is not a text or occurs twice, a row has the wrong number of cells, a
            cell is not a number, a text, a bool or None, or the table is too large.
    """
    names = list(columns)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InvalidArgumentError(f"names of columns must be texts, and each must be unique: {names[:10]}")
    if not 0 < len(names) <= MOST_COLUMNS:
        raise InvalidArgumentError(f"the table has {len(names)} columns; it must have 1 to {MOST_COLUMNS}")
    pieces: list[str] = []
    size = 0
    for number, row in enumerate(rows):
        if len(row) != len(names):
            raise InvalidArgumentError(
                f"row {number} has {len(row)} cells, but there are {len(names)} columns"
            )
        if sum(len(value) for value in row if isinstance(value, str)) > MOST_BYTES:
            raise _too_large()
        cells = [_cell(value, number, name) for value, name in zip(row, names, strict=True)]
        pieces.append(json.dumps(cells, separators=(",", ":")))
        size += len(pieces[-1]) + 1
        if size > MOST_BYTES:  # stop before reading more of a huge table
            raise _too_large()
    head = json.dumps(names, separators=(",", ":"))
    if len(head) + size > MOST_BYTES - 100:
        raise _too_large()
    return f'{{"columns":{head},"rows":[{",".join(pieces)}]}}'


def _too_large() -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the table has more than {MOST_BYTES} bytes: log it as an artifact, or log a part of it"
    )


def _cell(value: Any, row: int, column: str) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if type(value).__name__ in ("bool_", "bool"):  # NumPy's booleans
        return bool(value)
    if isinstance(value, numbers.Integral) and -(2**63) <= int(value) < 2**64:
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        if math.isfinite(number):
            return number
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    raise InvalidArgumentError(
        f"row {row}, column {column} is a {type(value).__name__}: cells must be numbers, texts, bools or None"
    )
