"""Reads and writes caches and tables of Apache Ignite 2.

    import headrace as hr

    for row in hr.ignite.dataset("KITTENS", "localhost:10800"):
        print(row)                    # {'key': 1, 'val': {'NAME': 'WARM KITTY', 'VAL': 1}}
    for row in hr.ignite.query("SELECT NAME FROM KITTENS WHERE VAL > ?", [1], "localhost:10800"):
        print(row)                    # {'NAME': 'SOFT KITTY'}
    hr.ignite.put_all("KITTENS", {4: {"NAME": "SHY KITTY", "VAL": 4}}, value_type="Kitten")

Values are None, bool, int, float, str, `bytes` (a byte[]), numpy's arrays (of other numbers and bools),
`uuid.UUID`, `decimal.Decimal`, lists and dicts. A date, time or timestamp is an int, milliseconds since 1970
in UTC; an enum is its ordinal.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from headrace import _headrace
from headrace._src.ignite_cache import Cache
from headrace.errors import InvalidArgumentError

__all__ = ["Cache", "dataset", "examples", "put_all", "query", "write_rows"]

_Row = TypeVar("_Row")
_TLS_KEYS = ("cafile", "certfile", "keyfile", "password")


def dataset(
    cache: str,
    addresses: str | Iterable[str] = "localhost:10800",
    *,
    partitions: Iterable[int] | str = (),
    username: str = "",
    password: str = "",
    tls: bool | Mapping[str, str] = False,
    discover: bool = True,
) -> Cache:
    """A cache to read. `for row in …` gives every row once, as `{"key": …, "val": …}`; an object is a dict
    with the names of its fields. `.loader(batch_size=…)` gives batches for training, and `.snapshot()` a
    Dataset.

    `addresses` are some of the cluster's nodes ("host:port"); each partition is read from the node that owns
    it. `partitions` restricts reading to those numbers, or to "local": those that the node at the first
    address owns; partitions come in no fixed order. If a node is lost, reading continues at its backups. The
    variables IGNITE_DATASET_HOST and IGNITE_DATASET_PORT replace `addresses`, and IGNITE_DATASET_PART
    ("local", "7", "0-255,300") selects among the partitions, so that one script reads on each worker the
    partitions of its node. `tls` encrypts connections: True, or a dict with the paths of PEM files: "cafile"
    (of the authority), "certfile" and "keyfile" (this client's), and the "password" of the key.
    `discover=False` uses only the given addresses, for nodes behind a proxy, in containers or the like.

    Raises an error of `headrace.errors`: `NotFoundError` if there is no such cache, `UnavailableError` if no
    node answers, `UnauthenticatedError` if the user is refused. Iterating takes some 20 MB for pages that are
    read ahead, and memory for the current rows.
    """
    cluster = _connect(_addresses_of_worker(addresses), username, password, tls, discover)
    return Cache(cluster, cache, _chosen(cluster, cache, partitions))


def examples(
    cache: str,
    addresses: str | Iterable[str] = "localhost:10800",
    *,
    columns: Iterable[str] = (),
    partitions: Iterable[int] | str = (),
    username: str = "",
    password: str = "",
    tls: bool | Mapping[str, str] = False,
    discover: bool = True,
) -> Iterator[bytes]:
    """Yields every row of a cache once, as a serialized tf.Example, for `tf.io.parse_example` and `tf.data`.

    A feature is named by the path to it: "key", "val", "val.NAME", "val.metadata.label". Integers, bools,
    chars, enums (ordinals) and dates (milliseconds) are int64; float and double are float; strings, byte[],
    UUIDs and decimals are bytes; arrays and collections of these are lists; a null is left out. `columns`
    selects features: "val.metadata" means all below it. Without `columns`, all are taken.

    Raises what `dataset` raises; and `InvalidArgumentError`, which names the field, if a selected field
    cannot become a feature, such as a map or a list of objects.
    """
    cluster = _connect(_addresses_of_worker(addresses), username, password, tls, discover)
    rows = cluster.scan(cache, _chosen(cluster, cache, partitions))
    wanted = list(columns)
    return _all(lambda: rows.next_examples(wanted))


def query(
    sql: str,
    arguments: Iterable[object] = (),
    addresses: str | Iterable[str] = "localhost:10800",
    *,
    schema: str = "",
    page_rows: int = 64,
    username: str = "",
    password: str = "",
    tls: bool | Mapping[str, str] = False,
    discover: bool = True,
) -> Iterator[dict[str, Any]]:
    """Runs a statement, and yields its rows as dicts by column; other options are those of `dataset`.

    `arguments` replace the "?" of the statement: None, bool, int, float, str, bytes or `uuid.UUID`. Names
    without a schema are looked up in `schema` ("PUBLIC" if empty). The statement runs when this is called.
    INSERT, UPDATE and the like yield one row that says how many rows changed. `page_rows` rows are fetched at
    once, in a message of at most 512 MiB.

    Raises an error of `headrace.errors`, with the server's words if it refuses the statement;
    `InvalidArgumentError` if two columns have the same name.
    """
    cluster = _connect(addresses, username, password, tls, discover)
    return _all(cluster.query(sql, arguments, schema, page_rows, False).next_page)


def put_all(
    cache: str,
    entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
    addresses: str | Iterable[str] = "localhost:10800",
    *,
    value_type: str = "",
    create: bool = False,
    username: str = "",
    password: str = "",
    tls: bool | Mapping[str, str] = False,
    discover: bool = True,
) -> int:
    """Puts entries, pairs of key and value, into a cache, and returns how many; other options are those of
    `dataset`. An entry replaces the entry with the same key, so the call is idempotent.

    A key is a bool, int, float, str, bytes or `uuid.UUID`; Ignite distinguishes 1 (a long) from 1.0. A value
    may also be an array of numpy's with one dimension, a list, or a dict: an object of the type `value_type`
    with those fields. A dict in a field `f` of that object becomes an object of the type "`value_type`.f".
    `create` creates a partitioned cache without backups, if the cache does not exist.

    Entries go in batches of about 1 MiB. After an error, entries that were already put stay. Raises an error
    of `headrace.errors`, as `dataset`; `InvalidArgumentError` for a value of another type.
    """
    cluster = _connect(addresses, username, password, tls, discover)
    pairs = entries.items() if isinstance(entries, Mapping) else entries
    return cluster.put_all(cache, pairs, value_type, create)


def write_rows(
    table: str,
    rows: Iterable[Mapping[str, Any]],
    addresses: str | Iterable[str] = "localhost:10800",
    *,
    schema: str = "",
    batch_rows: int = 256,
    username: str = "",
    password: str = "",
    tls: bool | Mapping[str, str] = False,
    discover: bool = True,
) -> int:
    """Writes rows, mappings of column to value, into an SQL table, and returns how many; other options are
    those of `query`. A row replaces the row with the same primary key (MERGE), so the call is idempotent.

    All rows have the columns of the first. Names of columns and of the table count as upper case, as in SQL,
    unless they are in double quotes. `batch_rows` rows are sent at once. After an error, rows that were
    already written stay.

    Raises an error of `headrace.errors`, as `query`; `InvalidArgumentError` if a row has other columns.
    """
    if batch_rows < 1:
        raise InvalidArgumentError(f"batch_rows is {batch_rows}; give 1 or more")
    cluster = _connect(addresses, username, password, tls, discover)
    source = iter(rows)
    columns: list[str] = []
    count = 0
    while batch := list(itertools.islice(source, batch_rows)):
        columns = columns or list(batch[0])
        _merge(cluster, table, columns, batch, schema)
        count += len(batch)
    return count


def _merge(
    cluster: _headrace.IgniteCluster,
    table: str,
    columns: list[str],
    rows: list[Mapping[str, Any]],
    schema: str,
) -> None:
    for row in rows:
        if row.keys() != set(columns):
            raise InvalidArgumentError(
                f"a row has the columns {sorted(row)}, but the first row has {sorted(columns)}"
            )
    names = ", ".join(map(_identifier, columns))
    marks = ", ".join(["(" + ", ".join("?" * len(columns)) + ")"] * len(rows))
    values = [row[column] for row in rows for column in columns]
    statement = f"MERGE INTO {_identifier(table)} ({names}) VALUES {marks}"
    cluster.query(statement, values, schema, len(rows), True)  # a node writes a page of rows at once


def _identifier(name: str) -> str:
    if re.fullmatch(r'"[^"]+"', name):
        return name
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InvalidArgumentError(
            f"{name!r} is not a name in SQL; a name with characters other than letters, digits and _ needs "
            "double quotes"
        )
    return f'"{name.upper()}"'


def _addresses_of_worker(addresses: str | Iterable[str]) -> str | Iterable[str]:
    host, port = os.environ.get("IGNITE_DATASET_HOST"), os.environ.get("IGNITE_DATASET_PORT")
    return f"{host or 'localhost'}:{port or 10800}" if host or port else addresses


def _chosen(cluster: _headrace.IgniteCluster, cache: str, partitions: Iterable[int] | str) -> list[int]:
    """The numbers of the partitions that this worker reads; empty means all."""
    chosen = _own(cluster, cache, partitions) if isinstance(partitions, str) else list(partitions)
    part = os.environ.get("IGNITE_DATASET_PART")
    if not part:
        return chosen
    own = _own(cluster, cache, part)
    kept = [number for number in own if number in set(chosen)] if chosen else own
    if not kept:
        raise InvalidArgumentError(
            f"IGNITE_DATASET_PART is {part!r}, which selects none of the wanted partitions"
        )
    return kept


def _own(cluster: _headrace.IgniteCluster, cache: str, text: str) -> list[int]:
    if text.strip() == "local":
        return cluster.local_partitions(cache)
    return [number for numbers in text.split(",") for number in _numbers(numbers)]


def _numbers(text: str) -> range:
    """The numbers that "7" or "0-255" names."""
    first, dash, last = text.strip().partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise InvalidArgumentError(
            f"partitions is {text!r}; it must be 'local', or numbers such as 0-255,300"
        )
    return range(int(first), int(last if dash else first) + 1)


def _connect(
    addresses: str | Iterable[str],
    username: str,
    password: str,
    tls: bool | Mapping[str, str],
    discover: bool,
) -> _headrace.IgniteCluster:
    files = tls if isinstance(tls, Mapping) else {}
    if unknown := files.keys() - _TLS_KEYS:
        raise InvalidArgumentError(f"tls has no key {min(unknown)!r}; its keys are {', '.join(_TLS_KEYS)}")
    listed = [addresses] if isinstance(addresses, str) else list(addresses)
    encrypted = tls is True or isinstance(tls, Mapping)
    words = [files.get(key, "") for key in _TLS_KEYS]
    return _headrace.IgniteCluster(listed, username, password, encrypted, *words, discover)


def _all(next_page: Callable[[], list[_Row] | None]) -> Iterator[_Row]:
    while (page := next_page()) is not None:
        yield from page
