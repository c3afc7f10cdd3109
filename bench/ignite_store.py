"""How fast does 1 GiB become an object in the memory of an Apache Ignite node, and come back? Compares with
the client alone: putAll and getAll of as many entries of 1 MiB, and the scan that datasets use. Figures are
per second of wall time, with node and client on the same two cores; each program is a separate process, and
they take turns.

    ./dev bench ignite_store --json bench/results/<date>/ignite_store.json

The store computes a CRC32C of every chunk and of the whole; the others compute nothing.
"""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator

import measuring

SIZE = 1 << 30
REGION_MIB = 3_500  # the object, the one that replaces it, and the raw entries
INNER_REPEATS = 2
READS = ("getAll", "scan")


@contextlib.contextmanager
def node() -> Iterator[str]:
    script = measuring.ROOT / "tools" / "servers" / "ignite.sh"
    with tempfile.TemporaryDirectory() as folder:
        command = [script, "start", folder, "--region-mib", str(REGION_MIB), "--optimized"]
        started = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        settings = dict(word.split("=", 1) for word in started.stdout.split() if "=" in word)
        try:
            yield settings["HEADRACE_IGNITE_ADDRESSES"]
        finally:
            subprocess.run([script, "stop", folder], check=True)


def measure(repeats: int) -> tuple[dict, dict]:
    store_client = measuring.build("headrace_bench_store_client")
    raw_client = measuring.build("headrace_bench_ignite_store")
    with node() as address:

        def ours(what: str) -> dict:
            url = f"ignite://{address}/bench/object"
            return measuring.run_json([store_client, what, url, SIZE, INNER_REPEATS], measuring.cores())

        def raw(what: str) -> dict:
            command = [raw_client, what, address, "raw", SIZE, INNER_REPEATS]
            return measuring.run_json(command, measuring.cores())

        programs = {
            "putAll": lambda: raw("put_all"),
            "store, write": lambda: ours("write"),
            "getAll": lambda: raw("get_all"),
            "scan": lambda: raw("scan"),
            "store, read": lambda: ours("read"),
        }
        return measuring.take_turns(programs, repeats)


def summarise(answers: dict) -> tuple[dict, dict]:
    rates, costs = measuring.wall_rates(answers, SIZE / 1e9), measuring.costs(answers, SIZE / 1e9)
    summary, compared = {}, {}
    for own, peers in (("store, write", ("putAll",)), ("store, read", READS)):
        best = max(peers, key=rates.__getitem__)
        key = f"1 GiB in Ignite, {own}, over {' and '.join(peers)} (must be >= 0.8)"
        summary[key] = rates[own] / rates[best]
        compared[key] = f"{best}: {rates[best]:.3g} GB/s; Headrace {rates[own]:.3g}"
    summary |= {f"1 GiB in Ignite, {name}: GB per second": rate for name, rate in rates.items()}
    summary |= {f"1 GiB in Ignite, {name}: CPU-s per GB": cost for name, cost in costs.items()}
    return summary, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    answers, _ = measure(arguments.repeats)
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared)


if __name__ == "__main__":
    main()
