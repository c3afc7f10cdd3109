"""Measures `headrace serve` over time: loading while it answers, returning memory, being idle, starting."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from . import ROOT, build, cores, headrace, median, object_store, run, serving
from .serving import Request, Server, load, model, per_second, row_of_numbers, write_json

sys.path.insert(0, str(ROOT / "tools"))

CAPACITY_S = 3
BEFORE_S, AFTER_S, SETTLE_S = 10, 3, 1
MOST_S = 170
LARGE_MIB = 2048
SHARES = {"half": 0.5, "a tenth": 0.1}  # shares of the capacity
LOADS = 22
EACH_MIB = 208
IDLE_S = 120
POLL_EACH = ["--poll-each", "1s"]


def mlp_request(folder: pathlib.Path, name: str = "mlp") -> Request:
    """TensorFlow Serving's REST API, one row."""
    body = write_json(folder / f"{name}.json", {"instances": [row_of_numbers(512)]})
    return Request(f"/v1/models/{name}:predict", body, {"Content-Type": "application/json"})


# Another model is loaded


def _percentiles(answers, first: float, last: float) -> dict[str, float]:
    """Latencies, in milliseconds, of requests that were scheduled between these times."""
    import numpy as np

    chosen = answers[(answers[:, 0] >= first * 1e9) & (answers[:, 0] < last * 1e9), 1] / 1e6
    if not len(chosen):
        return {"requests": 0}
    shares = {"p50": 50, "p99": 99, "p99.9": 99.9, "most": 100}
    found = {name: float(np.percentile(chosen, share)) for name, share in shares.items()}
    return {"requests": len(chosen), **found}


def _has_version(server: Server, name: str, number: int, processes: int) -> bool:
    """Whether the newest version is ready, and the processes of older versions have ended."""
    return server.models()[name]["labels"].get("latest") == number and len(server.children()) == processes


class _Watched:
    """The phases of a load, and the load of the machine in each."""

    def __init__(self, server: Server, client: subprocess.Popen):
        self._server, self._client = server, client
        self.begins: list[tuple[str, float]] = []
        self._cpu_s: list[tuple[float, float, float]] = []  # of the machine, server and client

    def begin(self, phase: str) -> None:
        self.begins.append((phase, time.monotonic()))
        client_s = serving.cpu_seconds(self._client.pid)
        self._cpu_s.append((serving.busy_seconds(), sum(self._server.cpu_seconds()), client_s))

    def follow(self, name: str, number: int, processes: int) -> None:
        """Waits until the version is ready and older versions are gone, and records a phase for each of its
        states."""

        def is_over() -> bool:
            model = self._server.models()[name]
            states = {each["number"]: each["state"] for each in model["versions"]}
            state = states.get(number, "not yet seen")
            if state != self.begins[-1][0]:
                self.begin(state)
            has_gone = len(self._server.children()) == processes
            return model["labels"].get("latest") == number and has_gone

        self._server.wait_until(is_over, "switched", 0.1)

    def phases(self, answers) -> list[dict]:
        found = []
        for at, (phase, begins) in enumerate(self.begins[:-1]):
            ends = self.begins[at + 1][1]
            used = [
                after - before for before, after in zip(self._cpu_s[at], self._cpu_s[at + 1], strict=True)
            ]
            others = (used[0] - used[1] - used[2]) / (ends - begins)
            busy = {"others' cores": others, "server's": used[1] / (ends - begins)}
            busy["client's"] = used[2] / (ends - begins)
            found.append({"phase": phase, "s": ends - begins, **busy, **_percentiles(answers, begins, ends)})
        return found


