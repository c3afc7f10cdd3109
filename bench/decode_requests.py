"""How fast do requests to the server become rows of a batch, and how fast do answers become text? Measures
bytes of JSON per CPU-second of one core, beside the time of base/json.h's parser alone for the same body; and
the cost of a small request.

    ./dev bench decode_requests --json bench/results/<date>/decode_requests.json
"""

import statistics

import measuring

CALLS = 100
SMALL_BYTES = 1000


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=5).parse_args()
    program = measuring.build("headrace_bench_decode_requests")
    cases = measuring.run_json([program, CALLS, arguments.repeats], measuring.cores())["cases"]
    summary = {}
    for case in cases:
        seconds = statistics.median(case["cpu_seconds"]) / case["calls"]
        if case["bytes"] < SMALL_BYTES:
            summary[f"{case['name']}: CPU ns of a request"] = 1e9 * seconds
        else:
            required = " (must be >= 0.5)" if case["name"] == "REST v1, an image" else ""
            summary[f"{case['name']}: GB/s{required}"] = case["bytes"] / seconds / 1e9
    measuring.report(arguments.json, summary, {"cases": cases}, {})


if __name__ == "__main__":
    main()
