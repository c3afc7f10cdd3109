"""How much memory does preparing take, and do ten times the inputs take more? Measures the largest RssAnon of
a process with one worker, sampled every 20 ms, with 10,000,000 rows: from a file of JSON lines, and from a
bucket of tiny texts that its server generates (listing_server.cc). The growth is measured with --memory
32MiB, at 1,000,000 and at 10,000,000 rows, because the smaller input does not fill the default 256 MiB for
sorted rows.

    ./dev bench prepare_memory --json bench/results/<date>/prepare_memory.json

One run of each: the larger ones take minutes.
"""

import contextlib
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator
from unittest import mock

import measuring
from measuring import preparing

INPUTS = 1_000_000
LIMIT_MB, GROWTH = 400, 1.1
BUCKET = "made-up-texts"
KEYS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_REGION": "us-east-1"}
OPTIONS = ("--compression", "none", "--workers", "1")
SMALL = ("--memory", "32MiB")


@contextlib.contextmanager
def lines(count: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        path = pathlib.Path(folder, "rows.jsonl")
        with path.open("w") as file:
            for number in range(count):
                label = "positive" if number % 3 else "negative"
                file.write(f'{{"number":{number},"label":"{label}","text":"what row {number} says"}}\n')
        yield str(path)


@contextlib.contextmanager
def bucket(count: int) -> Iterator[str]:
    """Inside the block, the environment names the server."""
    command = [measuring.build("headrace_bench_listing_server"), str(count)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    endpoint = {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.stdout.readline().strip()}"}
    try:
        with mock.patch.dict(os.environ, KEYS | endpoint):
            yield f"s3://{BUCKET}"
    finally:
        server.kill()
        server.communicate()


def prepare(source: str, count: int, *options) -> dict:
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        out = pathlib.Path(folder, "out")
        return preparing.prepare(source, out, count, *OPTIONS, *options, watch_memory=True)


def measure(inputs: int, repeats: int) -> dict:
    kinds = {
        "JSON lines": (lines, ()),
        "objects": (bucket, ("--layout", "text-folder", "--encoder", "hash:16")),
    }
    raw: dict = {}
    for kind, (made, options) in kinds.items():
        for count, memory in ((10 * inputs, ()), (inputs, SMALL), (10 * inputs, SMALL)):
            name = f"{kind}, {count:,}{', 32 MiB of rows' if memory else ''}"
            with made(count) as source:
                raw[name] = [prepare(source, count, *options, *memory) for _ in range(repeats)]
    return raw


def summarise(raw: dict) -> dict:
    most = {name: max(run["anonymous_bytes"] for run in runs) / 1e6 for name, runs in raw.items()}
    summary = {f"{name}: anonymous memory, MB (must be <= {LIMIT_MB})": got for name, got in most.items()}
    names = list(most)
    for few, many in zip(names[1::3], names[2::3], strict=True):
        summary[f"memory for {many}, over {few} (must be <= {GROWTH})"] = most[many] / most[few]
    summary |= {f"{name}: inputs per second": rate for name, rate in preparing.rates(raw, "wall_s").items()}
    return summary


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=1)
    parser.add_argument("--inputs", type=int, default=INPUTS, help="of the smaller runs")
    arguments = parser.parse_args()
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    raw = measure(arguments.inputs, arguments.repeats)
    measuring.report(arguments.json, summarise(raw), raw)


if __name__ == "__main__":
    main()
