"""Stages rows from Python as TFRecord files of tf.Examples below an output: docs/formats/plan.md, "Staged
rows"."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from headrace import _headrace
from headrace._src.batch import Batch
from headrace._src.store import Store
from headrace.errors import InvalidArgumentError

FOLDER = "_headrace/staged/"
PART_BYTES = 64 << 20
_DIGEST_DIGITS = 32


class _Part:
    """Rows in memory that will become one object."""

    def __init__(self, kind: str, first_row: int):
        self.kind, self.first_row, self.rows, self.size_bytes = kind, first_row, 0, 0
        self._pieces: list[bytes] = []
        self._digest = hashlib.sha256()

    def add(self, batch: Batch) -> None:
        piece = _headrace.encode_examples(batch.rows, list(batch.columns))
        self._digest.update(piece)
        self._pieces.append(piece)
        self.rows += batch.rows
        self.size_bytes += len(piece)

    @property
    def key(self) -> str:
        digest = self._digest.hexdigest()[:_DIGEST_DIGITS]
        return f"{FOLDER}{self.kind}-{self.first_row:012}-{digest}.tfrecord"

    def write(self, store: Store) -> None:
        with store.upload(self.key) as upload:
            for piece in self._pieces:
                upload.write(piece)


def stage_rows(
    store: Store, batches: Iterable[Batch], part_bytes: int = PART_BYTES, *, are_from_store: bool = False
) -> int:
    """Writes the missing parts, and removes parts of other rows. Returns the number of rows.

    Reuses the parts of a call that was killed, because their names contain the digests of their contents.
    Rows that come from a store (`are_from_store`) may not name local files; other rows come from this
    program. Memory: one part and one batch. Only one call at a time may write to an output.

    Raises:
        InvalidArgumentError: there are no rows.
    """
    there = {found.key: found.size_bytes for found in store.list(FOLDER)}
    staged: set[str] = set()

    def end(part: _Part) -> None:
        if there.get(part.key) != part.size_bytes:
            part.write(store)
        staged.add(part.key)

    kind = "stored-rows" if are_from_store else "rows"
    part = _Part(kind, 0)
    for batch in batches:
        part.add(batch)
        if part.size_bytes >= part_bytes:
            end(part)
            part = _Part(kind, part.first_row + part.rows)
    if part.rows:
        end(part)
    if not staged:
        raise InvalidArgumentError("the source has no rows")
    store.remove(*(there.keys() - staged))
    return part.first_row + part.rows


def remove_staged(store: Store) -> None:
    store.remove(*[found.key for found in store.list(FOLDER)])
