"""How fast does an uncompressed TFRecord file in the page cache become checked records? The competitors are a
loop of read() that ignores the bytes, tf.data, array_record, and the packages tfrecord and Grain, which do
not verify checksums. Records have 100 kB or 128 B. Figures are per second of CPU time on one pinned core;
each program is a separate process, and they take turns.

    ./dev bench scan_records --json bench/results/<date>/scan_records.json

A peer with settings is measured with several of them, and compared at its best.
"""

import pathlib

import measuring
from measuring import peers

LARGE, SMALL = "100 kB", "128 B"
RECORD_BYTES = {LARGE: 100_000, SMALL: 128}
COUNTS = {LARGE: 10_000, SMALL: 2_000_000}
FRAMING_BYTES = 16
PIECE_BYTES = 4 << 20
INNER_REPEATS = 3
CHECKING = ("tf.data", "tf.data, buffer 1 MiB", "array_record")
BATCH = {LARGE: 32, SMALL: 1024}  # of tf.data; larger ones are no faster
GROUP = {LARGE: 1, SMALL: 1024}  # array_record's group size, the faster one for each kind


def write(program: pathlib.Path, kind: str) -> pathlib.Path:
    """A file that is in the page cache."""
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    target = measuring.DATA / f"scan-{RECORD_BYTES[kind]}-{COUNTS[kind]}.tfrecord"
    if not target.exists():
        command = [program, "write", f"file://{target}", RECORD_BYTES[kind], COUNTS[kind]]
        measuring.run(command, measuring.cores())
    return target


def programs(program: pathlib.Path, file: pathlib.Path, kind: str, core: int) -> dict:
    """Name → a function that runs the program once and returns its answer."""

    def ours(how: str) -> dict:
        return measuring.run_json([program, how, f"file://{file}", PIECE_BYTES, INNER_REPEATS], [core])

    def tf_data(buffer_bytes: int) -> dict | str:
        arguments = (BATCH[kind], "none", buffer_bytes, INNER_REPEATS, file)
        return peers.run_project("scan_tf_data", *arguments, on=[core])

    def own(name: str, *arguments) -> dict | str:
        return peers.run_own(name, file, *arguments, INNER_REPEATS, on=[core])

    return {
        "read()": lambda: ours("read"),
        "headrace": lambda: ours("scan"),
        "tf.data": lambda: tf_data(0),
        "tf.data, buffer 1 MiB": lambda: tf_data(1 << 20),
        "array_record": lambda: own("scan_array_record", GROUP[kind]),
        "tfrecord, no checksums": lambda: own("scan_tfrecord"),
        "grain, no checksums": lambda: own("scan_grain"),
    }


def summarise(kind: str, raw: dict) -> tuple[dict, dict]:
    count = COUNTS[kind]
    rates = {name: measuring.rate(answers, count) for name, answers in raw.items() if answers}
    best = max((name for name in CHECKING if name in rates), key=rates.__getitem__)
    over_best = rates["headrace"] / rates[best]
    summary, compared = {}, {}
    if kind == LARGE:
        scale, unit = (RECORD_BYTES[kind] + FRAMING_BYTES) / 1e9, "GB"
        key = f"scan {kind} records, over read() alone (must be >= 0.6)"
        summary[key] = rates["headrace"] / rates["read()"]
        compared[key] = f"{rates['read()'] * scale:.3g} GB/CPU-s; Headrace {rates['headrace'] * scale:.3g}"
        key = f"scan {kind} records, over the fastest peer that checks them (must be >= 4)"
    else:
        scale, unit = 1e-6, "million records"
        summary[f"scan {kind} records, million per CPU-second (must be >= 20)"] = rates["headrace"] * scale
        key = f"scan {kind} records, over the fastest peer that checks them (must be >= 5)"
    summary[key] = over_best
    compared[key] = (
        f"{best}: {rates[best] * scale:.3g} {unit}/CPU-s; Headrace {rates['headrace'] * scale:.3g}"
    )
    for name, rate in rates.items():
        summary[f"{kind}, {name}: {unit} per CPU-second"] = rate * scale
    return summary, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    program, core = measuring.build("headrace_bench_scan_records"), measuring.cores()[0]
    summary, compared, raw, missing = {}, {}, {}, dict(peers.install())
    for kind in (LARGE, SMALL):
        file = write(program, kind)
        raw[kind], failed = measuring.take_turns(programs(program, file, kind, core), arguments.repeats)
        missing |= {f"{kind}, {name}": reason for name, reason in failed.items()}
        for target, part in zip((summary, compared), summarise(kind, raw[kind]), strict=True):
            target.update(part)
    more = {"missing": missing, "installed_peers": peers.installed()}
    measuring.report(arguments.json, summary, raw, compared, **more)


if __name__ == "__main__":
    main()
