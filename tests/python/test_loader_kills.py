"""Readers that are killed at random moments and started again, with another number of ranks and threads each
time: what they saw of each global batch is, row by row, that of a reader that was never killed.

HEADRACE_SOAK_SEED sets the seed of the moments.
"""

import gzip
import hashlib
import itertools
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import tfrecords

import headrace as hr

SEED = int(os.environ.get("HEADRACE_SOAK_SEED", "44"))
KILLS = [pytest.param(50, id="50"), pytest.param(500, id="500", marks=pytest.mark.soak)]
MOST_RANKS = 8
MOST_THREADS = 4
MOST_LEAD = 5  # steps that a rank may be ahead of another one
BATCH = 16
COLUMNS = {
    "number": hr.int64,
    "vector": hr.float32[3],
    "id": hr.bytes_,
    "tags": hr.ragged(hr.int64).default(()),
}

# Records in shards, of which some may be compressed, and those that are damaged.
RECORDS = {"plain": 333, "gzip": 250, "damaged": 301}
DAMAGED = {0, 17, 18, 19, 20, 150, 151, 300}

# Lost records keep their rows, so that places in a batch can be compared.
HOLES = {"drop_remainder": "pad", "on_corrupt": "skip-record"}

# Sources and options of each kind of reading. A shard is one block here, of some 5 kB.
KINDS = {
    "window": (["plain"], {"window": "12kB", "drop_remainder": True}),
    "compressed window": (["gzip"], {"window": "12kB", "drop_remainder": "pad"}),
    "exact": (["plain"], {"shuffle": "exact", "window": "4kB"}),
    "damaged window": (["damaged"], {"window": "12kB", **HOLES}),
    "damaged exact": (
        ["damaged"],
        {"shuffle": "exact", "window": "4kB", **HOLES},
    ),
    "damaged as stored": (["damaged"], {"shuffle": False, "window": 1, **HOLES}),
    "mixture": (["plain", "gzip"], {"window": "20kB"}),
    "damaged mixture": (["damaged", "plain"], {"window": 1, **HOLES}),
}

# Arguments: data, kind, folder of the logs, ranks, threads, state. Each rank's log is a file of its own, with
# a line for each batch, and a dot goes to standard output.
READER = """
import os, sys, threading, time
import test_loader_kills as shared

data, kind, logs, ranks, threads, state = sys.argv[1:]
ranks, state = int(ranks), bytes.fromhex(state) or None
options = dict(world_size=ranks, threads=int(threads))
loaders = [shared.loader(data, kind, state, rank=rank, **options) for rank in range(ranks)]
steps = [loader.step for loader in loaders]

def read(rank, log):
    for batch in loaders[rank]:
        while steps[rank] - min(steps) > shared.MOST_LEAD:
            time.sleep(0.0005)
        line = [str(steps[rank]), loaders[rank].state().hex(), *shared.digests(batch)]
        os.write(log, (" ".join(line) + "\\n").encode())
        steps[rank] += 1
        os.write(1, b".")

threading.excepthook = lambda failure: (threading.__excepthook__(failure), os._exit(1))
print("ready", flush=True)
for rank in range(ranks):
    log = os.open(f"{logs}/{rank}", os.O_WRONLY | os.O_CREAT)
    threading.Thread(target=read, args=[rank, log]).start()
"""


def loader(data: str, kind: str, state: bytes | None, **options) -> hr.Loader:
    names, order = KINDS[kind]
    options = {
        "columns": COLUMNS,
        "batch_size": BATCH,
        "seed": 44,
        "epochs": None,
        "memory_budget": "64MB",
        "state": state,
        **order,
        **options,
    }
    sources = [hr.open(f"{data}/{name}", on_corrupt=order.get("on_corrupt", "fail")) for name in names]
    if len(sources) == 1:
        return sources[0].loader(**options)
    return hr.mix(dict(zip(sources, (0.7, 0.3), strict=True)), **options)


def digests(batch: dict) -> list[str]:
    """The SHA-256 of each row; "-" for a row of weight 0, which stands for no record."""
    number, vector, name, tags = (batch[column] for column in COLUMNS)
    weights = batch.get("weight", [1] * len(number))
    return [
        hashlib.sha256(
            b"%d %s " % (number[row], name[row]) + vector[row].tobytes() + tags[row].tobytes()
        ).hexdigest()
        if weights[row]
        else "-"
        for row in range(len(number))
    ]


