"""Scans the records of a TFRecord file as an array_record file:

    python scan_array_record.py FILE GROUP REPEATS

The file is written once, beside FILE, uncompressed, GROUP records to a chunk, each chunk with a checksum.
"""

import pathlib
import struct
import sys
from collections.abc import Iterator

from array_record.python import array_record_module
from repeating import repeat

READ_BYTES = 10 << 20


def records_of(file: pathlib.Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while header := stream.read(12):
            (size,) = struct.unpack("<Q", header[:8])
            yield stream.read(size)
            stream.seek(4, 1)


def write(file: pathlib.Path, group: str) -> pathlib.Path:
    target = file.with_suffix(f".{group}.array_record")
    if not target.exists():
        writing = target.with_suffix(".writing")
        writer = array_record_module.ArrayRecordWriter(str(writing), f"group_size:{group},uncompressed")
        for record in records_of(file):
            writer.write(record)
        writer.close()
        writing.rename(target)
    return target


def main() -> None:
    file, group, repeats = sys.argv[1:]
    target = write(pathlib.Path(file), group)

    def work() -> int:
        reader = array_record_module.ArrayRecordReader(str(target))
        count = reader.num_records()
        step = max(1, READ_BYTES * count // target.stat().st_size)
        records = sum(len(reader.read(i, min(i + step, count))) for i in range(0, count, step))
        reader.close()
        return records

    repeat(work, int(repeats))


if __name__ == "__main__":
    main()
