"""How much memory do 10,000 queued reads of one call take? They read ranges of 20 kB of one object in MinIO
into the caller's memory, 200 MB; the question is how much the client takes in addition.

    ./dev bench queued_reads --json bench/results/<date>/queued_reads.json
"""

import measuring
from measuring import object_store

COUNT, SIZE = 10_000, 20_000
BUDGET_MIB = 256


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    program = measuring.build("headrace_bench_store_client")
    url = f"s3://{object_store.BUCKET}/queued"
    with object_store.minio():
        measuring.run([program, "write", url, COUNT * SIZE, 1], measuring.cores())
        command = [program, "queue", url, COUNT, SIZE]
        runs = [
            measuring.run(command, measuring.cores(), watch_memory=True) for _ in range(arguments.repeats)
        ]
    most = measuring.median(run.anonymous_bytes for run in runs) / (1 << 20)
    key = f"10,000 queued reads: the most anonymous memory, MiB (must be <= {BUDGET_MIB})"
    compared = {key: f"of which the caller's {COUNT * SIZE / (1 << 20):.0f} MiB"}
    raw = {"anonymous_bytes": [run.anonymous_bytes for run in runs], "wall_s": [run.wall_s for run in runs]}
    measuring.report(arguments.json, {key: most}, raw, compared)


if __name__ == "__main__":
    main()
