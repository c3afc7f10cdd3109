"""`--runner beam:RUNNER`: tasks of a plan as elements of a pipeline of Apache Beam."""

from __future__ import annotations

import os
import sys

from headrace._src.runners.tasks import Plan, execute, main, run_phases

_DIRECT = ("", "DirectRunner", "FnApiRunner")


def _direct_runner():
    # Named explicitly, because DirectRunner may choose Prism, which has to be downloaded.
    from apache_beam.runners.portability.fn_api_runner import FnApiRunner

    return FnApiRunner()


def _run_pipelines(plan: Plan, target: str, options: dict[str, str]) -> None:
    import apache_beam
    from apache_beam.options.pipeline_options import PipelineOptions

    flags = [f"--{name}={value}" for name, value in options.items()]

    def run_groups(groups: list[list[int]]) -> None:
        runner = _direct_runner() if target in _DIRECT else target
        with apache_beam.Pipeline(runner=runner, options=PipelineOptions(flags)) as pipeline:
            (
                pipeline
                | "tasks" >> apache_beam.Create(groups)
                | "spread" >> apache_beam.Reshuffle()
                | "execute" >> apache_beam.Map(execute, url=plan.url, options=plan.options)
            )

    run_phases(plan, run_groups)


def _run(plan: Plan, target: str, options: dict[str, str]) -> None:
    if target not in _DIRECT:
        return _run_pipelines(plan, target, options)
    # Threads are enough, because each only waits for a program. Beam raises an error and also prints it at
    # length, from threads that may outlive the pipeline, so stderr is closed for the rest of this process.
    options = {"direct_running_mode": "multi_threading", "direct_num_workers": "0", **options}
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return _run_pipelines(plan, target, options)


if __name__ == "__main__":
    sys.exit(main("beam", "apache_beam", _run))
