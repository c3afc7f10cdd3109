"""Runs a list of programs of bench/ one after the other, and prints one table of the figures that have a
requirement. All values, met or not, are kept under bench/results/<date>/.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator

from . import ROOT

RESULTS = ROOT / "bench" / "results"
REQUIREMENT = re.compile(r" \(must be (>=|<=) ([\d.]+)\)$")


def main(document: str, programs: tuple[str, ...], long: tuple[str, ...] = ()) -> int:
    """Runs the programs that the command line names. Returns 0 if all were measured and all requirements are
    met. `long`: programs that run only on request."""
    parser = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if long:
        parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", nargs="+", choices=programs + long, default=[])
    parser.add_argument("--show", metavar="DATE")
    arguments = parser.parse_args()
    folder = RESULTS / (arguments.show or time.strftime("%Y-%m-%d"))
    if arguments.show and not folder.is_dir():
        parser.error(f"there is no {folder}")
    chosen = arguments.only or (programs + long if long and arguments.long else programs)
    failed = [name for name in chosen if not (arguments.show or _run(name, folder))]
    met = _print_table(folder, programs + long)
    if failed:
        print(f"\nnot measured, see above: {', '.join(failed)}")
    return 0 if met and not failed else 1


def _run(name: str, folder: pathlib.Path) -> bool:
    print(f"\n{name}", flush=True)
    script = ROOT / "bench" / f"{name}.py"
    done = subprocess.run([sys.executable, script, "--json", folder / f"{name}.json"], check=False)
    return done.returncode == 0


def _rows(result: dict) -> Iterator[tuple]:
    """Metric, requirement, value, whether it is met, and the peer, for all figures with a requirement."""
    for name, value in result["summary"].items():
        if match := REQUIREMENT.search(name):
            least = match[1] == ">="
            met = value >= float(match[2]) if least else value <= float(match[2])
            peer = result.get("peers", {}).get(name, "")
            yield REQUIREMENT.sub("", name), f"{'≥' if least else '≤'} {match[2]}", value, met, peer


def _print_table(folder: pathlib.Path, names: tuple[str, ...]) -> bool:
    """Whether all measured figures meet their requirements."""
    table = []
    for name in names:
        file = folder / f"{name}.json"
        if file.exists():
            table += _rows(json.loads(file.read_text()))
    print(f"\n{folder.relative_to(ROOT)}\n")
    print(f"  {'metric':<76} {'must':>8} {'got':>8}      peer")
    for metric, must, value, met, peer in table:
        print(f"{'  ' if met else '✗ '}{metric:<76} {must:>8} {value:>8.4g}      {peer}")
    return all(met for _, _, _, met, _ in table)
