"""The logger of the package, "headrace", and what the native module has it say."""

from __future__ import annotations

import logging

logger = logging.getLogger("headrace")


def report_wait(activity: str) -> None:
    """Logs a warning. The native module calls this after each 30 s in which it waited for one batch."""
    logger.warning("%s", activity)
