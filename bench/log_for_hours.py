"""How many bytes does a training of twelve hours send to the store for the events that it logs? It logs five
scalars every ten seconds and flushes every thirty, on a simulated clock and a store in memory, so that every
run gives the same result (log_for_hours.cc).

    ./dev bench log_for_hours --json bench/results/<date>/log_for_hours.json
"""

import measuring


def summarise(answers: list[dict]) -> tuple[dict, dict]:
    key = "12 h run flushing each 30 s: bytes sent over logged (must be <= 1.05)"
    ratio = measuring.median(answer["sent_bytes"] / answer["logged_bytes"] for answer in answers)
    compared = {key: f"logged: {answers[0]['logged_bytes']:,} bytes; {answers[0]['objects']:,} objects"}
    return {key: ratio}, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=1).parse_args()
    program = measuring.build("headrace_bench_log_for_hours")
    answers = [measuring.run_json([program], measuring.cores()) for _ in range(arguments.repeats)]
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, {"runs": answers}, compared)


if __name__ == "__main__":
    main()