def write(folder: pathlib.Path, count: int, damaged: set[int], is_compressed) -> None:
    folder.mkdir()
    shards = 7
    for shard in range(shards):
        data = bytearray()
        for number in range(count * shard // shards, count * (shard + 1) // shards):
            data += tfrecords.frame(tfrecords.encode(tfrecords.numbered_example(number)))
            if number in damaged:
                data[-6] ^= 1
        content = gzip.compress(data, mtime=0) if is_compressed(shard) else bytes(data)
        (folder / f"part-{shard}").write_bytes(content)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("kills")
    write(folder / "plain", RECORDS["plain"], set(), lambda shard: False)
    write(folder / "gzip", RECORDS["gzip"], set(), lambda shard: True)
    write(folder / "damaged", RECORDS["damaged"], DAMAGED, lambda shard: shard % 2 == 0)
    return folder


class Life:
    """One of the readers: how it began, and what its ranks wrote until it was killed."""

    def __init__(self, logs: pathlib.Path, ranks: int, first_step: int):
        self.ranks, self.first_step = ranks, first_step
        self.states: list[set[str]] = []  # by step, from the first on: behind its batch, of all ranks
        self.parts: list[list[list[str]]] = []  # by rank, then by step
        for rank in range(ranks):
            path = logs / str(rank)
            text = path.read_text() if path.exists() else ""
            lines = [line.split() for line in text.split("\n")[:-1]]  # the last one may not be whole
            assert [int(step) for step, *_ in lines] == list(range(first_step, first_step + len(lines)))
            self.parts.append([rows for _, _, *rows in lines])
            self.states += [set() for _ in range(len(lines) - len(self.states))]
            for states, (_, state, *_) in zip(self.states, lines, strict=False):
                states.add(state)
        assert all(len(states) == 1 for states in self.states), "ranks have different states"

    def common_steps(self) -> int:
        """As many as every rank has made."""
        return min(map(len, self.parts))

    def check(self, batches: list[list[str]]) -> None:
        """Checks in each batch that a rank's rows are its part."""
        for rank, parts in enumerate(self.parts):
            begin, end = rank * BATCH // self.ranks, (rank + 1) * BATCH // self.ranks
            for step, rows in enumerate(parts, self.first_step):
                assert rows == batches[step][begin:end], (step, rank, self.ranks)


def live(
    data: pathlib.Path, kind: str, logs: pathlib.Path, chance: random.Random, first: tuple[int, str]
) -> Life:
    """Starts a reader at a step and its state, and kills it: amid its start, or after some batches."""
    logs.mkdir()
    ranks, threads = chance.randint(1, MOST_RANKS), chance.randint(1, MOST_THREADS)
    first_step, state = first
    paths = [*sys.path, str(pathlib.Path(__file__).parent)]
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, data, kind, logs, str(ranks), str(threads), state],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "XDG_CACHE_HOME": str(data / "cache")},
    )
    with reader:
        if chance.random() < 0.8:
            assert reader.stdout.readline() == b"ready\n"
            dots = ranks * chance.randint(0, 25)
            assert len(reader.stdout.read(dots)) == dots
            time.sleep(chance.uniform(0, 0.01))
        else:
            time.sleep(chance.uniform(0, 0.4))
        assert reader.poll() is None, "it was to be killed"
        reader.send_signal(signal.SIGKILL)
    return Life(logs, ranks, first_step)


def undisturbed(data: pathlib.Path, kind: str) -> Iterator[list[str]]:
    """The global batches; of each epoch, every record that is not damaged."""
    whole = loader(str(data), kind, None)
    while True:
        epoch = [digests(batch) for batch in itertools.islice(whole, whole.batches_per_epoch)]
        names, order = KINDS[kind]
        good = [row for batch in epoch for row in batch if row != "-"]
        if len(names) == 1 and order.get("drop_remainder") is not True:
            assert len(set(good)) == len(good) == RECORDS[names[0]] - len(DAMAGED) * (names == ["damaged"])
        assert len(good) < sum(map(len, epoch)) or order.get("on_corrupt") is None
        yield from epoch


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kills", KILLS)
def test_readers_killed_anywhere_go_on_where_they_were(data, tmp_path, kind, kills):
    chance = random.Random(f"{SEED} {kind}")
    lives, states = [], {0: ""}  # by step: what begins there
    for number in range(-(-kills // len(KINDS))):
        step = max(0, max(states) - chance.randint(0, 2))  # the last checkpoint may be older
        life = live(data, kind, tmp_path / str(number), chance, (step, states[step]))
        for later, state in enumerate(itertools.islice(map(min, life.states), life.common_steps()), step + 1):
            assert states.setdefault(later, state) == state
        lives.append(life)
    assert max(states) > 20, "an epoch has about as many"
    steps = max(life.first_step + len(life.states) for life in lives)
    batches = list(itertools.islice(undisturbed(data, kind), steps))
    for life in lives:
        life.check(batches)
