"""What does it cost to start and to resume a loader, and how many bytes does it fetch?

Uses a simulated dataset of 1 billion records of 1 kB (a thousand shards whose bytes are generated when they
are read). Measures opening it and finding a record in the middle of its order, and the memory for that; then
the time from a state to a loader, and to the batch with its window. Then one epoch of real shards, GZIP and
plain: the bytes fetched from the store, over those of the shards.

    ./dev bench start_loader
"""

import pathlib

import measuring

RECORDS = 20_000
RESUMES = 20


def dataset(compression: str) -> pathlib.Path:
    folder = measuring.DATA / f"start-{compression}-{RECORDS}"
    if not folder.exists():
        arguments = ["--encoder", "hash:512", "--compression", compression, "--quiet"]
        measuring.run(
            [measuring.headrace(), "prepare", measuring.archive(RECORDS), folder, *arguments],
            measuring.cores(),
        )
    return folder


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=5).parse_args()
    program, cores = measuring.build("headrace_bench_start_loader"), measuring.cores()
    raw: dict = {"open": [], "resume": [], "fetch": {}}
    for _ in range(arguments.repeats):
        raw["open"].append(measuring.run_json([program, "open"], cores))
        raw["resume"].append(measuring.run_json([program, "resume", RESUMES], cores))
    for compression in ("gzip", "none"):
        url = f"file://{dataset(compression)}"
        raw["fetch"][compression] = measuring.run_json([program, "fetch", url], cores)
    resumes = raw["resume"]
    summary = {
        "1 billion records: seconds to open and order (must be <= 1)": measuring.median(
            answer["wall_s"] for answer in raw["open"]
        ),
        "1 billion records: most memory of that process, MB (must be <= 64)": measuring.median(
            answer["resident_bytes"] / 1e6 for answer in raw["open"]
        ),
        "state, bytes (must be <= 1000)": max(answer["state_bytes"] for answer in resumes),
        "from a state to a loader, ms (must be <= 50)": measuring.median(
            1000 * value for answer in resumes for value in answer["resume_s"]
        ),
        "from a state to its batch, with its window of 64 MiB, ms": measuring.median(
            1000 * value for answer in resumes for value in answer["first_batch_s"]
        ),
    } | {
        f"bytes fetched in an epoch over those of the shards, {name} (must be <= 1.02)": answer[
            "fetched_bytes"
        ]
        / answer["shard_bytes"]
        for name, answer in raw["fetch"].items()
    }
    measuring.report(arguments.json, summary, raw)


if __name__ == "__main__":
    main()
