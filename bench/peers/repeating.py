"""A function that the programs here share: times some work repeatedly in their own process."""

import json
import os
import time
from collections.abc import Callable


def repeat(work: Callable[[], int], repeats: int, prepare: Callable[[], None] = lambda: None) -> None:
    """Does `work` once unmeasured, then `repeats` times; calls `prepare` before each, unmeasured. Prints the
    result of the work (the records) and the seconds of each repeat: user and system time of the process and
    its ended children, and wall time."""
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
