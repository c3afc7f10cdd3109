"""How many scalars a second does hr.summary write from Python until they are flushed, compared with
tf.summary, on the local disk? Figures are per second of wall time, on one pinned core; the programs take
turns.

    ./dev bench log_scalars --json bench/results/<date>/log_scalars.json
"""

import tempfile

import measuring
from measuring import peers

COUNTS = {"headrace": 1_000_000, "tensorflow": 10_000}
INNER_REPEATS = 3


def measure(repeats: int) -> dict:
    measuring.WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=measuring.WORK) as folder:
        programs = {
            who: lambda who=who, count=count: peers.run_project(
                "log_scalars", who, folder, count, INNER_REPEATS, on=measuring.cores()[:1]
            )
            for who, count in COUNTS.items()
        }
        answers, failed = measuring.take_turns(programs, repeats)
        assert not failed, failed
        return answers


def summarise(answers: dict) -> tuple[dict, dict]:
    rates = {who: measuring.wall_rates({who: answers[who]}, count)[who] for who, count in COUNTS.items()}
    key = "hr.summary.Writer.scalar, until flushed, a second (must be >= 500000)"
    return {key: rates["headrace"]}, {key: f"tf.summary: {rates['tensorflow']:.4g}"}


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    answers = measure(arguments.repeats)
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared)


if __name__ == "__main__":
    main()
