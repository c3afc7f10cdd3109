"""What does a request cost in the batcher of `headrace serve`? Measures the CPU time of a request of one row
of 512 floats, from reserving its row to its answer, with threads that never wait; and, for comparison, a copy
of the row alone.

    ./dev bench serve_batches --json bench/results/<date>/serve_batches.json
"""

import statistics

import measuring

CLIENTS = (1, 2)
REQUESTS = 400_000


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=5).parse_args()
    program = measuring.build("headrace_bench_serve_batches")
    raw, summary = {}, {}
    for clients in CLIENTS:
        command = [program, clients, REQUESTS, arguments.repeats]
        repeats = raw[f"{clients} clients"] = measuring.run_json(command, measuring.cores())["repeats"]
        cost = statistics.median(1e9 * one["cpu_seconds"] / one["requests"] for one in repeats)
        copies = statistics.median(1e9 * one["copies"] / REQUESTS for one in repeats)
        rows = statistics.median(one["requests"] / one["batches"] for one in repeats)
        summary[f"{clients} clients: CPU ns of a request"] = cost
        summary[f"{clients} clients: of which copying the row"] = copies
        summary[f"{clients} clients: rows of a batch"] = rows
    measuring.report(arguments.json, summary, raw, {})


if __name__ == "__main__":
    main()
