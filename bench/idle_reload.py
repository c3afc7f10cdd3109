"""How many requests does TensorBoard's data server send to the store for 1,000 finished runs, each time that
it looks for new data? MinIO runs behind a proxy that counts the requests after all runs are loaded.

    ./dev bench idle_reload --json bench/results/<date>/idle_reload.json
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse

import measuring
from measuring import object_store

sys.path.insert(0, str(measuring.ROOT / "tools"))
from faultproxy.proxy import Exchange, FaultProxy, Options  # noqa: E402

RUNS = 1_000
IDLE_S = 15
URL = f"s3://{object_store.BUCKET}/logs"


def write_logs(folder: pathlib.Path) -> None:
    import headrace as hr

    with hr.summary.Writer(f"{folder}/run0000") as writer:
        for step in range(100):
            writer.scalar("loss", 1 / (step + 1), step)
    (log,) = (folder / "run0000").iterdir()
    for run in range(1, RUNS):
        (folder / f"run{run:04}").mkdir()
        (folder / f"run{run:04}" / log.name).write_bytes(log.read_bytes())


def wait_until_loaded(address: str) -> None:
    import grpc
    from tensorboard.data.proto import data_provider_pb2, data_provider_pb2_grpc

    request = data_provider_pb2.ReadScalarsRequest()
    request.plugin_filter.plugin_name = "scalars"
    request.downsample.num_points = 1
    with grpc.insecure_channel(address) as channel:
        stub = data_provider_pb2_grpc.TensorBoardDataProviderStub(channel)
        while len(stub.ReadScalars(request).runs) < RUNS:
            time.sleep(0.05)


def begins_listing(exchange: Exchange) -> bool:
    query = urllib.parse.parse_qs(exchange.query)
    return "list-type" in query and "continuation-token" not in query


def watch_idle_server() -> dict:
    """The requests from one look for new data to another, and the number of looks."""
    program = measuring.headrace().with_name("headrace-tensorboard-data")
    with FaultProxy(object_store.host(), Options(rate=0)) as proxy:
        command = [program, "--log-folder", URL, "--port", "0"]
        environment = {**os.environ, "AWS_ENDPOINT_URL_S3": proxy.url}
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            wait_until_loaded(process.stdout.readline().removeprefix("listening on ").strip())
            loading = len(proxy.account.exchanges)
            time.sleep(IDLE_S)
        finally:
            process.kill()
            process.wait()
        asked = proxy.account.exchanges[loading:]
    looks = [number for number, exchange in enumerate(asked) if begins_listing(exchange)]
    return {"loading": loading, "requests": looks[-1] - looks[0], "looks": len(looks) - 1}


def measure(repeats: int) -> list[dict]:
    measuring.WORK.mkdir(parents=True, exist_ok=True)
    with object_store.minio(), tempfile.TemporaryDirectory(dir=measuring.WORK) as folder:
        write_logs(pathlib.Path(folder))
        copy = [measuring.headrace(), "cp", "-r", f"file://{folder}", URL]
        subprocess.run(copy, check=True, stdout=subprocess.DEVNULL)
        return [watch_idle_server() for _ in range(repeats)]


def summarise(answers: list[dict]) -> tuple[dict, dict]:
    key = "1,000 finished runs: requests of a look for something new, per 1,000 keys (must be <= 2)"
    figure = measuring.median(answer["requests"] / answer["looks"] for answer in answers)
    compared = {key: f"{answers[0]['looks']} looks; loading: {answers[0]['loading']:,} requests"}
    return {key: figure / (RUNS / 1_000)}, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=1).parse_args()
    answers = measure(arguments.repeats)
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, {"runs": answers}, compared)


if __name__ == "__main__":
    main()
