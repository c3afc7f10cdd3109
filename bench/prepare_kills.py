"""What do kills cost? Two processes execute the tasks of a plan, which take less than a second each; every
five seconds one process is killed (SIGKILL) and restarted. Compares the wall time with a run without kills;
the bytes must be the same.

    ./dev bench prepare_kills --json bench/results/<date>/prepare_kills.json

The work: JPEGs of about 400 × 300 to PNGs of as many pixels, in shards of {SHARD_IMAGES}.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

import measuring
from measuring import photos, preparing

IMAGES, SHARD_IMAGES = 2_000, 8
OPTIONS = ("--compression", "none", "--resize", "300x400", "--image-format", "png")
PLAN = (*OPTIONS, "--shard-records", str(SHARD_IMAGES), "--slice-size", "8MiB")
PROCESSES = 2
KILL_EVERY_S = 5
LEASE_S = 2  # another process may take the task of a killed process after this time
MOST_S = 1200


class Workers:
    """Processes that execute the tasks of the plan in a folder."""

    def __init__(self, folder: pathlib.Path):
        cores = ",".join(map(str, measuring.cores()))
        self._command = ["taskset", "-c", cores, measuring.headrace(), "execute", folder, "--quiet"]
        self._command += ["--lease", str(LEASE_S)]
        self._processes = [self._start() for _ in range(PROCESSES)]
        self.kills = 0

    def _start(self) -> subprocess.Popen:
        return subprocess.Popen(self._command, stdout=subprocess.DEVNULL)

    def work(self) -> bool:
        """Whether a process is still working. A failed process ends the measurement."""
        states = [process.poll() for process in self._processes]
        if any(states):
            self.kill_all()
            raise SystemExit(f"bench: headrace execute failed: {states}")
        return None in states

    def replace_one(self) -> None:
        number = self.kills % PROCESSES
        if self._processes[number].poll() is None:
            self._processes[number].kill()
            self._processes[number].wait()
            self._processes[number] = self._start()
            self.kills += 1

    def kill_all(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


def execute(source: pathlib.Path, out: pathlib.Path, with_kills: bool) -> dict:
    shutil.rmtree(out, ignore_errors=True)
    preparing.sync(out.parent)
    start = time.monotonic()
    measuring.run([measuring.headrace(), "plan", source, out, "--quiet", *PLAN], measuring.cores())
    workers = Workers(out)
    next_kill = time.monotonic() + KILL_EVERY_S
    while workers.work():
        time.sleep(0.02)
        if with_kills and time.monotonic() >= next_kill:
            workers.replace_one()
            next_kill += KILL_EVERY_S
        if time.monotonic() - start > MOST_S:
            workers.kill_all()
            raise SystemExit(f"bench: not done after {MOST_S} s")
    measuring.run([measuring.headrace(), "publish", out, "--quiet"], measuring.cores())
    return {"wall_s": [time.monotonic() - start], "kills": workers.kills, "content": digest(out)}


def digest(folder: pathlib.Path) -> str:
    """A digest of the names and bytes of everything that was published."""
    files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    names = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return hashlib.sha256(json.dumps(names, sort_keys=True).encode()).hexdigest()


def main() -> None:
    parser = measuring.arguments_of(__doc__.format(SHARD_IMAGES=SHARD_IMAGES), repeats=2)
    parser.add_argument("--images", type=int, default=IMAGES)
    arguments = parser.parse_args()
    source = photos.folder(arguments.images)
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        out = pathlib.Path(folder, "out")
        programs = {
            "undisturbed": lambda: execute(source, out, with_kills=False),
            "killed": lambda: execute(source, out, with_kills=True),
        }
        raw, _ = measuring.take_turns(programs, arguments.repeats)
    seconds = {
        name: measuring.median(answer["wall_s"][0] for answer in answers) for name, answers in raw.items()
    }
    contents = {answer["content"] for answers in raw.values() for answer in answers}
    kills = measuring.median(answer["kills"] for answer in raw["killed"])
    key = f"prepare, a process killed each {KILL_EVERY_S} s, over undisturbed (must be <= 1.3)"
    compared = {key: f"{seconds['undisturbed']:.1f} s; {seconds['killed']:.1f} s with {kills:.0f} kills"}
    summary = {key: seconds["killed"] / seconds["undisturbed"]}
    summary["contents that differ from the first (must be <= 0)"] = len(contents) - 1
    summary["kills"] = kills
    measuring.report(arguments.json, summary, raw, compared)


if __name__ == "__main__":
    main()
