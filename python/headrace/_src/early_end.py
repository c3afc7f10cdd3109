"""The end of a pass over a loader before the length that tf.data was told."""

from __future__ import annotations

import threading

_MOST_SECONDS = 5.0


class EarlyEnd:
    """Whether a pass has ended early, and its iterator has not asked for the next pass yet.

    tf.data repeats passes, and ends when a pass is empty. So the pass that is asked for after an early end is
    empty. A thread of TensorFlow asks for it at once, but may be stalled in between, while the next epoch
    begins: whoever begins a pass waits by `settle`, or that pass would be the empty one.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_pending = False

    def announce(self) -> None:
        """A pass has ended early: the next `take` is true."""
        with self._changed:
            self._is_pending = True

    def take(self) -> bool:
        """Whether the pass that begins has to be empty. It is asked once for each pass."""
        with self._changed:
            was_pending, self._is_pending = self._is_pending, False
            self._changed.notify_all()
        return was_pending

    def settle(self) -> None:
        """Waits until the empty pass has been asked for; for 5 seconds at most, since its iterator may have
        been destroyed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_pending, _MOST_SECONDS)
            self._is_pending = False
