"""How fast does 1 GiB in memory become an object in MinIO on the same machine, and what does it cost the
client? The competitors are raw sockets, which only send presigned PUTs of as many parts at once, and the
common libraries. Figures are per second of wall time, with server and client on the same two cores; each
program is a separate process, and they take turns.

    ./dev bench write_objects --json bench/results/<date>/write_objects.json

Headrace computes the CRC32C of every part and of the whole, and begins and completes the upload; the raw
sender does neither.
"""

import pathlib
import tempfile

import measuring
from measuring import object_store, peers

SIZE = 1 << 30
PART_BYTES = 8 << 20
CONNECTIONS = (4, 8)
INNER_REPEATS = 2
LIBRARIES = ("boto3", "obstore", "pyarrow", "s3fs")


def raw(program, connections: int) -> dict:
    with tempfile.NamedTemporaryFile() as file:
        targets = pathlib.Path(file.name)
        object_store.part_targets("raw", SIZE // PART_BYTES, INNER_REPEATS + 1, targets)
        arguments = (object_store.host(), "plain", connections, PART_BYTES, targets, SIZE, INNER_REPEATS)
        answer = measuring.run_json([program, "raw_write", *arguments], measuring.cores())
    object_store.abort_uploads("raw", INNER_REPEATS + 1)
    return answer


def ours(program) -> dict:
    url = f"s3://{object_store.BUCKET}/ours"
    return measuring.run_json([program, "write", url, SIZE, INNER_REPEATS], measuring.cores())


def library(name: str) -> dict | str:
    return object_store.library("write", name, "theirs", SIZE, INNER_REPEATS)


def measure(program, repeats: int) -> tuple[dict, dict]:
    with object_store.minio():
        programs = {"headrace": lambda: ours(program)}
        for count in CONNECTIONS:
            programs[f"raw, {count} connections"] = lambda count=count: raw(program, count)
        programs |= {name: (lambda name=name: library(name)) for name in LIBRARIES}
        return measuring.take_turns(programs, repeats)


def summarise(answers: dict) -> tuple[dict, dict]:
    rates, costs = measuring.wall_rates(answers, SIZE / 1e9), measuring.costs(answers, SIZE / 1e9)
    best = max((name for name in rates if name.startswith("raw")), key=rates.__getitem__)
    key = "PUT of 1 GiB over raw presigned PUTs (must be >= 0.9)"
    summary = {key: rates["headrace"] / rates[best]}
    compared = {key: f"{best}: {rates[best]:.3g} GB/s; Headrace {rates['headrace']:.3g}"}
    best = min((name for name in costs if name in LIBRARIES), key=costs.__getitem__)
    key = "PUT of 1 GiB: client's CPU, over the lowest of the libraries' (must be <= 0.6)"
    summary[key] = costs["headrace"] / costs[best]
    compared[key] = f"{best}: {costs[best]:.3g} CPU-s/GB; Headrace {costs['headrace']:.3g}"
    summary |= {f"PUT of 1 GiB, {name}: GB per second": rate for name, rate in rates.items()}
    summary |= {f"PUT of 1 GiB, {name}: CPU-s per GB": cost for name, cost in costs.items()}
    return summary, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    peers.install()
    answers, failed = measure(measuring.build("headrace_bench_store_client"), arguments.repeats)
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared, **peers.account(failed))


if __name__ == "__main__":
    main()
