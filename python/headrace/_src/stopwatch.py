"""Adds up how long something took."""

from __future__ import annotations

import time


class Stopwatch:
    """`with stopwatch:` adds the seconds of the block. One thread at a time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = 0.0

    def __enter__(self) -> None:
        self._since = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._since
