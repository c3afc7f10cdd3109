"""The log of Weights & Biases' client: records in LevelDB's log format, each a message in the protobuf wire
format (core/internal/transactionlog, core/pkg/leveldb/record.go of wandb)."""

from __future__ import annotations

import pathlib
import struct
import zlib
from collections.abc import Iterator

from headrace._src.imports.source_run import Problem

Fields = dict[int, list[int | bytes]]

_MAGIC = b":W&B\xe1\xbe\x00"
_BLOCK_BYTES = 32768
_HEADER = struct.Struct("<IHB")  # CRC32 of type and content, size of the content, type
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_MOST_RECORD_BYTES = 64 << 20


def records(path: pathlib.Path) -> Iterator[bytes | None]:
    """The records of a log; None for each place where the log is truncated or damaged.

    After damage, reading continues with the next block, as in the client.
    """
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise Problem(f"{path} is not a log of wandb 0.10 or later")
        whole: list[bytes] | None = None  # pieces of the current record
        size = 0
        at = len(_MAGIC)
        while block := file.read(_BLOCK_BYTES - at % _BLOCK_BYTES):
            at += len(block)
            for kind, content in _pieces(block):
                size = len(content) if kind in (_FULL, _FIRST) else size + len(content)
                if kind in (_FULL, _FIRST):
                    if whole is not None:
                        yield None
                    whole = [content]
                elif whole is not None and kind in (_MIDDLE, _LAST) and size <= _MOST_RECORD_BYTES:
                    whole.append(content)
                else:
                    whole = None
                    yield None
                    continue
                if kind in (_FULL, _LAST):
                    yield b"".join(whole)
                    whole = None
        if whole is not None:
            yield None


def _pieces(block: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and content of each piece of a block; type 0 marks a damaged piece, which is the last."""
    at = 0
    while len(block) - at >= _HEADER.size:
        checksum, size, kind = _HEADER.unpack_from(block, at)
        if not checksum and not size and not kind:  # padding at the end of a block
            return
        content = block[at + _HEADER.size : at + _HEADER.size + size]
        if len(content) < size or zlib.crc32(bytes([kind]) + content) != checksum:
            yield 0, b""
            return
        yield kind, content
        at += _HEADER.size + size


def fields_of(message: bytes) -> Fields:
    """The fields of a message by number: integers, and contents of strings, messages and fixed sizes.

    For a truncated or damaged message, the fields before the damage.
    """
    fields: Fields = {}
    at = 0
    try:
        while at < len(message):
            tag, at = _varint(message, at)
            wire = tag & 7
            if wire == 0:
                value, at = _varint(message, at)
            elif wire in (1, 2, 5):
                size = {1: 8, 5: 4}.get(wire)
                if size is None:
                    size, at = _varint(message, at)
                if at + size > len(message):
                    break
                value, at = message[at : at + size], at + size
            else:
                break
            fields.setdefault(tag >> 3, []).append(value)
    except IndexError:
        pass
    return fields


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7
        if shift > 63:
            raise IndexError
