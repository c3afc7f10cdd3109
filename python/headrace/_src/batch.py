"""Batches of rows, by columns, which every source of rows produces; and the limits of their size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace._src.staged_columns import StagedColumn
from headrace.errors import InvalidArgumentError

MOST_ROWS = 16_384
MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class Batch:
    """Some rows, by columns. A row may have no value in a column."""

    rows: int
    columns: Sequence[StagedColumn]


def names_of_columns(columns: Iterable[Any]) -> list[str]:
    """The names as str, in order. Raises InvalidArgumentError if two are equal."""
    names = [str(name) for name in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgumentError(f"two columns have the name {twice}; rename one of them")
    return names
