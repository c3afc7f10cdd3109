"""`--runner ray`: tasks of a plan as tasks of Ray. Tasks are retried after the loss of a node and after
temporary faults of the store."""

from __future__ import annotations

import json
import os
import signal
import sys

from headrace._src.runners.tasks import Plan, TaskError, TransientTaskError, main, run_phases


def _execute(numbers: list[int], url: str, options: tuple[str, ...]) -> None:
    # Imported on the machine that runs the task, so that a machine without the package reports that.
    from headrace._src.runners.tasks import execute

    execute(numbers, url, options)


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _run(plan: Plan, target: str, options: dict[str, str]) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    environment = {
        name.removeprefix("runtime_env."): _value(options.pop(name))
        for name in list(options)
        if name.startswith("runtime_env.")
    }
    task = {
        "num_cpus": float(options.pop("num_cpus", "1")),
        "max_retries": int(options.pop("max_retries", "5")),
        "retry_exceptions": [TransientTaskError],
    }
    if options:
        known = "num_cpus, max_retries and runtime_env.KEY"
        raise TaskError(f"--runner-option {next(iter(options))} is not known; the options are {known}")
    # Without an address: RAY_ADDRESS, otherwise the cluster of this machine, otherwise a new one for this
    # job.
    ray.init(
        address=target or None, runtime_env=environment or None, log_to_driver=False, logging_level="ERROR"
    )
    remote = ray.remote(**task)(_execute)

    def run_groups(groups: list[list[int]]) -> None:
        pending = [remote.remote(group, plan.url, plan.options) for group in groups]
        try:
            while pending:
                done, pending = ray.wait(pending)
                ray.get(done)
        finally:
            for left in pending:
                ray.cancel(left)

    try:
        run_phases(plan, run_groups)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that child processes are ended
    sys.exit(main("ray", "ray", _run))
