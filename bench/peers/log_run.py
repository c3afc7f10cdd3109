"""A run of hr.init that logs ten times a second for SECONDS, and the number of its requests:

python log_run.py ROOT KIND SECONDS

KIND: idle (only samples of the machine), log (two scalars a step), console (also a line a step) or media
(also a text every hundred steps).
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import time

import headrace as hr

STEPS_PER_S = 10


def main(root: str, kind: str, seconds: float) -> dict[str, float]:
    store = hr.store(root)
    seen = [store.counters()["requests_total"]]
    run = hr.init(root, run_id=kind, console=kind == "console")
    seen.append(store.counters()["requests_total"])
    end = time.monotonic() + seconds
    step = 0
    while time.monotonic() < end:
        if kind != "idle":
            run.log({"loss": 1 / (step + 1), "accuracy": 0.5}, step=step)
        if kind == "console":
            print("step", step)
        if kind == "media" and step % 100 == 0:
            run.log({"note": hr.Text(f"step {step}")}, step=step)
        step += 1
        time.sleep(1 / STEPS_PER_S)
    seen.append(store.counters()["requests_total"])
    run.finish()
    seen.append(store.counters()["requests_total"])
    start, during, finish = (after - before for before, after in zip(seen, seen[1:], strict=False))
    return {"start": start, "during": during, "finish": finish, "seconds": seconds}


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state  # so that it sends no journals of other runs
        measured = main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    print(json.dumps(measured))
