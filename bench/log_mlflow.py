"""How many times a second can a program call mlflow.log_metric, one call after another, the end of the run
included? Compares Headrace's plug-in, a plug-in that stores nothing (MLflow's own Python code is the limit),
and MLflow's own stores: files and SQLite. Runs on the local disk, on one pinned core, with the same MLflow
for all; the programs take turns.

    ./dev bench log_mlflow --json bench/results/<date>/log_mlflow.json
"""

import tempfile

import measuring
from measuring import peers

COUNTS = {"headrace": 5_000, "nothing": 5_000, "files": 1_000, "sqlite": 100}
INNER_REPEATS = 3


def measure(repeats: int) -> tuple[dict, dict]:
    measuring.WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=measuring.WORK) as folder:
        programs = {
            who: lambda who=who, count=count: peers.run_own(
                "log_mlflow",
                who,
                folder,
                count,
                INNER_REPEATS,
                on=measuring.cores()[:1],
                environment="mlflow",
            )
            for who, count in COUNTS.items()
        }
        return measuring.take_turns(programs, repeats)


def summarise(answers: dict) -> tuple[dict, dict]:
    rates = {
        who: measuring.wall_rates({who: answers[who]}, count)[who]
        for who, count in COUNTS.items()
        if answers.get(who)
    }
    share = rates["headrace"] / rates["nothing"]
    key = "of the calls a second of a plug-in that keeps nothing (must be >= 0.8)"
    compared = {"log_metric calls a second": {who: round(rate) for who, rate in rates.items()}}
    return {key: share}, {key: str(compared)}


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    answers, failed = measure(arguments.repeats)
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared | peers.account(failed, "mlflow"))


if __name__ == "__main__":
    main()
