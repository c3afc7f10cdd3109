"""Builds one changed file into a test program, and runs the program."""

import json
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass

MEMORY_BYTES = 6 << 30  # a mutant may allocate or write without end
FILE_BYTES = 4 << 30
COMPILE_S = 300
# How long tests may take, relative to their time with the original. Generous, because other work may slow
# them down.
HANG_FACTOR, HANG_S, ORIGINAL_S = 4, 40, 1200
HANGS = "hangs"
CONTAINED = pathlib.Path(__file__).with_name("contained.sh")
UNCONTAINED_TEST = "FileStore.WritesDirectlyBelowTheRootOfTheMachine"  # contained.sh prevents that
INCLUDED = re.compile(r'#include "(headrace/[^"]+\.cc)"')


@dataclass(frozen=True)
class Run:
    passed: bool
    seconds: float
    said: str  # the first failed test, or how the program ended


class Workshop:
    """Uses the objects and libraries of a finished release build, which compiles files in units of several
    (cmake/Headrace.cmake). Here each file of a unit is compiled alone, once. A test program is linked with
    these objects, one of them changed, before the libraries, so that the linker takes none of the unit's
    files from the libraries.
    """

    def __init__(self, root: pathlib.Path, build: pathlib.Path):
        self.root, self.build = root, build
        self.work = root / "build" / "mutants"
        self.unit_of: dict[str, list[str]] = {}  # source → all sources of its unit, in order
        self.command_of: dict[str, list[str]] = {}
        self.links: dict[str, list[str]] = {}
        self.seconds_of: dict[str, float] = {}
        for entry in json.loads((build / "compile_commands.json").read_text()):
            unit = pathlib.Path(entry["file"])
            if root not in unit.parents or "_test.dir/" in entry["command"] or not unit.is_file():
                continue
            sources = INCLUDED.findall(unit.read_text()) if build in unit.parents else []
            for source in sources or [str(unit.relative_to(root))]:
                self.unit_of.setdefault(source, sources or [source])
                self.command_of.setdefault(source, shlex.split(entry["command"]))

    def object_of(self, source: str, kind: str, optimized: bool = False) -> pathlib.Path:
        folder = self.work / ("optimized" if optimized else "objects") / kind
        return folder / (source.replace("/", "+") + ".o")

    def compile(self, source: str, text: str, kind: str, optimized: bool = False) -> pathlib.Path | None:
        """The object, or None if `text` does not compile. Every text is compiled at the same path, so equal
        code gives equal bytes."""
        place = self.work / "source" / source
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        made = self.object_of(source, kind, optimized)
        made.parent.mkdir(parents=True, exist_ok=True)
        made.unlink(missing_ok=True)
        command = self.command_of[source]
        flags = command[1 : command.index("-o")]
        if not optimized:
            flags.append("-O0")
        compiler = [command[0], *flags, "-o", str(made), "-c", str(place)]
        try:
            subprocess.run(compiler, cwd=self.build, capture_output=True, timeout=COMPILE_S, check=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
        return made

    def original(self, source: str, optimized: bool = False) -> pathlib.Path:
        made = self.object_of(source, "original", optimized)
        text = (self.root / source).read_text()
        copy = made.with_suffix(".cc")
        if not made.is_file() or not copy.is_file() or copy.read_text() != text:
            if self.compile(source, text, "original", optimized) is None:
                raise SystemExit(f"mutants: {source} does not compile without a change")
            copy.write_text(text)
        return made

    def link(self, test: str, source: str, changed: pathlib.Path) -> pathlib.Path | None:
        target = f"headrace_{test}_test"
        if target not in self.links:
            listed = subprocess.run(
                ["ninja", "-C", str(self.build), "-t", "commands", "-s", f"bin/{target}"],
                capture_output=True,
                text=True,
                check=True,
            )
            last = listed.stdout.strip().split("\n")[-1]
            self.links[target] = [word for word in shlex.split(last) if word not in (":", "&&")]
        command = self.links[target]
        objects = [
            str(changed if sibling == source else self.original(sibling)) for sibling in self.unit_of[source]
        ]
        program = self.work / "bin" / target
        program.parent.mkdir(parents=True, exist_ok=True)
        program.unlink(missing_ok=True)
        output = command.index("-o")
        words = [command[0], *objects, *command[1:output], "-o", str(program), *command[output + 2 :]]
        linked = subprocess.run(words, cwd=self.build, capture_output=True, timeout=COMPILE_S)
        return program if linked.returncode == 0 else None

    def run(self, program: pathlib.Path, limit_s: float) -> Run:
        folder = self.work / "scratch"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command = [
            str(CONTAINED),
            str(folder),
            str(program),
            "--gtest_brief=1",
            "--gtest_fail_fast",
            f"--gtest_filter=-{UNCONTAINED_TEST}",
        ]
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_limit,
        )
        try:
            output = process.communicate(timeout=limit_s)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            return Run(False, time.monotonic() - started, HANGS)
        finally:
            process.kill()  # and all its children: contained.sh
            process.wait()
        failed = re.search(r"\[  FAILED  \] ([\w/.]+)", output)
        said = failed.group(1) if failed else f"ends with {process.returncode}"
        return Run(process.returncode == 0, time.monotonic() - started, said)

    def test(self, test: str, source: str, changed: pathlib.Path) -> Run:
        """Runs the tests with the changed object, and the first time also with the original. If the tests
        seem to hang, the original runs again, because other work may have slowed the machine meanwhile."""
        if test not in self.seconds_of:
            self.seconds_of[test] = self.run_original(test, source)
        while True:
            program = self.link(test, source, changed)
            if program is None:
                return Run(False, 0, "is not linked")
            run = self.run(program, HANG_FACTOR * self.seconds_of[test] + HANG_S)
            if run.said != HANGS:
                return run
            before, self.seconds_of[test] = self.seconds_of[test], self.run_original(test, source)
            if self.seconds_of[test] < 2 * before:
                return run

    def run_original(self, test: str, source: str) -> float:
        program = self.link(test, source, self.original(source))
        run = self.run(program, ORIGINAL_S) if program else Run(False, 0, "is not linked")
        if not run.passed:
            raise SystemExit(f"mutants: {test} fails with the original {source}: {run.said}")
        return run.seconds


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
