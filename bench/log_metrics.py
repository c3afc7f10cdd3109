"""How long does it take to log one scalar into a run, until the call returns: MetricWriter::log in C++,
run.log in Python? Runs on one pinned core, which also writes journal and segments. And how much does
`hr.keras.Track` slow down a training that logs every step of some milliseconds? That is the CPU time of the
callback over that of a step. (Whole epochs differ among each other by more than the callback's cost.)

    ./dev bench log_metrics --json bench/results/<date>/log_metrics.json
"""

import tempfile

import measuring
from measuring import peers

COUNT = 200_000
REPEATS = 10
STEPS = 200
EPOCHS = 4


def measure() -> dict:
    measuring.WORK.mkdir(parents=True, exist_ok=True)
    core = measuring.cores()[:1]
    with tempfile.TemporaryDirectory(dir=measuring.WORK) as folder:
        program = measuring.build("headrace_bench_log_metrics")
        answers = {
            "c++": measuring.run_json([program, f"{folder}/c++", COUNT, REPEATS], core),
            "python": peers.run_project("log_metrics", "calls", folder, COUNT, REPEATS, on=core),
            "fit": peers.run_project("log_metrics", "fit", folder, STEPS, EPOCHS, on=core),
        }
    failed = [name for name, answer in answers.items() if isinstance(answer, str)]
    assert not failed, answers
    return answers


def summarise(answers: dict) -> dict:
    times = answers["fit"]["times"]
    pairs = zip(times["tracked"], times["alone"], strict=True)
    slowed = measuring.median(tracked["cpu_s"] / alone["cpu_s"] for tracked, alone in pairs)
    step_s = measuring.median(alone["cpu_s"] for alone in times["alone"]) / STEPS
    tracking = answers["fit"]["callback_s"] / step_s
    microseconds = {who: measuring.median(answers[who]["wall_s"]) / COUNT * 1e6 for who in ("c++", "python")}
    return {
        "log of one scalar in C++, until it returns, µs (must be <= 0.3)": microseconds["c++"],
        "log of one scalar in Python, until it returns, µs (must be <= 2)": microseconds["python"],
        "training slowed by tracking every step, % of the CPU time of a step (must be <= 1)": tracking * 100,
        "CPU time of whole epochs, tracked, over those that are not: median of pairs": slowed,
        "CPU time of a step that is not tracked, ms": step_s * 1e3,
    }


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=1).parse_args()
    answers = measure()
    measuring.report(arguments.json, summarise(answers), answers)


if __name__ == "__main__":
    main()
