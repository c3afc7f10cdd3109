"""How many requests does a run of hr.init make at its start, during the run, and at its end? Four runs log at
once for four minutes into MinIO: only samples of the machine; two scalars ten times a second; also lines of
the console; also texts.

    ./dev bench run_requests --json bench/results/<date>/run_requests.json
"""

import concurrent.futures

import measuring
from measuring import object_store, peers

KINDS = ("idle", "log", "console", "media")
SECONDS = 240


def measure() -> dict[str, dict]:
    with object_store.minio(), concurrent.futures.ThreadPoolExecutor(len(KINDS)) as threads:
        root = f"s3://{object_store.BUCKET}"
        runs = {
            kind: threads.submit(
                peers.run_project, "log_run", f"{root}/{kind}", kind, SECONDS, on=measuring.cores()
            )
            for kind in KINDS
        }
        return {kind: run.result() for kind, run in runs.items()}


def summarise(answers: dict[str, dict]) -> tuple[dict, dict]:
    summary = {}
    for kind, answer in answers.items():
        per_10_s = answer["during"] / answer["seconds"] * 10
        limit = " (must be <= 1)" if kind in ("idle", "log") else ""
        summary[f"{kind}: requests in 10 s{limit}"] = per_10_s
    starts = {
        kind: f"{answer['start']} at the start, {answer['finish']} at the end"
        for kind, answer in answers.items()
    }
    return summary, {"requests": str(starts)}


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=1).parse_args()
    answers = measure()
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared)


if __name__ == "__main__":
    main()
