"""The logger of the package, "headrace", and the messages that the native module sends to it."""

from __future__ import annotations

import logging

logger = logging.getLogger("headrace")


def report_wait(activity: str) -> None:
    """Logs a warning. The native module calls this after every 30 s of waiting for one batch."""
    logger.warning("%s", activity)
