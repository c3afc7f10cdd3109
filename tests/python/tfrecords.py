"""TFRecord files of tf.Examples, written without TensorFlow: data that the tests of the loader know."""

import gzip
import pathlib
import struct
from collections.abc import Iterable

Example = dict[str, list]


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _feature(values: list) -> bytes:
    kind = type(values[0]) if values else int
    if kind is bytes:
        return _field(1, b"".join(_field(1, value) for value in values))
    if kind is float:
        return _field(2, _field(1, struct.pack(f"<{len(values)}f", *values)))
    return _field(3, _field(1, b"".join(map(_varint, values))))


def encode(example: Example) -> bytes:
    entries = (
        _field(1, _field(1, name.encode()) + _field(2, _feature(values))) for name, values in example.items()
    )
    return _field(1, b"".join(entries))


def frame(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return b"".join(
        [length, struct.pack("<I", masked_crc32c(length)), record, struct.pack("<I", masked_crc32c(record))]
    )


def write(path: pathlib.Path, examples: Iterable[Example], compress: bool = False) -> None:
    data = b"".join(frame(encode(example)) for example in examples)
    path.write_bytes(gzip.compress(data, mtime=0) if compress else data)


def numbered_example(number: int) -> Example:
    """Everything in it follows from `number`; "rare" is missing in two of three."""
    example = {
        "id": [b"record %d" % number],
        "number": [number],
        "vector": [number + 0.25, -float(number), 0.5],
        "pair": [number, -number],
        "tags": [number * 10 + i for i in range(number % 4)],
        "words": [b"w" * i for i in range(number % 3)],
    }
    if number % 3 == 0:
        example["rare"] = [number]
    return {name: values for name, values in example.items() if values}


def write_numbered(folder: pathlib.Path, count: int, shards: int = 4, compress: bool = False) -> pathlib.Path:
    """Records 0 … count − 1, one shard after another."""
    folder.mkdir(parents=True)
    for shard in range(shards):
        numbers = range(count * shard // shards, count * (shard + 1) // shards)
        write(folder / f"part-{shard:05}.tfrecord", map(numbered_example, numbers), compress)
    return folder
