"""How fast does TensorFlow write a checkpoint of 1 GB to s3://, and restore it? Uses MinIO on the same
machine, and compares with `headrace cp` of as many bytes from and to the local disk. Nothing is copied within
the server, so nothing is added for that. Figures are per second of wall time, with server and client on the
same two cores; the programs take turns. Before each write, earlier writes are flushed to disk.

    ./dev bench save_checkpoints --json bench/results/<date>/save_checkpoints.json
"""

import os
import pathlib
import subprocess
import tempfile
import time

import measuring
from measuring import object_store, peers

MEGABYTES = 1_000
INNER_REPEATS = 3


def seconds_of(command: list) -> float:
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def copies(folder: pathlib.Path) -> dict:
    local, url = folder / "checkpoint", f"s3://{object_store.BUCKET}/copy"
    if not local.exists():
        local.write_bytes(b"".join(i.to_bytes(8, "little") for i in range(1_000)) * (MEGABYTES * 125))
    up, down = [], []
    for _ in range(INNER_REPEATS):
        os.sync()
        up.append(seconds_of([measuring.headrace(), "cp", local, url]))
        down.append(seconds_of([measuring.headrace(), "cp", url, folder / "back"]))
    return {"write_s": up, "restore_s": down}


def checkpoints(prefix: str) -> dict:
    return peers.run_project("save_checkpoint", prefix, MEGABYTES, INNER_REPEATS, on=measuring.cores())


def measure(repeats: int) -> dict:
    measuring.WORK.mkdir(parents=True, exist_ok=True)
    with object_store.minio(), tempfile.TemporaryDirectory(dir=measuring.WORK) as folder:
        programs = {
            "s3": lambda: checkpoints(f"s3://{object_store.BUCKET}/checkpoint"),
            "headrace cp": lambda: copies(pathlib.Path(folder)),
            "local disk": lambda: checkpoints(f"{folder}/local"),
        }
        answers, failed = measuring.take_turns(programs, repeats)
        assert not failed, failed
        return answers


def summarise(answers: dict) -> tuple[dict, dict]:
    summary, compared = {}, {}
    for what, least in (("write", 0.9), ("restore", 0.8)):
        seconds = {
            name: measuring.median(value for answer in of_name for value in answer[f"{what}_s"])
            for name, of_name in answers.items()
        }
        key = f"checkpoint of 1 GB on s3://, {what}, over headrace cp (must be >= {least})"
        summary[key] = seconds["headrace cp"] / seconds["s3"]
        compared[key] = "; ".join(f"{name}: {value:.3g} s" for name, value in seconds.items())
        summary |= {f"checkpoint of 1 GB, {what}, {name}: seconds": value for name, value in seconds.items()}
    return summary, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    answers = measure(arguments.repeats)
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared)


if __name__ == "__main__":
    main()
