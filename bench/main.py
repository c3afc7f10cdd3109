"""The figures that the main job must reach: runs the programs that measure them, one after the other, and
prints one table of those that have a requirement. All values, met or not, are kept under
bench/results/<date>/.

    ./dev bench main                             all but what takes long
    ./dev bench main --long                      these too, on a machine that does nothing else
    ./dev bench main --only memory read_batches  some
    ./dev bench main --show 2026-01-31           the table of an earlier day, nothing is run
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

import measuring

PROGRAMS = ("use_encoder", "prepare_text", "read_batches", "train_loop", "memory")
LONG = ("whole_job",)
RESULTS = measuring.ROOT / "bench" / "results"
REQUIREMENT = re.compile(r" \(must be (>=|<=) ([\d.]+)\)$")


def run(name: str, folder: pathlib.Path) -> bool:
    print(f"\n{name}", flush=True)
    script = measuring.ROOT / "bench" / f"{name}.py"
    done = subprocess.run([sys.executable, script, "--json", folder / f"{name}.json"], check=False)
    return done.returncode == 0


def rows(result: dict):
    """Metric, requirement, value, whether it is met, and the peer, of all that must be something."""
    for name, value in result["summary"].items():
        if match := REQUIREMENT.search(name):
            least = match[1] == ">="
            met = value >= float(match[2]) if least else value <= float(match[2])
            peer = result.get("peers", {}).get(name, "")
            yield REQUIREMENT.sub("", name), f"{'≥' if least else '≤'} {match[2]}", value, met, peer


def print_table(folder: pathlib.Path) -> bool:
    """Whether all that was measured is met."""
    table = []
    for name in (*PROGRAMS, *LONG):
        file = folder / f"{name}.json"
        if file.exists():
            table += rows(json.loads(file.read_text()))
    print(f"\n{folder.relative_to(measuring.ROOT)}\n")
    print(f"  {'metric':<76} {'must':>8} {'got':>8}      peer")
    for metric, must, value, met, peer in table:
        print(f"{'  ' if met else '✗ '}{metric:<76} {must:>8} {value:>8.4g}      {peer}")
    return all(met for _, _, _, met, _ in table)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS + LONG, default=[])
    parser.add_argument("--show", metavar="DATE")
    arguments = parser.parse_args()
    folder = RESULTS / (arguments.show or time.strftime("%Y-%m-%d"))
    if arguments.show and not folder.is_dir():
        parser.error(f"there is no {folder}")
    names = [] if arguments.show else arguments.only or (PROGRAMS + LONG if arguments.long else PROGRAMS)
    failed = [name for name in names if not run(name, folder)]
    met = print_table(folder)
    if failed:
        print(f"\nnot measured, see above: {', '.join(failed)}")
    return 0 if met and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
