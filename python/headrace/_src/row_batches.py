"""Batches of rows from Python: frames, Arrow tables, queries and iterables of mappings. Rows that come one
after another are never all in memory."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace._src.arrow_batches import batches_of_arrow
from headrace._src.batch import MOST_BYTES, MOST_ROWS, Batch, names_of_columns
from headrace._src.pandas_columns import column_of_series
from headrace._src.staged_columns import column_of_objects
from headrace.errors import InvalidArgumentError

_NUMBER_BYTES = 8


@dataclass(frozen=True, eq=False)
class Query:
    """The rows that a query selects from a database. Get one from `headrace.query`."""

    connection: Any = field(repr=False)
    sql: str
    parameters: Any = ()


def query(connection: Any, sql: str, parameters: Any = ()) -> Query:
    """Rows of a SELECT, as a source of `headrace.prepare`; reads a few thousand rows at a time.

    Args:
        connection: a connection of any driver of Python's DB-API (sqlite3, psycopg, …). It stays open.
        sql: one statement. With ORDER BY, the rows, and therefore the dataset, are the same each time.
        parameters: values for the statement's placeholders, in the driver's style.
    """
    if not hasattr(connection, "cursor"):
        raise InvalidArgumentError(
            f"connection is {type(connection).__name__}; it must be a DB-API connection, such as "
            "sqlite3.connect returns"
        )
    return Query(connection, sql, parameters)


def is_rows(source: Any) -> bool:
    """Whether the source is rows in Python, not a URL or path."""
    return not isinstance(source, str | bytes | os.PathLike)


def batches_of(source: Any) -> Iterator[Batch]:
    """Batches of a frame, a table or stream of Arrow, a query or an iterable of mappings.

    Raises:
        InvalidArgumentError: the source is none of these, or a column has a kind that no record can hold.
    """
    if type(source).__name__ == "Series" and hasattr(source, "to_frame"):
        raise InvalidArgumentError("source is a Series, which is one column; give series.to_frame(), a frame")
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return _batches_of_pandas(source)
    if isinstance(source, Query):
        return _batches_of_query(source)
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return batches_of_arrow(source)
    if hasattr(source, "collect") and type(source).__module__.startswith("polars"):
        raise InvalidArgumentError("a LazyFrame has no rows yet; give frame.collect()")
    if isinstance(source, Mapping):
        raise InvalidArgumentError(
            f"source is {type(source).__name__}; for one row, put it into a list: [row]; for columns, give a "
            "frame: pandas.DataFrame(columns)"
        )
    if not isinstance(source, Iterable):
        raise InvalidArgumentError(
            f"source is {type(source).__name__}; it must be a URL or path, a frame, an Arrow table, "
            "headrace.query(…), or an iterable of mappings from column to value"
        )
    return _batches_of_mappings(source)


def _batches_of_pandas(frame: Any) -> Iterator[Batch]:
    names = names_of_columns(frame.columns)
    for begin in range(0, len(frame), MOST_ROWS):
        part = frame.iloc[begin : begin + MOST_ROWS]
        columns = [column_of_series(name, part.iloc[:, place], begin) for place, name in enumerate(names)]
        yield Batch(len(part), [column for column in columns if column is not None])


def _batches_of_query(asked: Query) -> Iterator[Batch]:
    cursor = asked.connection.cursor()
    try:
        cursor.execute(asked.sql, asked.parameters)
        if cursor.description is None:
            raise InvalidArgumentError(f"the statement returns no rows; it must be a SELECT: {asked.sql}")
        names = names_of_columns(column[0] for column in cursor.description)

        def by_column(rows: list[Any]) -> dict[str, Sequence[Any]]:
            return dict(zip(names, zip(*rows, strict=True), strict=True))

        yield from _gathered(_fetched(cursor), lambda row: row, by_column)
    finally:
        cursor.close()


def _fetched(cursor: Any) -> Iterator[Any]:
    while rows := cursor.fetchmany(1000):
        yield from rows


def _batches_of_mappings(source: Iterable[Any]) -> Iterator[Batch]:
    def checked() -> Iterator[Mapping[str, Any]]:
        for number, row in enumerate(source):
            if not isinstance(row, Mapping):
                raise InvalidArgumentError(
                    f"row {number + 1} is {type(row).__name__}; it must be a mapping from column to value, "
                    "such as {'age': 44, 'job': 'cook'}"
                )
            yield row

    def by_column(rows: list[Mapping[str, Any]]) -> dict[str, Sequence[Any]]:
        names = dict.fromkeys(itertools.chain.from_iterable(rows))
        if any(not isinstance(name, str) for name in names):
            wrong = next(name for name in names if not isinstance(name, str))
            raise InvalidArgumentError(f"a row has the key {wrong!r}; names of columns must be texts")
        return {name: [row.get(name) for row in rows] for name in names}

    return _gathered(checked(), lambda row: row.values(), by_column)


def _gathered(
    rows: Iterator[Any],
    values_of: Callable[[Any], Iterable[Any]],
    by_column: Callable[[list[Any]], Mapping[str, Sequence[Any]]],
) -> Iterator[Batch]:
    """Batches that are bounded in rows and in bytes."""
    done = 0
    for row in rows:
        held, size_bytes = [row], _size_bytes(values_of(row))
        while len(held) < MOST_ROWS and size_bytes < MOST_BYTES:
            following = next(rows, None)
            if following is None:
                break
            held.append(following)
            size_bytes += _size_bytes(values_of(following))
        columns = [column_of_objects(name, values, done) for name, values in by_column(held).items()]
        yield Batch(len(held), [column for column in columns if column is not None])
        done += len(held)


def _size_bytes(values: Iterable[Any]) -> int:
    size_bytes = 0
    for value in values:
        if isinstance(value, str | bytes | bytearray):
            size_bytes += len(value)
        elif hasattr(value, "nbytes"):
            size_bytes += value.nbytes
        elif isinstance(value, list | tuple):
            has_texts = len(value) and isinstance(value[0], str | bytes)
            size_bytes += _size_bytes(value) if has_texts else _NUMBER_BYTES * len(value)
        else:
            size_bytes += _NUMBER_BYTES
    return size_bytes
