"""Functions that the programs of bench/ share: building, pinning, CPU time and memory of a process, the
machine, results.

A result file holds `machine`, `summary` (name → number; a name that ends with "(must be >= 10)" states its
requirement), `peers` (the same names → the figure it was compared with, in words) and `raw`, every value.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
WORK = ROOT / "build" / "bench"
DATA = WORK / "data"
SYNTHETIC_SEED = 44
MEMORY_SAMPLE_S = 0.02


def build(target: str) -> pathlib.Path:
    """A program of bench/CMakeLists.txt, built in the release build's tree, which `./dev bench`
    configures."""
    subprocess.run(["cmake", "--build", BUILD, "--target", target], check=True, stdout=subprocess.DEVNULL)
    return BUILD / "bin" / target


def headrace() -> pathlib.Path:
    return pathlib.Path(os.environ.get("HEADRACE_BUILD", ROOT / "build" / "release")) / "bin" / "headrace"


def archive(records: int) -> pathlib.Path:
    """An archive of synthetic texts with aclImdb's lengths; made once."""
    target = DATA / f"reviews-{records}.tar.gz"
    if not target.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        arguments = [target, "--synthetic", str(records), "--seed", str(SYNTHETIC_SEED)]
        subprocess.run(
            [sys.executable, ROOT / "tools" / "reviews.py", *arguments], check=True, stdout=sys.stderr
        )
    return target


def cores() -> list[int]:
    """Two cores; figures per CPU-second use the first one."""
    return sorted(os.sched_getaffinity(0))[:2]


@dataclass(frozen=True)
class Done:
    """A process that has ended: the user and system seconds of it and its children, and the largest RssAnon
    of the process alone, sampled every 20 ms (0 if not requested)."""

    output: str
    cpu_s: float
    wall_s: float
    anonymous_bytes: int


def run(command: list, on: list[int], watch_memory: bool = False) -> Done:
    """Runs the command on these cores. Shows its standard error if it fails."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            ["taskset", "-c", ",".join(map(str, on)), *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        )
        most = _watch(process.pid) if watch_memory else 0
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - start
        if process.returncode:
            errors.seek(0)
            raise SystemExit(f"bench: {command[0]} {command[1]} failed:\n{errors.read()}")
        output.seek(0)
        return Done(output.read(), usage.ru_utime + usage.ru_stime, wall_s, most)


def run_json(command: list, on: list[int]) -> dict:
    """Runs the program and returns the JSON that it prints: "records" or "examples", and "cpu_s" and "wall_s"
    of each repeat."""
    return json.loads(run(command, on).output)


def take_turns(programs: dict, rounds: int) -> tuple[dict, dict]:
    """Runs each program once per round. Returns name → the answers of all rounds, and name → reason for
    programs that failed. A program fails by answering with a text, the reason, and is left out from then
    on."""
    answers: dict = {name: [] for name in programs}
    failed: dict = {}
    for _ in range(rounds):
        for name, program in programs.items():
            if name in failed:
                continue
            answer = program()
            if isinstance(answer, str):
                failed[name] = answer
                print(f"left out: {name}: {answer}", flush=True)
            else:
                answers[name].append(answer)
    return answers, failed


def rate(answers: list[dict], count: int) -> float:
    """The median of all repeats of all rounds, per second of CPU time. All answers must have the same
    count."""
    for answer in answers:
        assert answer.get("records", answer.get("examples", count)) == count, answer
    return median(count / cpu_s for answer in answers for cpu_s in answer["cpu_s"])


def wall_rates(answers: dict, amount: float) -> dict[str, float]:
    """For each program that has answered, the median amount per second of wall time."""
    return _medians(answers, lambda answer: (amount / wall_s for wall_s in answer["wall_s"]))


def costs(answers: dict, amount: float) -> dict[str, float]:
    """For each program that has answered, the median of the CPU seconds of its process per amount."""
    return _medians(answers, lambda answer: (cpu_s / amount for cpu_s in answer["cpu_s"]))


def _medians(answers: dict, values: Callable) -> dict[str, float]:
    return {
        name: median(value for answer in of_name for value in values(answer))
        for name, of_name in answers.items()
        if of_name
    }


def _watch(pid: int) -> int:
    most = 0
    while True:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        kib = next((int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), None)
        if kib is None:  # it has ended, but was not waited for yet
            return most
        most = max(most, kib * 1024)
        time.sleep(MEMORY_SAMPLE_S)


def machine() -> dict:
    """The properties of the machine and the programs that a figure depends on."""
    fields = dict(
        line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    )
    named = {name.strip(): value.strip() for name, value in fields.items()}
    keys = ("vendor_id", "cpu family", "model", "model name", "cpu MHz", "cache size")
    packages = ("tensorflow-cpu", "tensorflow", "keras", "numpy")
    memory = pathlib.Path("/proc/meminfo").read_text().split("\n")[0].split()[1]
    return {
        "processor": ", ".join(f"{key} {named[key]}" for key in keys if key in named),
        "instructions": " ".join(
            flag for flag in named.get("flags", "").split() if flag.startswith(("avx", "sse4"))
        ),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory) / (1 << 20), 1),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in packages if _installed(name)},
        "load_average": os.getloadavg(),
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
    }


def _installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def median(values) -> float:
    return statistics.median(list(values))


def arguments_of(document: str, repeats: int) -> argparse.ArgumentParser:
    """The arguments that all programs share."""
    parser = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=pathlib.Path, help="file for all values")
    parser.add_argument("--repeats", type=int, default=repeats)
    return parser


def report(target: pathlib.Path | None, summary: dict, raw: dict, peers: dict | None = None, **more) -> None:
    for name, value in summary.items():
        print(f"{name:80} {value if isinstance(value, str) else format(value, '.4g')}")
    if target:
        document = {"machine": machine(), "summary": summary, "peers": peers or {}, **more, "raw": raw}
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(document, indent=1) + "\n")
