"""Writes the report of a dataset as Parquet, for `headrace inspect --parquet`.

    python report_parquet.py report.jsonl report.parquet

The columns are those of docs/formats/plan.md, "Report"; members that a line lacks are null.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice

_TEXTS = ("id", "status", "reason", "detail", "source")
_NUMBERS = ("row", "height", "width", "channels")
_ROWS_AT_ONCE = 65_536


def _batches(path: str) -> Iterator[list[dict]]:
    with open(path, encoding="utf-8", newline="\n") as lines:
        while rows := [json.loads(line) for line in islice(lines, _ROWS_AT_ONCE)]:
            yield rows


def main(arguments: list[str]) -> None:
    """Converts the first file into the second."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise SystemExit("pyarrow, which writes Parquet, is not installed: pip install pyarrow") from None
    source, target = arguments
    schema = pa.schema(
        [*((name, pa.string()) for name in _TEXTS), *((name, pa.int64()) for name in _NUMBERS)]
    )
    with parquet.ParquetWriter(target, schema, compression="zstd") as writer:
        for rows in _batches(source):
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


if __name__ == "__main__":
    main(sys.argv[1:])
