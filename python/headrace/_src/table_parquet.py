"""Writes a table that a run has logged as Parquet, for `headrace runs export --table`.

python table_parquet.py table.csv table.parquet
"""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> None:
    """Converts the first file into the second. A column whose cells are all numbers or empty holds numbers;
    other columns hold texts."""
    try:
        from pyarrow import csv, parquet
    except ImportError:
        raise SystemExit("pyarrow, which writes Parquet, is not installed: pip install pyarrow") from None
    source, target = arguments
    convert = csv.ConvertOptions(null_values=[""], strings_can_be_null=False, timestamp_parsers=[])
    table = csv.read_csv(
        source, convert_options=convert, parse_options=csv.ParseOptions(newlines_in_values=True)
    )
    parquet.write_table(table, target, compression="zstd")


if __name__ == "__main__":
    main(sys.argv[1:])
