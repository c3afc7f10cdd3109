"""Times `headrace prepare` and similar commands from start to exit, and until their output is on disk."""

import json
import pathlib
import shutil
import subprocess
import time

from . import cores, headrace, median, run


def prepare(
    source,
    target: pathlib.Path,
    records: int,
    *options,
    on: list[int] | None = None,
    watch_memory: bool = False,
) -> dict:
    """Prepares `records` rows into the folder `target`, which is removed first."""
    command = [headrace(), "prepare", source, target, "--json", "--quiet", *options]
    answer = time_command(command, target, records, on, watch_memory)
    counts = answer.pop("output")["counts"]
    assert counts["written"] == records, counts
    return answer


def time_command(
    command: list, target: pathlib.Path, records: int, on: list[int] | None = None, watch_memory: bool = False
) -> dict:
    """Measures the command; returns the peers' format of answers, with the JSON that the command printed. The
    command writes `target`, a folder or a file, which is removed first.
    """
    if target.is_dir():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    sync(target.parent)
    done = run(command, on or cores(), watch_memory)
    start = time.monotonic()
    sync(target.parent)
    wall_s = done.wall_s + time.monotonic() - start
    output = json.loads(done.output) if done.output else None
    answer = {"records": records, "cpu_s": [done.cpu_s], "wall_s": [wall_s], "output": output}
    return answer | ({"anonymous_bytes": done.anonymous_bytes} if watch_memory else {})


def sync(folder: pathlib.Path) -> None:
    """Flushes the file system of this folder to disk."""
    subprocess.run(["sync", "--file-system", folder], check=True)


def rates(answers: dict, clock: str) -> dict[str, float]:
    """The median records per second of each program that has answered; clock: "cpu_s" or "wall_s"."""
    return {
        name: median(answer["records"] / seconds for answer in of_name for seconds in answer[clock])
        for name, of_name in answers.items()
        if of_name
    }


def compare(rates_of: dict[str, float], what: str, unit: str, least: dict[str, float]) -> tuple[dict, dict]:
    """Compares "headrace" with each program of `least` that has answered. Returns figures for the summary,
    and the comparison in words.
    """
    summary, compared = {}, {}
    mine = rates_of["headrace"]
    for name, ratio in least.items():
        if name in rates_of:
            key = f"{what}, over {name} (must be >= {ratio})"
            summary[key] = mine / rates_of[name]
            compared[key] = f"{rates_of[name]:,.0f} {unit}; Headrace {mine:,.0f}"
    return summary, compared
