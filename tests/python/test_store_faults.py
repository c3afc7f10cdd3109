"""Commands and clients whose store is behind a proxy that makes it fail in every way that it knows: the same
bytes as without. HEADRACE_SOAK_SEED sets the first seed.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import uuid
from collections.abc import Callable

import fault_support
import kill_support
import pytest
from faultproxy.proxy import Account, FaultProxy, Options

SEED = int(os.environ.get("HEADRACE_SOAK_SEED", "44"))
SIZES = {"small": 3_000, "large": 20_000_000}  # read at once, and in ranges
FAULT_COUNTS = [pytest.param(200, id="200"), pytest.param(1000, id="1000", marks=pytest.mark.soak)]


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> pathlib.Path:
    return kill_support.write_archive(
        tmp_path_factory.mktemp("raw") / "raw.tar.gz", kill_support.reviews(900)
    )


def prepare_options(archive: str, output: str) -> list[str]:
    return ["prepare", archive, output, "--encoder", "hash:64", "--shard-records", "25", "--workers", "2"]


class Faults:
    """Runs commands through the proxy, with a new seed for each, and adds the accounts up."""

    def __init__(self, headrace):
        self._headrace, self._seed = headrace, SEED
        self.total = Account()

    def run(self, *command: str, env: dict[str, str] | None = None, **options) -> bytes:
        """The output of the command, run through a proxy with faults."""
        proxy = fault_support.proxy_of_the_server(seed=self._seed, patience=0.5, **options)
        self._seed += 1
        done, account = fault_support.run_through(proxy, self._headrace, *command, env=env)
        self.total.requests += account.requests
        self.total.injected.update(account.injected)
        assert done.returncode == 0, "\n".join([f"seed {self._seed - 1}", *account.log, done.stderr.decode()])
        return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("faults", FAULT_COUNTS)
@pytest.mark.soak
def test_prepare_and_verify_through_faults_give_the_same_bytes(headrace, archive, s3_url, tmp_path, faults):
    raw, disturbed = f"{s3_url}/raw.tar.gz", f"{s3_url}/disturbed"
    large = tmp_path / "large"
    large.write_bytes(os.urandom(20_000_000))
    headrace("cp", archive, raw)
    headrace(*prepare_options(raw, f"{s3_url}/undisturbed"))
    undisturbed = kill_support.s3_objects(f"{s3_url}/undisturbed")
    proxied = Faults(headrace)

    def prepare_and_verify(**options) -> None:
        proxied.run(*prepare_options(raw, disturbed), **options)
        kill_support.assert_same(kill_support.s3_objects(disturbed), undisturbed)
        proxied.run("verify", disturbed, **options)
        # With a tombstone, the next dataset would be a later generation, whose parts have other names.
        proxied.run("rm", "-r", "--yes", "--forget", disturbed, **options)

    while proxied.total.faults < faults:
        prepare_and_verify(rate=0.1)
    for _ in range(20):  # what only few requests can meet
        if never := proxied.total.never():
            once = {"rate": 1, "kinds": never, "most": len(never), "apart": 5}
            proxied.run("cp", large, f"{s3_url}/large", **once)
            prepare_and_verify(**once)
    assert proxied.total.never() == []
    assert set(proxied.total.injected) == {kind.name for kind in Options().faults()}
    print(f"{proxied.total.faults} faults in {proxied.total.requests} requests")


@pytest.mark.usefixtures("journals")
@pytest.mark.exhaustive
def test_a_folder_copied_through_faults_has_the_same_bytes(headrace, s3_url, tmp_path):
    draw = random.Random(SEED)
    source = tmp_path / "source"
    source.mkdir()
    for i in range(200):
        (source / f"{i:03}").write_bytes(draw.randbytes(draw.randrange(20_000)))
    (source / "large").write_bytes(draw.randbytes(20_000_000))
    files = kill_support.objects_below(source)
    proxied = Faults(headrace)
    proxied.run("cp", "-r", source, f"{s3_url}/a", rate=0.1)
    assert kill_support.s3_objects(f"{s3_url}/a") == files
    proxied.run("sync", f"{s3_url}/a", f"{s3_url}/b", rate=0.1)
    assert kill_support.s3_objects(f"{s3_url}/b") == files
    proxied.run("cp", "-r", "--verify", f"{s3_url}/b", tmp_path / "back", rate=0.1)
    assert kill_support.objects_below(tmp_path / "back") == files
    assert proxied.total.faults > 50
    print(f"{proxied.total.faults} faults in {proxied.total.requests} requests")


def test_a_body_that_tls_does_not_end_is_not_taken_for_whole(
    headrace, s3_url, tmp_path, certificate, tls_of_a_server
):
    contents = {name: random.Random(SEED).randbytes(size) for name, size in SIZES.items()}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        headrace("cp", tmp_path / name, f"{s3_url}/{name}")
    proxied = Faults(headrace)
    cuts = ["close_in_body", "tls_close_without_notify", "tls_cut_without_length"]
    over_tls = {"tls": tls_of_a_server, "env": {"AWS_CA_BUNDLE": str(certificate)}}
    while min(proxied.total.injected[kind] for kind in cuts) < 3:
        for name, content in contents.items():
            each_second = {"rate": 1, "kinds": cuts, "apart": 1, **over_tls}
            assert proxied.run("cat", f"{s3_url}/{name}", **each_second) == content
            proxied.run("cp", f"{s3_url}/{name}", tmp_path / "back", **each_second)
            assert (tmp_path / "back").read_bytes() == content


# Faults that nobody has to notice, and that a client does not count.

UNNOTICED = {
    "slow_first_byte": "it is right, and early enough",
    "trickle": "so is this",
    "stray_continue": "allowed",
    "chunked": "allowed",
    "bytes_after_the_end": "the answer is whole; the connection is given up",
    "answer_twice": "the same",
    "whole_object_for_a_range": "right where the range is the whole",
    "clock_skew": "it teaches a wrong clock, which the real store refuses in its turn",
}

# ---- a whole run, and what it costs

TRAIN_SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 20))]
TENTH = {"rate": 0.1, "patience": 0.5}


class Work:
    """A command that writes a folder, always the same, and what it does undisturbed.

    The records of its run lie beside the folder: else it would read those of all others in the bucket.
    """

    def __init__(self, headrace, command_for: Callable[[str], list[str]], folder: str):
        self._headrace, self._command_for, self._folder = headrace, command_for, folder
        self.needed, self.objects = self.through(f"{folder}/undisturbed", rate=0)

    def through(self, output: str, **options) -> tuple[int, dict[str, object]]:
        """The requests that it sent through such a proxy, and what then lies in the folder `output`."""
        proxy = fault_support.proxy_of_the_server(**options)
        command = [*self._command_for(output), "--track", f"{output}-track"]
        done, account = fault_support.run_through(proxy, self._headrace, *command)
        assert done.returncode == 0, "\n".join([str(options), *account.log, done.stderr.decode()])
        assert bool(account.faults) == (options["rate"] > 0)
        print(f"{account.faults} faults in {account.requests} requests")
        return account.requests, kill_support.of_run(kill_support.s3_objects(output))

    def disturbed(self, seed: int, **options) -> int:
        """The requests that it sends then; and the outcome is the same."""
        requests, objects = self.through(f"{self._folder}/{uuid.uuid4().hex}", seed=seed, **TENTH, **options)
        kill_support.assert_same(objects, self.objects)
        return requests


@pytest.fixture(scope="module")
def folder() -> str:
    return f"s3://headrace-test/{uuid.uuid4().hex}"


@pytest.fixture(scope="module")
def preparation(headrace, archive, folder) -> Work:
    raw = f"{folder}/raw.tar.gz"
    headrace("cp", archive, raw)
    return Work(headrace, lambda output: prepare_options(raw, output), f"{folder}/prepared")


@pytest.fixture(scope="module")
def training(headrace, preparation, folder, tracing_environment) -> Work:
    data = f"{folder}/prepared/undisturbed"
    options = ["--epochs", "4", "--batch-size", "32", "--log-every", "10", "--seed", "7"]
    return Work(headrace, lambda run: ["train", data, run, *options], f"{folder}/trained")


@pytest.mark.parametrize("seed", TRAIN_SEEDS)
@pytest.mark.exhaustive
def test_train_through_faults_gives_the_same_weights_and_events(training, seed):
    training.disturbed(SEED + seed)


# Kinds that cost one request more, as the test below says.
ONE_MORE = [
    kind.name
    for kind in Options().faults()
    if kind.phase in ("connect", "sending", "before", "body")
    and kind.name not in UNNOTICED
    and not kind.burst
    and not any(word in kind.name for word in ("stall", "retry_after"))
]


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("preparation", 3),
        pytest.param("training", 1, marks=pytest.mark.exhaustive),
        pytest.param("training", 10, marks=pytest.mark.soak),
    ],
)
def test_a_tenth_of_faults_costs_less_than_a_third_of_requests_more(request, name, runs):
    """With one request more for each fault it is a ninth; the rest is for chance.

    Not played are kinds that cost none, as nobody notices them, and those that cost several: bursts, which
    are several faults by design; what is late or asks to wait, as it may be asked for a second time before
    it is over; and what takes away the answer to what was done, as a look at the object has to settle whether
    a conditional write was.
    """
    work = request.getfixturevalue(name)
    for seed in range(runs):
        assert work.disturbed(SEED + seed, kinds=ONE_MORE) <= 1.3 * work.needed


# Faults that the client counts. The count is exact as long as the client sends no late request a second time,
# which needs 50 answers first: so each process here makes few calls.

COUNTED = [kind.name for kind in Options().faults() if kind.name not in UNNOTICED]
CALLS = """
import json, sys
import headrace as hr
store = hr.store(sys.argv[1], timeout=20)
for i in range(6):
    data = bytes([i]) * 3000
    store.write(f"{i}", data, if_absent=i % 2 == 0)
    assert store.read(f"{i}", size=3000) == data
    assert store.stat(f"{i}").size_bytes == 3000
