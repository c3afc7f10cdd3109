"""How long does TensorBoard's data server take from its start until it has shown 1,000,000 scalars of 10
runs? Compares Headrace's server on local files and on MinIO with TensorBoard's own server on the same files.
The time runs from the start of the process until ReadScalars, at 1,000 points a series, has answered with the
last step of every tag of every run; the client polls with one point per series until all last steps are
there. Servers, client and store share two cores, and the servers take turns; CPU seconds are those of the
data server only.

    ./dev bench tensorboard_data --json bench/results/<date>/tensorboard_data.json

Then, for information, the whole application: from the start of `headrace tensorboard`, and of TensorBoard
with its fast loader, until a browser that requests every tag of every run gets the last steps.

TensorBoard's server keeps at most 1,000 points of a series, and does not verify checksums; Headrace's server
keeps all points, and verifies checksums.
"""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import measuring
from measuring import object_store

RUNS, TAGS, STEPS = 10, 10, 10_000
POINTS = 1_000
FOLDER = "logs"
PAUSE_S = 0.002
APPLICATIONS = ("the whole application, headrace tensorboard, MinIO", "TensorBoard itself, local files")
LOCAL, STORE, THEIRS = "headrace, local files", "headrace, MinIO", "TensorBoard's server, local files"


def write_logs() -> pathlib.Path:
    """Event files as TensorFlow 2 lays them out; made once."""
    folder = measuring.DATA / f"events-{RUNS}-{TAGS}-{STEPS}"
    if folder.exists():
        return folder
    import tensorflow as tf

    unfinished = folder.with_suffix(".unfinished")
    for run in range(RUNS):
        (unfinished / f"run{run}").mkdir(parents=True, exist_ok=True)
        path = unfinished / f"run{run}" / "events.out.tfevents.1700000000.host.1"
        with tf.io.TFRecordWriter(str(path)) as writer:
            writer.write(
                tf.compat.v1.Event(wall_time=1.7e9, file_version="brain.Event:2").SerializeToString()
            )
            for step in range(STEPS):
                for tag in range(TAGS):
                    event = tf.compat.v1.Event(wall_time=1.7e9 + step, step=step)
                    value = event.summary.value.add(tag=f"metric/{tag}")
                    value.tensor.dtype = 1
                    value.tensor.tensor_shape.SetInParent()
                    value.tensor.float_val.append(step * tag / 2)
                    if step == 0:
                        value.metadata.plugin_data.plugin_name = "scalars"
                    writer.write(event.SerializeToString())
    unfinished.rename(folder)
    return folder


def command_of_theirs(folder: pathlib.Path) -> list:
    package = pathlib.Path(importlib.util.find_spec("tensorboard_data_server").origin).parent
    return [package / "bin" / "server", "--host", "127.0.0.1", "--logdir", folder]


def command_of_ours(url: str) -> list:
    return [measuring.headrace().with_name("headrace-tensorboard-data"), "--log-folder", url]


def ask(stub, points: int):
    from tensorboard.data.proto import data_provider_pb2

    request = data_provider_pb2.ReadScalarsRequest()
    request.plugin_filter.plugin_name = "scalars"
    request.downsample.num_points = points
    return [tag.data for run in stub.ReadScalars(request).runs for tag in run.tags]


def is_complete(series) -> bool:
    return len(series) == RUNS * TAGS and all(data.step and data.step[-1] == STEPS - 1 for data in series)


