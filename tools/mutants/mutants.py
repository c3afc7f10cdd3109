"""Changes the code at random and checks whether its tests notice: `./dev soak --mutants N [--seed S] …`.

Each mutant is one change (operators.py) in one line of the code that publishes, fetches and orders data
(folders.py). The mutant is built, and the tests of its folder run; if these pass, the tests of higher folders
that use it run, too. Mutants that do not compile, or that give the same machine code, do not count.
equivalent.txt lists mutants that behave like the original, with the reasons. The seed decides everything;
results are lines of JSON, and the same command continues where it stopped.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from folders import FOLDERS, Sources, files_of  # noqa: E402
from operators import Change, changes  # noqa: E402
from workshop import Workshop  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EQUIVALENT = pathlib.Path(__file__).with_name("equivalent.txt")
LEAST = 10  # mutants of each folder
CAUGHT, CAUGHT_ABOVE, SURVIVED = "caught", "caught above", "survived"
EQUAL, UNCOMPILED = "same code", "does not compile"
COUNTED = (CAUGHT, CAUGHT_ABOVE, SURVIVED)


@dataclass(frozen=True)
class Mutant:
    folder: str
    index: int  # position in the folder's seeded order
    source: str
    change: Change

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of the mutant in equivalent.txt, independent of the line number."""
        return self.source, self.change.before.strip(), self.change.after.strip()


def mutants_of(folder: str, seed: int) -> list[Mutant]:
    """One change for each line that allows any, in the order of the seed."""
    by_line: dict[tuple[str, int], list[Change]] = {}
    for source in files_of(ROOT, folder):
        for change in changes((ROOT / source).read_text()):
            by_line.setdefault((source, change.line), []).append(change)
    dice = random.Random(f"{seed}:{folder}")
    places = sorted(by_line)
    dice.shuffle(places)
    return [
        Mutant(folder, index, place[0], dice.choice(by_line[place])) for index, place in enumerate(places)
    ]


def equivalent_mutants(text: str) -> dict[tuple[str, str, str], str]:
    """The mutants in equivalent.txt → reason. An entry is a file's path, `- line`, `+ line`, and the
    reason."""
    found = {}
    for entry in text.split("\n\n"):
        lines = [line for line in entry.split("\n") if line and not line.startswith("#")]
        if not lines:
            continue
        if len(lines) < 4 or not lines[1].startswith("- ") or not lines[2].startswith("+ "):
            raise SystemExit(f"mutants: {EQUIVALENT.name} has an entry without path, -, + or reason: {lines}")
        found[lines[0], lines[1][2:].strip(), lines[2][2:].strip()] = " ".join(lines[3:])
    return found


def shares(amount: int, folders: list[str]) -> dict[str, int]:
    """The number of mutants of each folder: in proportion to its lines, but at least `LEAST`."""
    lines = {
        folder: sum((ROOT / source).read_text().count("\n") for source in files_of(ROOT, folder))
        for folder in folders
    }
    return {
        folder: max(LEAST, round(amount * count / sum(lines.values()))) for folder, count in lines.items()
    }


