"""Metrics of a loader that a run logs, to show where the time of training goes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace._src.loader import Loader


class LoaderMetrics:
    """Each call returns name → value for the time since the previous call, or since this object was made.

    `input_percent`, `hand_over_percent` and `compute_percent` divide the time into waiting for batches,
    converting them to tensors, and the rest, which is training.
    """

    def __init__(self, loader: Loader, name: str):
        self._loader = loader
        self._name = name
        self._at, self._before = time.monotonic(), loader.stats()

    def __call__(self) -> dict[str, float]:
        at, now = time.monotonic(), self._loader.stats()
        before, passed = self._before, max(at - self._at, 1e-9)
        self._at, self._before = at, now
        waited = min(100 * (now.wait_seconds - before.wait_seconds) / passed, 100.0)
        handed = min(100 * (now.hand_over_seconds - before.hand_over_seconds) / passed, 100.0 - waited)
        values = {
            "input_percent": waited,
            "hand_over_percent": handed,
            "compute_percent": 100.0 - waited - handed,
            "records_per_s": (now.records - before.records) / passed,
            "fetched_bytes_per_s": (now.fetched_bytes - before.fetched_bytes) / passed,
            "ready_batches": float(now.ready_batches),
        }
        return {f"{self._name}/{key}": value for key, value in values.items()}
