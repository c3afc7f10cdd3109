"""Readers that are killed at random moments and started again, with another number of ranks each time: the
global batches that they have seen are, hash by hash, those of a reader that was never killed.

HEADRACE_SOAK_SEED sets the seed of the moments.
"""

import hashlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest
import tfrecords

import headrace as hr

SEED = int(os.environ.get("HEADRACE_SOAK_SEED", "44"))
KILLS = [pytest.param(50, id="50"), pytest.param(500, id="500", marks=pytest.mark.soak)]
MOST_RANKS = 8
BATCH = 16
EPOCHS = 1000  # more than anyone gets through

# Arguments: folder, kind, log, ranks. A line of the log: the state behind a global batch, and its hash.
READER = """
import os, sys, time
import test_loader_kills as shared

folder, kind, log, count = sys.argv[1:]
ranks, state = int(count), shared.last_state(log)
loaders = [shared.loader(folder, kind, rank, ranks, state) for rank in range(ranks)]
out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
print("ready", flush=True)
for parts in zip(*loaders):
    states = {loader.state() for loader in loaders}
    assert len(states) == 1
    line = f"{states.pop().hex()} {shared.digest(parts)}\\n"
    os.write(out, line.encode())
    time.sleep(0.002)
"""


def loader(folder: str, kind: str, rank: int, ranks: int, state: bytes | None) -> hr.Loader:
    options = dict(
        columns={"number": hr.int64, "vector": hr.float32[3], "pair": hr.int64[2]},
        batch_size=BATCH,
        seed=44,
        epochs=EPOCHS,
        rank=rank,
        world_size=ranks,
        threads=1,
        memory_budget="64MB",
    )
    if kind == "mixture":
        return hr.mix({hr.open(f"{folder}/a"): 0.7, hr.open(f"{folder}/b"): 0.3}, state=state, **options)
    return hr.open(f"{folder}/a").loader(shuffle="exact" if kind == "exact" else True, state=state, **options)


def digest(parts: tuple) -> str:
    """Of a global batch: of all ranks' rows, one after the other, column by column."""
    sha = hashlib.sha256()
    for name in sorted(parts[0]):
        for part in parts:
            sha.update(part[name].tobytes())
    return sha.hexdigest()


def lines(log: str) -> list[list[str]]:
    """The whole lines; one that was being written when its writer was killed is none."""
    path = pathlib.Path(log)
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def last_state(log: str) -> bytes | None:
    seen = lines(log)
    return bytes.fromhex(seen[-1][0]) if seen else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("kills")
    tfrecords.write_numbered(folder / "a", 333)
    tfrecords.write_numbered(folder / "b", 57)
    return folder


@pytest.mark.parametrize("kind", ["window", "exact", "mixture"])
@pytest.mark.parametrize("kills", KILLS)
def test_readers_killed_anywhere_go_on_where_they_were(folder, tmp_path, kind, kills):
    chance = random.Random(f"{SEED} {kind}")
    log = str(tmp_path / "log")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*sys.path, str(pathlib.Path(__file__).parent)])
    }
    for _ in range(-(-kills // 3)):  # a third of them for each kind
        ranks = chance.randint(1, MOST_RANKS)
        reader = subprocess.Popen(
            [sys.executable, "-c", READER, folder, kind, log, str(ranks)],
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert reader.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0, 0.1))
        assert reader.poll() is None, "it was to be killed"
        reader.send_signal(signal.SIGKILL)
        reader.communicate()
    seen = [hashed for _, hashed in lines(log)]
    assert len(seen) > kills
    undisturbed = loader(str(folder), kind, 0, 1, None)
    assert seen == [digest((batch,)) for batch, _ in zip(undisturbed, seen, strict=False)]
