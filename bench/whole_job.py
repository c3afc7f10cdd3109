"""Measures jobs that take minutes and need a quiet machine; runs the named parts, or all:

    ./dev bench whole_job [--encode] [--demo] --json bench/results/<date>/whole_job.json

--encode  50,000 texts of aclImdb's lengths through use-multilingual-v3 into shards: two cores, wall time
--demo    `./dev demo` as a user runs it where all is built and installed, seed 44: its wall time, and the
          test accuracy of runs that share nothing, which must agree to the last digit
"""

import json
import pathlib
import subprocess
import tempfile
import time

import measuring

RECORDS = 50_000
LABELLED_SENTENCES = 5


def encode() -> dict:
    archive = measuring.archive(RECORDS)
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        command = [measuring.headrace(), "prepare", f"file://{archive}", f"file://{folder}/data"]
        command += ["--encoder", "use-multilingual-v3", "--workers", "2"]
        done = measuring.run(command, measuring.cores(), watch_memory=True)
    return {"wall_s": done.wall_s, "cpu_s": done.cpu_s, "anonymous_bytes": done.anonymous_bytes}


def demo() -> dict:
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        start = time.monotonic()
        command = [measuring.ROOT / "dev", "demo", "--folder", folder]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        wall_s = time.monotonic() - start
        if done.returncode:
            raise SystemExit(f"bench: the demo failed:\n{done.stdout}")
        results = json.loads(pathlib.Path(folder, "results.json").read_text())
    right = sum(answer["label"] == answer["expected"] for answer in results["predictions"])
    return {
        "wall_s": wall_s,
        "accuracy": results["test"]["accuracy"],
        "right": right,
        "stages": results["stages"],
    }


def summarise(raw: dict) -> dict:
    summary = {}
    if encodings := raw.get("encode"):
        minutes = measuring.median(run["wall_s"] for run in encodings) / 60
        summary["50,000 texts through USE into shards, two cores, minutes (must be <= 8)"] = minutes
        most = max(run["anonymous_bytes"] for run in encodings) / 1e6
        summary["the same, anonymous memory with the encoder's weights, MB"] = most
    if demos := raw.get("demo"):
        summary["demo, test accuracy, seed 44 (must be >= 0.725)"] = demos[0]["accuracy"]
        different = len({run["accuracy"] for run in demos})
        summary["demo, different accuracies of its runs (must be <= 1)"] = different
        right = min(run["right"] for run in demos)
        summary[f"demo, right answers of {LABELLED_SENTENCES} (must be >= 4)"] = right
        summary["demo, built and installed, s wall (must be <= 60)"] = measuring.median(
            run["wall_s"] for run in demos
        )
    return summary


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=3)
    parts = {"encode": encode, "demo": demo}
    for name in parts:
        parser.add_argument(f"--{name}", action="store_true")
    arguments = parser.parse_args()
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    chosen = [name for name in parts if getattr(arguments, name)] or list(parts)
    raw = {name: [parts[name]() for _ in range(arguments.repeats)] for name in chosen}
    measuring.report(arguments.json, summarise(raw), raw)


if __name__ == "__main__":
    main()
