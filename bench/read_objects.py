"""How fast does a large object come from MinIO on the same machine, and what does it cost the client? The
competitors are raw sockets and raw OpenSSL, which only receive as many ranges at once, and the common
libraries. Figures are per second of wall time, with server and client on the same two cores, into memory that
was used before; each program is a separate process, and they take turns.

    ./dev bench read_objects --json bench/results/<date>/read_objects.json

The raw reader is measured with 8 and 16 connections, and a library in each of its usual settings or ways of
use; Headrace is compared with the best. libcurl gets the ranges to request, and copies them from its buffer
to their places: it is a reference for CPU time.
"""

import measuring
from measuring import object_store, peers

SIZE = 1 << 30
CHUNK_BYTES = 8 << 20
KEY = "large"
CONNECTIONS = (8, 16)
INNER_REPEATS = 3
LIBRARIES = (
    "boto3",
    "boto3, readinto",
    "obstore",
    "obstore, get_ranges",
    "tensorstore",
    "pyarrow, readinto",
    "s3fs",
    "s3torchconnector",
    "awscrt",
)
CURL = {"libcurl": 1, "libcurl, 8 ranges at once": 8}


def raw(program, scheme: str, connections: int) -> dict:
    target = object_store.readable_target(KEY)
    arguments = (object_store.host(), scheme, connections, CHUNK_BYTES, target, SIZE, INNER_REPEATS)
    return measuring.run_json([program, "raw_read", *arguments], measuring.cores())


def ours(program) -> dict:
    url = f"s3://{object_store.BUCKET}/{KEY}"
    return measuring.run_json([program, "read", url, SIZE, INNER_REPEATS], measuring.cores())


def library(name: str) -> dict | str:
    return object_store.library("read", name, KEY, SIZE, INNER_REPEATS)


def curl(program, connections: int) -> dict:
    url = f"http://{object_store.host()}{object_store.readable_target(KEY)}"
    arguments = (url, connections, SIZE if connections == 1 else CHUNK_BYTES, SIZE, INNER_REPEATS)
    return measuring.run_json([program, *arguments], measuring.cores())


def measure(program, tls: bool, repeats: int) -> tuple[dict, dict]:
    with object_store.minio(tls):
        url = f"s3://{object_store.BUCKET}/{KEY}"
        measuring.run([program, "write", url, SIZE, 1], measuring.cores())
        programs, scheme = {"headrace": lambda: ours(program)}, "tls" if tls else "plain"
        for count in CONNECTIONS:
            programs[f"raw, {count} connections"] = lambda count=count: raw(program, scheme, count)
        if not tls:
            client = measuring.build("headrace_bench_curl_client")
            programs |= {name: (lambda count=count: curl(client, count)) for name, count in CURL.items()}
            programs |= {name: (lambda name=name: library(name)) for name in LIBRARIES}
        return measuring.take_turns(programs, repeats)


def summarise(plain: dict, tls: dict) -> tuple[dict, dict]:
    summary, compared = {}, {}
    for name, answers, least in (("plain HTTP", plain, 0.9), ("TLS", tls, 0.85)):
        rates = measuring.wall_rates(answers, SIZE / 1e9)
        best = max((each for each in rates if each.startswith("raw")), key=rates.__getitem__)
        key = f"GET of 1 GiB, {name}, over a raw reader (must be >= {least})"
        summary[key] = rates["headrace"] / rates[best]
        compared[key] = f"{best}: {rates[best]:.3g} GB/s; Headrace {rates['headrace']:.3g}"
        summary |= {f"GET of 1 GiB, {name}, {each}: GB per second": rate for each, rate in rates.items()}
    rates, costs = measuring.wall_rates(plain, SIZE / 1e9), measuring.costs(plain, SIZE / 1e9)
    best = max((name for name in rates if name in LIBRARIES), key=rates.__getitem__)
    key = "GET of 1 GiB, plain HTTP, over the fastest library (must be >= 1.5)"
    summary[key] = rates["headrace"] / rates[best]
    compared[key] = f"{best}: {rates[best]:.3g} GB/s; Headrace {rates['headrace']:.3g}"
    best = min((name for name in costs if name in (*CURL, *LIBRARIES)), key=costs.__getitem__)
    key = "GET of 1 GiB, plain HTTP: client's CPU, over the lowest of all clients' (must be <= 1)"
    summary[key] = costs["headrace"] / costs[best]
    compared[key] = f"{best}: {costs[best]:.3g} CPU-s/GB; Headrace {costs['headrace']:.3g}"
    summary |= {f"GET of 1 GiB, plain HTTP, {name}: CPU-s per GB": cost for name, cost in costs.items()}
    return summary, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    program = measuring.build("headrace_bench_store_client")
    peers.install()
    plain, failed = measure(program, tls=False, repeats=arguments.repeats)
    tls, _ = measure(program, tls=True, repeats=arguments.repeats)
    summary, compared = summarise(plain, tls)
    measuring.report(arguments.json, summary, {"plain": plain, "tls": tls}, compared, **peers.account(failed))


if __name__ == "__main__":
    main()