def _load_beside(folder: pathlib.Path, request: Request, share: float) -> dict:
    """One run: a second model gets a version of 2 GB while the first one answers."""
    import numpy as np

    shutil.copytree(model("weights", 1), folder / "b" / "1")
    shutil.copytree(model("weights", LARGE_MIB), folder / "new", copy_function=os.link)
    words = [f"mlp={model('mlp')}", folder / "b", *POLL_EACH]
    with serving.serving(folder / "server", cores(), *words) as server:
        load(server, request, cores(), CAPACITY_S)
        rate = share * per_second([load(server, request, cores(), CAPACITY_S)])[0]
        program = build("headrace_bench_open_loop_client")
        answers, raw = folder / "answers", request.raw(folder / "raw")
        command = [program, server.port, serving.CONNECTIONS, rate, MOST_S, raw, answers]
        load_average = os.getloadavg()[0]
        client = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)
        watched = _Watched(server, client)
        try:
            time.sleep(SETTLE_S)
            watched.begin("before")
            time.sleep(BEFORE_S)
            watched.begin("not yet seen")
            (folder / "new").rename(folder / "b" / "2")
            watched.follow("b", 2, 2)
            time.sleep(SETTLE_S)
            watched.begin("after")
            time.sleep(AFTER_S)
            watched.begin("end")
        finally:
            client.send_signal(signal.SIGTERM)
        output = client.communicate()[0]
    if client.returncode or output != '{"failures": 0}\n':
        raise SystemExit(f"bench: not all answers are good: {output}")
    latencies = np.fromfile(answers, np.int64).reshape(-1, 2)
    begins = [when for _, when in watched.begins]
    return {
        "requests per second": rate,
        "before": _percentiles(latencies, begins[0], begins[1]),
        "while it loads": _percentiles(latencies, begins[1], begins[-2]),
        "phases": watched.phases(latencies),
        "load_average": [load_average, os.getloadavg()[0]],
    }


def load_while_answering(folder: pathlib.Path, repeats: int) -> tuple[dict, dict]:
    request = mlp_request(folder)
    raw: dict = {}
    summary = {}
    for share, requirement in {"half": " (must be <= 1.2)", "a tenth": ""}.items():
        runs = raw[share] = []
        for number in range(max(repeats, 5)):
            place = folder / f"load-{number}"
            place.mkdir()
            runs.append(_load_beside(place, request, SHARES[share]))
            shutil.rmtree(place)
            print(f"  {share}: {json.dumps(runs[-1])}", flush=True)
        pairs = [(one["before"]["p99"], one["while it loads"]["p99"]) for one in runs]
        ratios = [1.0 if after - before <= 2 else after / before for before, after in pairs]
        name = f"load, at {share} of the capacity:"
        summary |= {
            f"{name} requests per second": median(one["requests per second"] for one in runs),
            f"{name} p99 in ms before": median(before for before, _ in pairs),
            f"{name} p99 in ms while 2 GB load": median(after for _, after in pairs),
            f"{name} one over the other, median": median(after / before for before, after in pairs),
            f"{name} the same, 1 if at most 2 ms more{requirement}": median(ratios),
            f"{name} the same in the worst run": max(ratios),
        }
    return summary, raw


# Memory


def memory_of_loads(folder: pathlib.Path, repeats: int) -> tuple[dict, dict]:
    del repeats  # the loads are the repeats
    source, place = model("weights", EACH_MIB), folder / "weights"
    shutil.copytree(source, place / "1")
    request = Request("/v1/models/weights:predict", write_json(folder / "row", {"instances": [[1.0] * 8]}))
    resident = []
    with serving.serving(folder / "server", cores(), place, *POLL_EACH, "--cache-size", "1GiB") as server:

        def look() -> None:
            for _ in range(50):
                server.ask(request)
            time.sleep(SETTLE_S)
            resident.append(server.resident_bytes())

        look()
        for number in range(2, LOADS + 2):
            shutil.copytree(source, folder / "new")
            (folder / "new").rename(place / str(number))
            server.wait_until(
                lambda number=number: _has_version(server, "weights", number, 1), f"at {number}", 0.1
            )
            shutil.rmtree(place / str(number - 1))
            look()
    first, last = resident[0], resident[-1]
    summary = {
        "memory: MB of all processes, one version loaded": first["all"] / 1e6,
        f"memory: after {LOADS} loads and unloads, over that before (must be <= 1.05)": last["all"]
        / first["all"],
        "memory: the same of the front process alone": last["front"] / first["front"],
    }
    return summary, {"resident": resident, "load_average": os.getloadavg()[0]}


# Idle


def _train(data: pathlib.Path, target, *words) -> None:
    command = [headrace(), "train", data, target, "--epochs", 1, "--labels", "label", "--quiet", *words]
    run(command, cores())


