"""How long does a read of 16 MiB take from a store that answers two of a hundred requests two seconds late?
MinIO runs behind a relay that delays them (late_relay.cc). Reads follow one another, on a client that has
already learnt the usual latency.

    ./dev bench late_answers --json bench/results/<date>/late_answers.json
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator

import measuring
from measuring import object_store

SIZE = 16 << 20
KEY = "late"
LATE_PART, DELAY_MS = 0.02, 2000
WARM_UP_READS = 100
REQUESTS_A_READ = 3  # version and size, two ranges of 8 MiB


@contextlib.contextmanager
def relay(seed: int, account: dict) -> Iterator[None]:
    """Inside the block, AWS_ENDPOINT_URL_S3 names a relay in front of the server; afterwards `account` holds
    the number of requests and the number of late ones."""
    program = measuring.build("headrace_bench_late_relay")
    server = object_store.host()
    arguments = [program, server.rpartition(":")[2], str(LATE_PART), str(DELAY_MS), str(seed)]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    os.environ["AWS_ENDPOINT_URL_S3"] = f"http://127.0.0.1:{process.stdout.readline().strip()}"
    try:
        yield
        account |= json.loads(process.communicate()[0])
    finally:
        process.kill()
        process.wait()
        os.environ["AWS_ENDPOINT_URL_S3"] = f"http://{server}"


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def measure(reads: int, repeats: int) -> list[dict]:
    program, url = (
        measuring.build("headrace_bench_store_client"),
        f"s3://{object_store.BUCKET}/{KEY}",
    )
    answers = []
    with object_store.minio():
        measuring.run([program, "write", url, SIZE, 1], measuring.cores())
        for seed in range(repeats):
            account: dict = {}
            with relay(seed, account):
                command = [program, "latency", url, SIZE, reads + WARM_UP_READS]
                answer = measuring.run_json(command, measuring.cores())
            answers.append(answer | {"relay": account})
    return answers


def summarise(answers: list[dict], reads: int) -> tuple[dict, dict]:
    of_part = {
        part: measuring.median(quantile(answer["wall_s"][WARM_UP_READS:], part) for answer in answers)
        for part in (0.5, 0.99, 0.999)
    }
    needed = REQUESTS_A_READ * (reads + WARM_UP_READS)
    extra = measuring.median(answer["relay"]["requests"] / needed - 1 for answer in answers)
    keys = {
        "2 % of requests late by 2 s, reads of 16 MiB: p99 over p50 (must be <= 2)": of_part[0.99]
        / of_part[0.5],
        "the same: p99.9 over p50 (must be <= 4)": of_part[0.999] / of_part[0.5],
        "the same: extra requests, percent (must be <= 5)": 100 * extra,
    }
    compared = {key: f"p50 {1e3 * of_part[0.5]:.3g} ms, {reads:,} reads" for key in keys}
    more = {f"the same: p{100 * part:g}, ms": 1e3 * value for part, value in of_part.items()}
    return keys | more, compared


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=3)
    parser.add_argument("--reads", type=int, default=3000)
    arguments = parser.parse_args()
    answers = measure(arguments.reads, arguments.repeats)
    summary, compared = summarise(answers, arguments.reads)
    measuring.report(arguments.json, summary, {"runs": answers}, compared)


if __name__ == "__main__":
    main()
