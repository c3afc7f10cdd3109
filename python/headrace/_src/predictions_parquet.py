"""Writes a table of predictions as Parquet, for `headrace predict --format parquet`.

    python predictions_parquet.py answers.csv answers.parquet types.json
    python predictions_parquet.py                  # only checks whether pyarrow is installed

types.json has each column's type: "string", "int64" or "float32"; or a list with one of these, for cells that
hold a list, or its only value, as JSON. An empty cell is null. docs/formats/predictions.md has the columns.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

_BLOCK_BYTES = 16 << 20


def _list(cell: str) -> list:
    value = json.loads(cell)
    return value if isinstance(value, list) else [value]


def main(arguments: list[str]) -> None:
    """Converts the first file into the second."""
    try:
        import pyarrow as pa
        from pyarrow import csv, parquet
    except ImportError:
        raise SystemExit("pyarrow, which writes Parquet, is not installed: pip install pyarrow") from None
    if not arguments:
        return
    source, target, described = arguments
    types = json.loads(Path(described).read_text(encoding="utf-8"))
    known = {"string": pa.string(), "int64": pa.int64(), "float32": pa.float32()}
    lists = {f"list<{name}>": pa.list_(of) for name, of in known.items()}
    read = {name: known.get(of, pa.string()) for name, of in types.items()}
    convert = csv.ConvertOptions(column_types=read, strings_can_be_null=True, null_values=[""])
    rows = csv.open_csv(
        source,
        read_options=csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=convert,
    )
    names = rows.schema.names
    schema = pa.schema([(name, lists.get(types[name], read[name])) for name in names])
    with parquet.ParquetWriter(target, schema, compression="zstd") as writer:
        for batch in rows:
            columns = [
                pa.array([_list(cell) for cell in column.to_pylist()], schema.field(name).type)
                if types[name] in lists
                else column
                for name, column in zip(names, batch.columns, strict=True)
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))


if __name__ == "__main__":
    main(sys.argv[1:])
