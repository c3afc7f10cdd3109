"""How fast do rows come from Apache Ignite on the same machine? Figures are per second of wall time, with
nodes and client on the same two cores; each program is a separate process, and they take turns.

    ./dev bench ignite --json bench/results/<date>/ignite.json
    ./dev bench ignite --rows 200 --objects 10000 --repeats 1      a try

Rows of 1 MB: Headrace's scan beside a null client, which sends the same requests and discards the answers,
and beside the scan of Java's thin client; from one node and from three. Objects of 4 kB that contain a vector
and an object: batches of 128 rows in Python, beside pyignite's (with a tenth of the rows) and beside Java's
thin client, which scans each partition on four threads. Before the measurement, each node answers about as
many requests, so that Java has compiled its code. The dataset that TensorFlow had for Ignite was said to read
850 MB/s from one node.
"""

import measuring
from measuring import ignite_nodes, peers

ROW_BYTES = 1_000_000
OBJECT_BYTES = 3970  # size in Ignite's encoding
INNER_REPEATS = 2
JAVA_PAGE_BYTES = 4 << 20
JAVA_THREADS = 4
PYIGNITE_SHARE = 10
PARTITIONS = 1024
NODES = 3
WARM_PASSES = 8  # passes over all rows on the single node
OLD_DATA_SET = "TensorFlow's old data set: 0.85 GB/s"


def fill(program, addresses: str, rows: int, objects: int) -> None:
    on = measuring.cores()
    measuring.run([program, "fill-large", addresses, "LARGE", rows, ROW_BYTES], on)
    if objects:
        measuring.run([program, "fill-objects", addresses, "OBJECTS", objects], on)
        measuring.run([program, "fill-objects", addresses, "FEW", objects // PYIGNITE_SHARE], on)


def warm_up(program, passes: dict[str, int]) -> None:
    """Warms up the nodes until Java has compiled its code: nodes that share the rows each get a part of the
    requests."""
    for addresses, count in passes.items():
        measuring.run([program, "scan", addresses, "LARGE", count], measuring.cores())


def region_mib(rows: int, objects: int) -> int:
    """Twice the size of the data, because partitions are not filled equally."""
    return 512 + 2 * (rows * ROW_BYTES + objects * OBJECT_BYTES) // (1 << 20)


def programs(program, one: str, three: str) -> dict:
    def ours(*arguments) -> dict:
        return measuring.run_json([program, *arguments], measuring.cores())

    java_rows = JAVA_PAGE_BYTES // ROW_BYTES, JAVA_PAGE_BYTES // OBJECT_BYTES
    scan = ("LARGE", INNER_REPEATS)
    objects = ("OBJECTS", INNER_REPEATS)
    return {
        "Headrace, rows": lambda: ours("scan", one, *scan),
        "null client, rows": lambda: ours("null", one, *scan, 1, PARTITIONS),
        "Java, rows": lambda: ignite_nodes.java("ScanIgnite", "scan", one, *scan, java_rows[0]),
        "Headrace, rows of three nodes": lambda: ours("scan", three, *scan),
        "Headrace, batches": lambda: peers.run_project("load_ignite", one, *objects, on=measuring.cores()),
        "Java, batches": lambda: ignite_nodes.java(
            "ScanIgnite", "batches", one, *objects, java_rows[1], JAVA_THREADS
        ),
        "pyignite, batches": lambda: peers.run_own(
            "load_ignite_pyignite", one, "FEW", 1, java_rows[1], on=measuring.cores(), environment="ignite"
        ),
    }


def gigabytes_a_second(answers: dict) -> dict[str, float]:
    """The rate of each program that has answered, by the records that it has read."""
    rates = {}
    for name, of_name in answers.items():
        if of_name:
            size = ROW_BYTES if "rows" in name else OBJECT_BYTES
            rates |= measuring.wall_rates({name: of_name}, of_name[0]["records"] * size / 1e9)
    return rates


def summarise(answers: dict, rows: int, objects: int) -> tuple[dict, dict]:
    rates = gigabytes_a_second(answers)
    costs = measuring.costs(answers, rows * ROW_BYTES / 1e9)
    batch_costs = measuring.costs(answers, objects * OBJECT_BYTES / 1e9)
    of_rows, of_objects = f"{rows:,} rows of 1 MB", f"{objects:,} objects of 4 kB, batches"
    wanted = [
        (f"{of_rows}, over a null client (must be >= 0.95)", "Headrace, rows", "null client, rows"),
        (f"{of_rows}, over Java's thin client (must be >= 2)", "Headrace, rows", "Java, rows"),
        (
            f"{of_rows}, three nodes over one (must be >= 0.9)",
            "Headrace, rows of three nodes",
            "Headrace, rows",
        ),
        (f"{of_objects}, over pyignite (must be >= 10)", "Headrace, batches", "pyignite, batches"),
        (f"{of_objects}, over Java's, by partition (must be >= 1.5)", "Headrace, batches", "Java, batches"),
    ]
    summary, compared = {}, {}
    for key, name, other in wanted:
        if name in rates and other in rates:
            summary[key] = rates[name] / rates[other]
            compared[key] = f"{other}: {rates[other]:.3f} GB/s; {name}: {rates[name]:.3f}"
    cost_key = f"{of_rows}: client's CPU-s per GB (must be <= 0.25)"
    summary[cost_key] = costs["Headrace, rows"]
    compared[cost_key] = f"null client {costs['null client, rows']:.3f}; {OLD_DATA_SET}"
    if "Headrace, batches" in batch_costs:
        summary[f"{of_objects}: client's CPU-s per GB"] = batch_costs["Headrace, batches"]
    summary |= {f"{name}: GB/s": rate for name, rate in rates.items()}
    return summary, compared


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=3)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--objects", type=int, default=200_000)
    arguments = parser.parse_args()
    rows, objects = arguments.rows, arguments.objects
    peers.install("ignite")
    program = measuring.build("headrace_bench_ignite_client")
    with (
        ignite_nodes.nodes(1, region_mib(rows, objects)) as one,
        ignite_nodes.nodes(NODES, region_mib(rows, 0)) as three,
    ):
        fill(program, one, rows, objects)
        fill(program, three, rows, 0)
        warm_up(program, {one: WARM_PASSES, three: WARM_PASSES * NODES})
        answers, failed = measuring.take_turns(programs(program, one, three), arguments.repeats)
    summary, compared = summarise(answers, rows, objects)
    measuring.report(arguments.json, summary, answers, compared, **peers.account(failed, "ignite"))


if __name__ == "__main__":
    main()
