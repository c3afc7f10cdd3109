"""How fast do GZIP shards of 512 floats and a text become checked records? The competitors are libdeflate
alone, which inflates the same bytes in memory into buffers of the right size, and tf.data. There are two
kinds of shards: with members of 1 MiB, as `headrace prepare` writes them, and with one member, as TensorFlow
writes them. Figures are examples per second of CPU time on one pinned core; each program is a separate
process, and they take turns.

    ./dev bench inflate_shards --json bench/results/<date>/inflate_shards.json
"""

import pathlib

import measuring
from measuring import peers

SHARDS, SHARD_RECORDS = 20, 500
EXAMPLES = SHARDS * SHARD_RECORDS
MEMBER_BYTES = {"members": 1 << 20, "one member": 1 << 40}
INNER_REPEATS = 5
BATCH = 128


def write(program: pathlib.Path, kind: str) -> pathlib.Path:
    folder = measuring.DATA / f"inflate-{kind.replace(' ', '-')}-{SHARDS}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        measuring.run([program, "write", folder, SHARDS, MEMBER_BYTES[kind]], measuring.cores())
    return folder


def programs(program: pathlib.Path, folder: pathlib.Path, core: int) -> dict:
    def ours(how: str) -> dict:
        return measuring.run_json([program, how, folder, INNER_REPEATS], [core])

    def tf_data() -> dict | str:
        arguments = (BATCH, "GZIP", 0, INNER_REPEATS, *sorted(folder.iterdir()))
        return peers.run_project("scan_tf_data", *arguments, on=[core])

    return {
        "libdeflate alone": lambda: ours("libdeflate"),
        "headrace, inflating": lambda: ours("inflate"),
        "headrace": lambda: ours("scan"),
        "tf.data": tf_data,
    }


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    program, core = measuring.build("headrace_bench_inflate_shards"), measuring.cores()[0]
    summary, compared, raw, missing = {}, {}, {}, {}
    for kind in MEMBER_BYTES:
        folder = write(program, kind)
        raw[kind], failed = measuring.take_turns(programs(program, folder, core), arguments.repeats)
        missing |= {f"{kind}, {name}": reason for name, reason in failed.items()}
        rates = {name: measuring.rate(answers, EXAMPLES) for name, answers in raw[kind].items() if answers}
        key = f"GZIP shards of {kind} to records, over libdeflate alone (must be >= 0.9)"
        summary[key] = rates["headrace"] / rates["libdeflate alone"]
        compared[key] = (
            f"{rates['libdeflate alone']:,.0f} examples/CPU-s; Headrace {rates['headrace']:,.0f}; "
            f"tf.data {rates.get('tf.data', float('nan')):,.0f}"
        )
        summary |= {f"{kind}, {name}: examples per CPU-second": rate for name, rate in rates.items()}
    measuring.report(arguments.json, summary, raw, compared, missing=missing)


if __name__ == "__main__":
    main()
