"""How much does `headrace serve` cost in addition to its HTTP server, its models and its encoders, and what
do servers written in Python cost? Does it keep its latency while it loads a model, return memory, send few
requests to the store when idle, and start quickly?

    ./dev bench serve --json bench/results/<date>/serve.json
    ./dev bench serve --only identity wide --json …   # other cases keep their figures in that file

Requests per CPU-second are those of the server's processes, pinned to one core; h2load runs on the other core
with 64 keep-alive connections. Servers that take turns run at the same time. The cases `wide`, `load`,
`memory`, `idle` and `start` use both cores. Needs Debian's nghttp2-client.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sys
import tempfile
import time

import measuring
from measuring import peers, serving, serving_life
from measuring.serving import Request, load, per_cpu_second, per_second

os.environ.setdefault("HEADRACE_PYTHON", sys.executable)  # the TensorFlow of this environment runs the models
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
SECONDS, WARM_UP_S, SLOW_WARM_UP_S = 5, 2, 5
PEERS = {
    "FastAPI": ("serve", "serve_fastapi"),
    "LitServe": ("serve", "serve_litserve"),
    "Ray Serve": ("serve", "serve_ray"),
    "MLServer": ("mlserver", "serve_mlserver"),
    "PyTriton": ("pytriton", "serve_pytriton"),
}
KSERVE_PEERS = ("MLServer", "PyTriton")
ENCODERS = {"hash:512": 400_000, "use-multilingual-v3": 16_000}  # sentences of the longer prediction
WITHOUT_BATCHES = ["--batch-rows", 1]


def servers_take_turns(asked: dict, repeats: int, on: list[int], client: list[int], warm_up_s: float) -> dict:
    """name → measurements of the server and the request."""
    for server, request in asked.values():
        load(server, request, client, warm_up_s)
    programs = {
        name: lambda server=server, request=request: load(server, request, client, SECONDS)
        for name, (server, request) in asked.items()
    }
    return measuring.take_turns(programs, repeats)[0]


def rows_of_batches(server: serving.Server) -> float:
    text = server.admin("/metrics").decode()
    rows, batches = (
        sum(int(count) for count in re.findall(rf"^headrace_serve_{what}_total\{{.*\}} (\d+)", text, re.M))
        for what in ("rows", "batches")
    )
    return rows / batches


# Tensors


def identity(folder: pathlib.Path, repeats: int) -> tuple[dict, dict]:
    server_core, client_core = ([core] for core in measuring.cores())
    place, request = serving.model("identity"), serving.binary_request(folder, "identity", 512)
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        words = [f"identity={place}"]
        batching = start(serving.serving(folder / "batching", server_core, *words))
        single = start(serving.serving(folder / "single", server_core, *words, *WITHOUT_BATCHES))
        size = len(batching.ask(request))
        asked = {"batches": (batching, request), "without batches": (single, request)}
        for where, name in (
            ("here", "empty handler"),
            ("elsewhere", "empty handler, another thread answers"),
        ):
            asked[name] = (start(serving.empty_handler(server_core, where, size)), request)
        raw = servers_take_turns(asked, repeats, server_core, client_core, WARM_UP_S)
        rows = rows_of_batches(batching)
    rates = {name: measuring.median(per_cpu_second(answers)) for name, answers in raw.items()}
    front = {name: measuring.median(per_cpu_second(answers, False)) for name, answers in raw.items()}
    empty = rates["empty handler"]
    summary = {f"identity, {name}: requests per CPU-second": rate for name, rate in rates.items()}
    summary |= {
        "identity, batches: the same of the front alone": front["batches"],
        "identity, batches: rows of a batch": rows,
        "identity: the front over the empty handler (must be >= 0.7)": front["batches"] / empty,
        "identity: front and engine over the empty handler (must be >= 0.4)": rates["batches"] / empty,
        "identity, without batches: the front over the empty handler": front["without batches"] / empty,
        "identity, without batches: both over the empty handler": rates["without batches"] / empty,
        "identity: the front over the empty handler whose other thread answers": front["batches"]
        / rates["empty handler, another thread answers"],
    }
    return summary, raw


def log(folder: pathlib.Path, repeats: int) -> tuple[dict, dict]:
    """The cost of logging requests: none, the default share, and all."""
    server_core, client_core = ([core] for core in measuring.cores())
    place, request = serving.model("identity"), serving.binary_request(folder, "identity", 512)
    with contextlib.ExitStack() as stack:
        asked = {}
        for name, fraction in {"no log": None, "a hundredth": 0.01, "all": 1}.items():
            words = [f"identity={place}"]
            if fraction is not None:
                words += ["--log-requests", folder / name / "log", "--log-fraction", fraction]
            asked[name] = (stack.enter_context(serving.serving(folder / name, server_core, *words)), request)
        raw = servers_take_turns(asked, repeats, server_core, client_core, WARM_UP_S)
        text = asked["all"][0].admin("/metrics").decode()
        lost = sum(map(int, re.findall(r"^headrace_serve_unlogged_requests_total\{.*\} (\d+)", text, re.M)))
    rates = {name: measuring.median(per_cpu_second(answers)) for name, answers in raw.items()}
    summary = {f"log, {name}: CPU us of a request": 1e6 / rate for name, rate in rates.items()}
    summary["log, all: requests that were dropped"] = lost
    return summary, raw


def wide(folder: pathlib.Path, repeats: int) -> tuple[dict, dict]:
    on = measuring.cores()
    place, request = serving.model("wide"), serving.binary_request(folder, "wide", 2048)
    with contextlib.ExitStack() as stack:
        asked = {}
        for name, words in {"batches": [], "without batches": WITHOUT_BATCHES}.items():
            server = stack.enter_context(serving.serving(folder / name, on, f"wide={place}", *words))
            asked[name] = (server, request)
        raw = servers_take_turns(asked, repeats, on, on, WARM_UP_S)
        rows = rows_of_batches(asked["batches"][0])
    walls = {name: measuring.median(per_second(answers)) for name, answers in raw.items()}
    rates = {name: measuring.median(per_cpu_second(answers)) for name, answers in raw.items()}
    summary = {f"wide, {name}: requests per second": value for name, value in walls.items()}
    summary["wide, batches: rows of a batch"] = rows
    summary["wide: batches over without, requests per second (must be >= 5)"] = (
        walls["batches"] / walls["without batches"]
    )
    summary["wide: batches over without, per CPU-second"] = rates["batches"] / rates["without batches"]
    return summary, raw


# Peers


def free_ports() -> int:
    """The first of three consecutive free ports."""
    while True:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            first = found.getsockname()[1]
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            for port in range(first, first + 3):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first


def mlp(folder: pathlib.Path, repeats: int) -> tuple[dict, dict]:
    server_core, client_core = ([core] for core in measuring.cores())
    place, rest = serving.model("mlp"), serving_life.mlp_request(folder)
    given = {"name": "x", "shape": [1, 512], "datatype": "FP32", "data": serving.row_of_numbers(512)}
    body = serving.write_json(folder / "infer.json", {"inputs": [given]})
    infer = Request("/v2/models/mlp/infer", body, {"Content-Type": "application/json"})
    with contextlib.ExitStack() as stack:
        mine = stack.enter_context(serving.serving(folder / "mlp", server_core, f"mlp={place}"))
        asked = {"headrace": (mine, rest), "headrace, KServe v2": (mine, infer)}
        right = json.loads(mine.ask(rest))["predictions"][0]
        missing = {}
        for name, (environment, program) in PEERS.items():
            if missing_here := peers.install(environment):
                missing |= missing_here
                continue
            port, request = free_ports(), infer if name in KSERVE_PEERS else rest
            errors = stack.enter_context((folder / f"{program}.errors").open("w"))
            command = [peers.python(environment), peers.PROGRAMS / f"{program}.py", place, port]
            process = stack.enter_context(serving.running(command, server_core, stderr=errors))
            server = serving.Server(process, port)
            server.wait_for_answers(request)
            answer = json.loads(server.ask(request))
            values = answer["predictions"][0] if "predictions" in answer else answer["outputs"][0]["data"]
            assert max(abs(a - b) for a, b in zip(values, right, strict=True)) < 1e-5, answer
            asked[name] = (server, request)
        raw = servers_take_turns(asked, repeats, server_core, client_core, SLOW_WARM_UP_S)
    rates = {name: measuring.median(per_cpu_second(answers)) for name, answers in raw.items()}
    summary = {f"mlp, {name}: requests per CPU-second": rate for name, rate in rates.items()}
    others = {name: rates[name] for name in PEERS if name in rates and name != "FastAPI"}
    best = max(others, key=others.get)
    summary["mlp: over FastAPI (must be >= 20)"] = rates["headrace"] / rates["FastAPI"]
    summary["mlp: over the best of the others (must be >= 5)"] = rates["headrace"] / others[best]
    environments = sorted({environment for environment, _ in PEERS.values()})
    return summary, {**raw, "best of the others": best, "peers": peers.account({}, *environments)}


# Texts


def own_cost(folder: pathlib.Path, run: pathlib.Path, sentences: int, core: list[int]) -> float:
    """CPU seconds of `headrace predict` per additional sentence, averaged over many."""
    texts = json.loads(serving_life.text_request(folder, "own").body.read_text())["instances"]
    took = []
    for count in (sentences // 4, sentences):
        data = folder / f"{count}.jsonl"
        data.write_text((json.dumps({"text": texts[0]}) + "\n") * count)
        shutil.rmtree(folder / "answers", ignore_errors=True)
        command = [
            measuring.headrace(),
            "predict",
            run,
            "--data",
            data,
            "--to",
            folder / "answers",
            "--quiet",
        ]
        took.append(measuring.run(command, core).cpu_s)
    return (took[1] - took[0]) / (sentences - sentences // 4)


def text(folder: pathlib.Path, repeats: int) -> tuple[dict, dict]:
    server_core, client_core = ([core] for core in measuring.cores())
    summary, raw = {}, {}
    for encoder, sentences in ENCODERS.items():
        run = serving_life.text_run(folder, encoder)
        request = serving_life.text_request(folder, "text")
        with serving.serving(folder / f"{run.name}-server", server_core, f"text={run}") as server:
            load(server, request, client_core, WARM_UP_S)
            served = raw[f"{encoder}, served"] = []
            own = raw[f"{encoder}, own CPU seconds"] = []
            for _ in range(repeats):
                served.append(load(server, request, client_core, SECONDS))
                own.append(own_cost(folder, run, sentences, server_core))
            rows = rows_of_batches(server)
        cost = 1 / measuring.median(per_cpu_second(served))
        front = 1 / measuring.median(per_cpu_second(served, False))
        mine = measuring.median(own)
        summary |= {
            f"text, {encoder}: CPU us of a request": 1e6 * cost,
            f"text, {encoder}: those of the front": 1e6 * front,
            f"text, {encoder}: CPU us of a sentence in headrace predict": 1e6 * mine,
            f"text, {encoder}: rows of a batch": rows,
            f"text, {encoder}: served over predicted (must be <= 1.15)": cost / mine,
        }
    return summary, raw


CASES = {
    "identity": identity,
    "log": log,
    "mlp": mlp,
    "text": text,
    "wide": wide,
    "load": serving_life.load_while_answering,
    "memory": serving_life.memory_of_loads,
    "idle": serving_life.idle_requests,
    "start": serving_life.time_to_start,
}


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=3)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that its servers end, too
    done: dict = {}
    if arguments.json and arguments.json.exists() and set(arguments.only) != set(CASES):
        done = json.loads(arguments.json.read_text())["raw"]
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        print(f"{name}, at {time.strftime('%H:%M:%S')}", flush=True)
        before = os.getloadavg()
        with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
            summary, raw = CASES[name](pathlib.Path(folder), arguments.repeats)
        loads = {"load_average_before": before, "load_average_after": os.getloadavg()}
        done[name] = {"summary": summary, "date": time.strftime("%Y-%m-%d %H:%M:%S %z"), **loads, "raw": raw}
    done = {name: done[name] for name in CASES if name in done}
    figures = {figure: value for case in done.values() for figure, value in case["summary"].items()}
    measuring.report(arguments.json, figures, done)


if __name__ == "__main__":
    main()
