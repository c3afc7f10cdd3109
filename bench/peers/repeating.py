"""A function that the programs here share: it times some work again and again, in their own process."""

import json
import os
import time
from collections.abc import Callable


def repeat(work: Callable[[], int], repeats: int, prepare: Callable[[], None] = lambda: None) -> None:
    """Does `work` once unmeasured, then `repeats` times, `prepare` before each, unmeasured; prints what the
    work returned (the records) and the seconds of each time: of the process and its children that have ended,
    user and system, and of the wall's clock."""
    prepare()
    records = work()
    cpu_s, wall_s = [], []
    for _ in range(repeats):
        prepare()
        before, start = os.times(), time.monotonic()
        assert work() == records
        after = os.times()
        cpu_s.append(sum(after[:4]) - sum(before[:4]))
        wall_s.append(time.monotonic() - start)
    print(json.dumps({"records": records, "cpu_s": cpu_s, "wall_s": wall_s}))