@dataclass
class Results:
    """A file of lines of JSON; the last record of a mutant is the valid one."""

    path: pathlib.Path
    seed: int
    records: dict[tuple[str, int], dict] = field(default_factory=dict)
    first: dict[tuple[str, int], dict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path.exists():
            return
        for line in self.path.read_text().splitlines():
            record = json.loads(line)
            if record["seed"] == self.seed:
                self._keep(record)

    def _keep(self, record: dict) -> None:
        key = record["folder"], record["index"]
        self.first.setdefault(key, record)
        self.records[key] = record

    def add(self, mutant: Mutant, outcome: str, by: str, seconds: float) -> None:
        record = {
            "seed": self.seed,
            "folder": mutant.folder,
            "index": mutant.index,
            "file": mutant.source,
            "line": mutant.change.line + 1,
            "operator": mutant.change.operator,
            "before": mutant.change.before,
            "after": mutant.change.after,
            "outcome": outcome,
            "by": by,
            "seconds": round(seconds, 1),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        self._keep(record)
        print(f"{mutant.source}:{record['line']}: {outcome} {by} ({mutant.change.operator})", flush=True)
        if outcome == SURVIVED:
            print(f"  - {mutant.change.before.strip()}\n  + {mutant.change.after.strip()}", flush=True)

    def counted(self, folder: str) -> int:
        return sum(
            record["outcome"] in COUNTED for record in self.records.values() if record["folder"] == folder
        )


def tried(workshop: Workshop, sources: Sources, mutant: Mutant) -> tuple[str, str]:
    """The outcome, and the test that caught the mutant."""
    lines = (ROOT / mutant.source).read_text().split("\n")
    lines[mutant.change.line] = mutant.change.after
    text = "\n".join(lines)
    original = workshop.original(mutant.source)
    changed = workshop.compile(mutant.source, text, "changed")
    if changed is None:
        return UNCOMPILED, ""
    if changed.read_bytes() == original.read_bytes():
        return EQUAL, ""
    for test in sources.tests:
        run = workshop.test(test, mutant.source, changed)
        if not run.passed:
            return CAUGHT, f"{test}: {run.said}"
    optimized = workshop.compile(mutant.source, text, "changed", optimized=True)
    if optimized and optimized.read_bytes() == workshop.original(mutant.source, optimized=True).read_bytes():
        return EQUAL, "when optimized"
    for test in sources.more_tests:
        run = workshop.test(test, mutant.source, changed)
        if not run.passed:
            return CAUGHT_ABOVE, f"{test}: {run.said}"
    return SURVIVED, ""


def new_mutants(results: Results, wanted: dict[str, int]) -> Iterator[Mutant]:
    """The next mutant always comes from the folder that has done the smallest part of its share."""
    orders = {folder: iter(mutants_of(folder, results.seed)) for folder in wanted}
    while orders:
        folder = min(orders, key=lambda name: results.counted(name) / wanted[name])
        if results.counted(folder) >= wanted[folder]:
            return
        mutant = next(orders[folder], None)
        if mutant is None:
            del orders[folder]
        elif (folder, mutant.index) not in results.records:
            yield mutant


def survivors(results: Results, folders: list[str]) -> Iterator[Mutant]:
    """The mutants that no test noticed, at the current place of their line."""
    for record in list(results.records.values()):
        if record["outcome"] != SURVIVED or record["folder"] not in folders:
            continue
        lines = (ROOT / record["file"]).read_text().split("\n")
        places = [number for number, line in enumerate(lines) if line.strip() == record["before"].strip()]
        if not places:
            print(f"{record['file']}: this line no longer exists: {record['before'].strip()}")
            continue
        place = min(places, key=lambda number: abs(number + 1 - record["line"]))
        change = Change(place, record["operator"], lines[place], record["after"])
        yield Mutant(record["folder"], record["index"], record["file"], change)


def table(records: dict[tuple[str, int], dict], listed: dict) -> str:
    """A line for each folder and one for all: the outcomes of the mutants, and the percentage of
    non-equivalent mutants that were caught."""
    rows = {folder: Counter() for folder in [*FOLDERS, "all"]}
    for record in records.values():
        key = record["file"], record["before"].strip(), record["after"].strip()
        outcome = "equivalent" if record["outcome"] == SURVIVED and key in listed else record["outcome"]
        rows[record["folder"]][outcome] += 1
        rows["all"][outcome] += 1
    columns = (CAUGHT, CAUGHT_ABOVE, SURVIVED, "equivalent", EQUAL, UNCOMPILED)
    text = f"{'folder':12}" + "".join(f"{column:>18}" for column in columns) + f"{'caught, %':>12}\n"
    for folder, row in rows.items():
        caught = row[CAUGHT] + row[CAUGHT_ABOVE]
        judged = caught + row[SURVIVED]
        share = f"{100 * caught / judged:.1f}" if judged else "–"
        text += f"{folder:12}" + "".join(f"{row[column]:18}" for column in columns) + f"{share:>12}\n"
    return text


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev soak --mutants", description=__doc__)
    parser.add_argument(
        "amount",
        type=int,
        metavar="N",
        help=f"divided in proportion to the folders' size, at least {LEAST} for each",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--folder", action="append", choices=FOLDERS, help="only this folder; may be repeated"
    )
    parser.add_argument("--again", action="store_true", help="rerun the mutants that survived")
    parser.add_argument("--table", action="store_true", help="run nothing, only print the results")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="a finished build")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build/mutants/results.jsonl")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    os.nice(19 - os.nice(0))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folders = arguments.folder or FOLDERS
    results = Results(arguments.results, arguments.seed)
    listed = equivalent_mutants(EQUIVALENT.read_text())
    if not arguments.table:
        workshop = Workshop(ROOT, arguments.build)
        wanted = shares(arguments.amount, folders)
        for mutant in survivors(results, folders) if arguments.again else new_mutants(results, wanted):
            if arguments.again and mutant.key in listed:
                continue
            started = time.monotonic()
            sources = files_of(ROOT, mutant.folder)[mutant.source]
            outcome, by = tried(workshop, sources, mutant)
            results.add(mutant, outcome, by, time.monotonic() - started)
    if results.first != results.records:
        print("When each was first run:\n" + table(results.first, listed) + "\nWith the reruns:")
    print(table(results.records, listed), end="")
    lost = [record for record in results.records.values() if record["outcome"] == SURVIVED]
    return 1 if any((r["file"], r["before"].strip(), r["after"].strip()) not in listed for r in lost) else 0


if __name__ == "__main__":
    sys.exit(main())
