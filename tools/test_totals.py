"""Adds up the results of a run of `./dev test`: one XML file of test cases per test program, as googletest
and pytest write them. Prints the slowest and the failed cases and a closing line `N passed, N failed`; exits
with 1 if anything failed."""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field

SLOWEST = 10  # largest number of slow cases to list
SLOW_S = 5  # shortest time of a slow case
REASON_LENGTH = 500  # shown characters of a failure's message


@dataclass
class Totals:
    passed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # by name of the case

    def add(self, case: xml.Element, program: str) -> None:
        name = f"{program}: {case.get('classname')}.{case.get('name')}"
        self.seconds[name] = float(case.get("time") or 0)
        broken = case.find("failure")
        if broken is None:
            broken = case.find("error")
        if broken is not None:
            reason = " ".join((broken.get("message") or "").split())
            self.failures.append(f"{name}: {reason[:REASON_LENGTH]}")
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            self.skipped += 1
        else:
            self.passed += 1


def read_results(folder: pathlib.Path) -> Totals:
    totals = Totals()
    for path in sorted(folder.rglob("*.xml")):
        program = str(path.relative_to(folder).with_suffix(""))
        try:
            for case in xml.parse(path).iter("testcase"):
                totals.add(case, program)
        except xml.ParseError as error:
            totals.failures.append(f"{program}: its results cannot be read: {error}")
    return totals


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="folder with the XML files")
    parser.add_argument(
        "--failed-phases",
        type=int,
        default=0,
        help="failed phases of the run (a build, a program that crashed)",
    )
    arguments = parser.parse_args()
    totals = read_results(arguments.folder)
    slow = [name for name, seconds in totals.seconds.items() if seconds >= SLOW_S]
    for name in sorted(slow, key=totals.seconds.__getitem__, reverse=True)[:SLOWEST]:
        print(f"{totals.seconds[name]:.0f} s  {name}")
    for failure in totals.failures:
        print(f"failed  {failure}")
    failed = max(len(totals.failures), arguments.failed_phases)
    skipped = f", {totals.skipped} skipped" if totals.skipped else ""
    print(f"{totals.passed} passed, {failed} failed{skipped}")
    return 1 if failed or not totals.passed else 0


if __name__ == "__main__":
    sys.exit(main())
