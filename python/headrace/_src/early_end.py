"""Handles a pass over a loader that ends before the length that tf.data was told."""

from __future__ import annotations

import threading

_MOST_SECONDS = 5.0


class EarlyEnd:
    """Whether a pass has ended early, and its iterator has not asked for the next pass yet.

    tf.data repeats passes, and ends when a pass is empty. So the pass after an early end must be empty. A
    thread of TensorFlow requests that pass at once, but it may stall while the next epoch begins. Therefore
    code that begins a pass first waits in `settle`; otherwise its own pass would be the empty one.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_pending = False

    def announce(self) -> None:
        """Records that a pass has ended early: the next `take` returns True."""
        with self._changed:
            self._is_pending = True

    def take(self) -> bool:
        """Whether the pass that begins must be empty. Call this once for each pass."""
        with self._changed:
            was_pending, self._is_pending = self._is_pending, False
            self._changed.notify_all()
        return was_pending

    def settle(self) -> None:
        """Waits until the empty pass has been requested, at most 5 seconds, because its iterator may have
        been destroyed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_pending, _MOST_SECONDS)
            self._is_pending = False