def measure(command: list) -> dict:
    import grpc
    from tensorboard.data.proto import data_provider_pb2_grpc

    cores = ",".join(map(str, measuring.cores()))
    with tempfile.TemporaryDirectory() as folder:
        port_file = pathlib.Path(folder) / "port"
        start = time.monotonic()
        process = subprocess.Popen(
            ["taskset", "-c", cores, *map(str, command), "--port", "0", "--port-file", port_file],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not (port_file.exists() and port_file.read_text().endswith("\n")):
            time.sleep(PAUSE_S)
        listening_s = time.monotonic() - start
        with grpc.insecure_channel(f"127.0.0.1:{port_file.read_text().strip()}") as channel:
            stub = data_provider_pb2_grpc.TensorBoardDataProviderStub(channel)
            while not is_complete(ask(stub, 1)):
                time.sleep(PAUSE_S)
            points = sum(len(data.step) for data in ask(stub, POINTS))
            wall_s = time.monotonic() - start
        most_memory_kib = next(
            int(line.split()[1])
            for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
            if line.startswith("VmHWM:")
        )
        process.terminate()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return {
        "wall_s": [wall_s],
        "cpu_s": [usage.ru_utime + usage.ru_stime],
        "listening_s": listening_s,
        "points": points,
        "most_memory_bytes": most_memory_kib * 1024,
    }


def measure_application(command: list) -> dict:
    """`command` prints its address on standard error."""
    start = time.monotonic()
    process = subprocess.Popen(
        ["taskset", "-c", ",".join(map(str, measuring.cores())), *map(str, command)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = next(match[0] for line in process.stderr if (match := re.search(r"http://\S+:\d+/", line)))
        threading.Thread(target=process.stderr.read, daemon=True).start()
        for run in range(RUNS):
            for tag in range(TAGS):
                while not shows_all(f"{address}data/plugin/scalars/scalars?run=run{run}&tag=metric/{tag}"):
                    time.sleep(10 * PAUSE_S)
        return {"wall_s": [time.monotonic() - start]}
    finally:
        process.terminate()
        process.wait()


def shows_all(address: str) -> bool:
    try:
        with urllib.request.urlopen(address) as answer:
            points = json.load(answer)
    except urllib.error.HTTPError:  # a tag that does not exist yet
        return False
    return bool(points) and points[-1][1] == STEPS - 1


def summarise(answers: dict) -> tuple[dict, dict]:
    def middle(name: str, what: str) -> float:
        return measuring.median(value for answer in answers[name] for value in answer[what])

    wall = {name: middle(name, "wall_s") for name in answers}
    over_theirs = "local files, time over that of TensorBoard's server (must be <= 0.333)"
    over_local = "MinIO, time over that of local files (must be <= 1.5)"
    summary = {over_theirs: wall[LOCAL] / wall[THEIRS], over_local: wall[STORE] / wall[LOCAL]}
    summary |= {f"{name}: seconds": seconds for name, seconds in wall.items()}
    servers = {name: of_name for name, of_name in answers.items() if name not in APPLICATIONS}
    summary |= {f"{name}: CPU seconds": middle(name, "cpu_s") for name in servers}
    summary |= {
        f"{name}: MiB": measuring.median(answer["most_memory_bytes"] for answer in of_name) / (1 << 20)
        for name, of_name in servers.items()
    }
    compared = {
        over_theirs: f"{wall[THEIRS]:.3g} s; Headrace {wall[LOCAL]:.3g} s",
        over_local: f"local {wall[LOCAL]:.3g} s; MinIO {wall[STORE]:.3g} s",
    }
    return summary, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=9).parse_args()
    folder = write_logs()
    with object_store.minio():
        url = f"s3://{object_store.BUCKET}/{FOLDER}"
        copy = [measuring.headrace(), "cp", "-r", f"file://{folder}", url]
        subprocess.run(copy, check=True, stdout=subprocess.DEVNULL)
        programs = {
            THEIRS: lambda: measure(command_of_theirs(folder)),
            LOCAL: lambda: measure(command_of_ours(f"file://{folder}")),
            STORE: lambda: measure(command_of_ours(url)),
            APPLICATIONS[0]: lambda: measure_application(
                [measuring.headrace(), "tensorboard", url, "--port", "0"]
            ),
            APPLICATIONS[1]: lambda: measure_application(
                [sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port", "0"]
                + ["--load_fast", "true"]
            ),
        }
        answers, failed = measuring.take_turns(programs, arguments.repeats)
    assert not failed, failed
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared)


if __name__ == "__main__":
    main()
