"""How fast do 20,000 objects of 4 kB come from MinIO on the same machine? The competitors are boto3 with
threads and obstore's asynchronous reads, all from Python; Headrace is also measured in C++. Figures are per
second of wall time, with server and client on the same two cores; each program is a separate process, and
they take turns.

    ./dev bench read_small_objects --json bench/results/<date>/read_small_objects.json
"""

import measuring
from measuring import object_store, peers

COUNT = 20_000
SIZE = 4096
PREFIX = "small-"
INNER_REPEATS = 1
LEAST = {"boto3": 5, "obstore": 1.5}


def in_cpp(program) -> dict:
    url = f"s3://{object_store.BUCKET}/{PREFIX}"
    return measuring.run_json([program, "read_many", url, COUNT, SIZE, INNER_REPEATS], measuring.cores())


def library(name: str) -> dict | str:
    return object_store.library("read_many", name, PREFIX, COUNT, INNER_REPEATS)


def measure(program, repeats: int) -> tuple[dict, dict]:
    with object_store.minio():
        object_store.write_small(PREFIX, COUNT, SIZE)
        programs = {"headrace, C++": lambda: in_cpp(program)}
        programs |= {name: (lambda name=name: library(name)) for name in ("headrace", *LEAST)}
        return measuring.take_turns(programs, repeats)


def summarise(answers: dict) -> tuple[dict, dict]:
    rates, costs = measuring.wall_rates(answers, COUNT), measuring.costs(answers, COUNT)
    summary, compared = {}, {}
    for name, least in LEAST.items():
        if name in rates:
            key = f"20,000 objects of 4 kB, over {name} (must be >= {least})"
            summary[key] = rates["headrace"] / rates[name]
            compared[key] = f"{rates[name]:,.0f} objects/s; Headrace {rates['headrace']:,.0f}"
    summary |= {f"4 kB, {name}: objects per second": rate for name, rate in rates.items()}
    summary |= {f"4 kB, {name}: client's CPU-µs per object": 1e6 * cost for name, cost in costs.items()}
    return summary, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    peers.install()
    answers, failed = measure(measuring.build("headrace_bench_store_client"), arguments.repeats)
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared, **peers.account(failed))


if __name__ == "__main__":
    main()