assert [info.key for info in store.list()] == [f"{i}" for i in range(6)]
store.copy("0", "copy")
store.remove("copy", "1", "2")
print(json.dumps(store.counters()))
"""


def calls_through(proxy: FaultProxy, url: str) -> dict[str, int]:
    """The counters of a process that makes a few calls."""
    environment = os.environ | {"AWS_ENDPOINT_URL_S3": proxy.url}
    done = subprocess.run(
        [sys.executable, "-c", CALLS, url], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, "\n".join([*proxy.account.log, done.stderr])
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.soak
def test_the_client_counts_every_fault_and_sends_few_requests_more(s3_url):
    with fault_support.proxy_of_the_server(rate=0) as proxy:
        counted = calls_through(proxy, f"{s3_url}/undisturbed")
    assert counted["faults_total"] == counted["resent_total"] == 0
    needed = proxy.account.requests
    faults = requests = 0
    runs = 25
    for seed in range(runs):
        options = {"rate": 0.1, "kinds": COUNTED, "seed": SEED + seed, "patience": 0.3}
        with fault_support.proxy_of_the_server(**options) as proxy:
            counted = calls_through(proxy, f"{s3_url}/{seed}")
        account = proxy.account
        seen = counted["faults_total"] + counted["resent_total"]
        assert counted["hedges_total"] == 0
        assert seen == account.faults, "\n".join([str(counted), *account.log])
        assert counted["requests_total"] == account.requests
        faults += account.faults
        requests += account.requests
    assert faults > 2 * runs
    assert requests <= 1.3 * runs * needed
    print(f"{faults} faults, {requests} requests where {runs * needed} are needed")