def text_dataset(folder: pathlib.Path, encoder: str, name: str) -> pathlib.Path:
    """A prepared dataset of a few labelled sentences."""
    table, schema = folder / f"{name}.csv", folder / f"{name}.toml"
    words = ["the", "film", "was", "good", "bad", "acting", "plot", "great", "boring", "loved", "scene"]
    sentences = [" ".join(words[(i * k) % len(words)] for k in range(1, 7)) for i in range(200)]
    rows = "".join(f"{text},{('neg', 'pos')[i % 2]}\n" for i, text in enumerate(sentences))
    table.write_text(f"text,label\n{rows}")
    features = f'[features.text]\ntype = "vector"\nencoder = "{encoder}"\n'
    schema.write_text(f'{features}[features.label]\ntype = "label"\nvocabulary = ["neg", "pos"]\n')
    command = [headrace(), "prepare", table, folder / f"{name}-data", "--schema", schema, "--quiet"]
    run(command, cores())
    return folder / f"{name}-data"


def text_run(folder: pathlib.Path, encoder: str) -> pathlib.Path:
    """A model of sentences, trained; the default one: 512 → 64 → 2 for an encoder of that width."""
    name = encoder.partition(":")[0]
    target = folder / f"{name}-run"
    _train(text_dataset(folder, encoder, name), target)
    return target


def idle_requests(folder: pathlib.Path, repeats: int) -> tuple[dict, dict]:
    from faultproxy.proxy import FaultProxy, Options

    data = text_dataset(folder, "hash:512", "idle")
    minutes = []
    with object_store.minio():
        _train(data, f"s3://{object_store.BUCKET}/runs/1", "--name", "idle")
        with FaultProxy(object_store.host(), Options(rate=0)) as proxy:
            env = {"AWS_ENDPOINT_URL_S3": proxy.url}
            words = [f"s3://{object_store.BUCKET}/models/idle"]
            with serving.serving(folder / "server", cores(), *words, env=env) as server:
                server.wait_for_answers(text_request(folder, "idle"))
                for _ in range(min(repeats, 2)):
                    before = len(proxy.account.exchanges)
                    time.sleep(IDLE_S)
                    minutes.append((len(proxy.account.exchanges) - before) * 60 / IDLE_S)
                fetched = before
    summary = {
        "idle: requests to the store a minute, one named model (must be <= 6)": max(minutes),
    }
    return summary, {"a_minute": minutes, "requests_until_idle": fetched}


def text_request(folder: pathlib.Path, name: str) -> Request:
    text = "This was extremely good, I loved it."
    body = write_json(folder / f"{name}.text.json", {"instances": [text]})
    return Request(f"/v1/models/{name}:predict", body, {"Content-Type": "application/json"})


# Start


def _start(folder: pathlib.Path, place: pathlib.Path, request: Request) -> dict:
    start = time.monotonic()
    with serving.serving(folder, cores(), place, is_ready=False) as server:
        listening_s = time.monotonic() - start
        server.wait_until(lambda: server.try_to_ask(request)[0] == 200, "answering", 0.005)
        wall_s = time.monotonic() - start
        cpu_s = sum(server.cpu_seconds())
    return {"wall_s": wall_s, "listening_s": listening_s, "cpu_s": cpu_s, "load_average": os.getloadavg()[0]}


def time_to_start(folder: pathlib.Path, repeats: int) -> tuple[dict, dict]:
    places = {
        "a run of headrace train": (text_run(folder, "hash:512"), text_request(folder, "hash-run")),
        "a SavedModel of Keras": (model("mlp"), mlp_request(folder, "served-mlp")),
    }
    raw: dict = {name: [] for name in places}
    for name, (place, request) in places.items():
        _start(folder / "server", place, request)  # fills the cache
        raw[name] = [_start(folder / "server", place, request) for _ in range(max(repeats, 5))]
    times = {name: median(one["wall_s"] for one in of_name) for name, of_name in raw.items()}
    summary = {f"start: s to the first answer, cache warm, {name}": value for name, value in times.items()}
    summary["start: CPU s of that"] = median(one["cpu_s"] for one in raw["a run of headrace train"])
    first = "start: s to the first answer, cache warm, a run of headrace train"
    summary[f"{first} (must be <= 3)"] = summary.pop(first)
    return summary, raw
