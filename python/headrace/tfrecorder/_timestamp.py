"""The time in the names of new folders."""

import datetime


def timestamp() -> str:
    """The local time, to the microsecond: two calls in one second get folders of their own."""
    return datetime.datetime.now().strftime("%Y%m%d-%H%M%S-%f")
