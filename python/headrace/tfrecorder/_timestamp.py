"""The time in the names of new folders."""

import datetime


def timestamp() -> str:
    """The local time, to the microsecond, so that two calls in one second get different folders."""
    return datetime.datetime.now().strftime("%Y%m%d-%H%M%S-%f")
