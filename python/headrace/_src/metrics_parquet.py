"""Writes a table of metrics as Parquet, for `headrace runs export`.

python metrics_parquet.py metrics.csv metrics.parquet
"""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> None:
    """Converts the first file into the second."""
    try:
        import pyarrow as pa
        from pyarrow import csv, parquet
    except ImportError:
        raise SystemExit("pyarrow, which writes Parquet, is not installed: pip install pyarrow") from None
    source, target = arguments
    schema = pa.schema(
        [
            ("run", pa.string()),
            ("rank", pa.int64()),
            ("metric", pa.string()),
            ("step", pa.int64()),
            ("time_us", pa.timestamp("us", tz="UTC")),
            ("value", pa.float64()),
        ]
    )
    read = schema.set(4, pa.field("time_us", pa.int64()))
    convert = csv.ConvertOptions(column_types=read, null_values=[], strings_can_be_null=False)
    parse = csv.ParseOptions(newlines_in_values=True)
    with (
        csv.open_csv(source, convert_options=convert, parse_options=parse) as batches,
        parquet.ParquetWriter(target, schema, compression="zstd") as writer,
    ):
        for batch in batches:
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))


if __name__ == "__main__":
    main(sys.argv[1:])
