"""How fast is training from GZIP shards, input included? Measures steps per second of wall time on two cores,
with batches of 128. Compares with Keras `fit` on the same shards (peers/train_loop.py), as the well-known
tutorial writes it and at its best; and with the same native loop on one batch in memory.

    ./dev bench train_loop --json bench/results/<date>/train_loop.json

Headrace's figure is that of `headrace train` itself, with its events and one intra-op thread. The first epoch
of each process does not count, because Keras traces in it. (For `headrace train`, the time of a run of one
epoch is subtracted from that of a longer run.) Keras' best settings (intra-op threads, jit_compile) are found
first. Processes take turns.
"""

import json
import pathlib
import sys
import tempfile

import measuring

SHARD_RECORDS = 500
SETTINGS = [(threads, jit) for threads in (1, 0) for jit in ("auto", "no")]


def write_data(program: pathlib.Path, folder: pathlib.Path, records: int) -> pathlib.Path:
    measuring.run([program, "write", f"file://{folder}", records, SHARD_RECORDS], measuring.cores())
    return folder


def headrace_train(data: pathlib.Path, run: pathlib.Path, epochs: int) -> dict:
    command = [measuring.headrace(), "train", f"file://{data}", f"file://{run}", "--overwrite", "--json"]
    command += ["--validation", "0", "--batch-size", "128", "--epochs", epochs]
    done = measuring.run(command, measuring.cores(), watch_memory=True)
    result = json.loads(done.output)
    return {
        "steps": result["steps_done_now"],
        "training_s": result["training_seconds"],
        "input_wait_s": result["input_wait_seconds"],
        "wall_s": done.wall_s,
        "cpu_s": done.cpu_s,
        "anonymous_bytes": done.anonymous_bytes,
    }


def headrace_epochs(data: pathlib.Path, run: pathlib.Path, epochs: int) -> dict:
    first, all_epochs = headrace_train(data, run, 1), headrace_train(data, run, 1 + epochs)
    seconds = all_epochs["training_s"] - first["training_s"]
    return {
        "steps_per_s": (all_epochs["steps"] - first["steps"]) / seconds,
        "steps_per_s_with_first": all_epochs["steps"] / all_epochs["training_s"],
        "raw": [first, all_epochs],
    }


def keras_fit(data: pathlib.Path, pipeline: str, threads: int, jit: str, epochs: int) -> dict:
    script = measuring.ROOT / "bench" / "peers" / "train_loop.py"
    command = [sys.executable, script, data, pipeline, threads, jit, epochs]
    result = json.loads(measuring.run(command, measuring.cores()).output)
    rates = [result["steps"] / seconds for seconds in result["epoch_s"]]
    return {"steps_per_s": measuring.median(rates), "raw": result}


def native_loop(program: pathlib.Path, run: pathlib.Path, data: pathlib.Path, epochs: int) -> dict:
    command = [program, run / "model", f"file://{data}", 128, epochs, 1]
    return json.loads(measuring.run(command, measuring.cores()).output)


def rate(runs: list[dict]) -> float:
    return measuring.median(run["steps_per_s"] for run in runs)


def summarise(raw: dict) -> dict:
    headrace, tutorial, best = (rate(raw[name]) for name in ("headrace", "tutorial", "best"))
    steps = [loop["steps"] for loop in raw["loop"]]
    shards, cached = (
        measuring.median(
            step / seconds for step, loop in zip(steps, raw["loop"], strict=True) for seconds in loop[name]
        )
        for name in ("shards_s", "cached_s")
    )
    own = measuring.median(loop["anonymous_before_kib"] * 1024 for loop in raw["loop"])
    return {
        "headrace train, steps per second": headrace,
        "headrace train with its first epoch, steps per second": measuring.median(
            entry["steps_per_s_with_first"] for entry in raw["headrace"]
        ),
        "Keras fit as the tutorial writes it, steps per second": tutorial,
        "Keras fit at its best, steps per second": best,
        "headrace over Keras fit at its best (must be >= 2)": headrace / best,
        "headrace over Keras fit as the tutorial writes it (must be >= 5)": headrace / tutorial,
        "native loop from shards, steps per second": shards,
        "native loop on one cached batch, steps per second": cached,
        "from shards over one cached batch (must be >= 0.85)": shards / cached,
        "headrace train, anonymous memory, MB": raw["headrace"][0]["raw"][1]["anonymous_bytes"] / 1e6,
        "the same at ten times the data, MB": raw["more"]["anonymous_bytes"] / 1e6,
        "of that TensorFlow's own and the model, MB": own / 1e6,
        "the rest at ten times the data, MB (must be <= 300)": (raw["more"]["anonymous_bytes"] - own) / 1e6,
    }


def measure(records: int, repeats: int, epochs: int) -> dict:
    writer = measuring.build("headrace_bench_read_batches")
    program = measuring.build("headrace_bench_train_loop")
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        data = write_data(writer, pathlib.Path(folder, "data"), records)
        run = pathlib.Path(folder, "run")
        survey = {setting: keras_fit(data, "best", *setting, epochs) for setting in SETTINGS}
        best = max(survey, key=lambda setting: survey[setting]["steps_per_s"])
        raw: dict = {"survey": {f"threads {t}, jit {j}": entry for (t, j), entry in survey.items()}}
        raw["best settings"] = {"intra-op threads": best[0], "jit_compile": best[1]}
        for name in ("headrace", "tutorial", "best", "loop"):
            raw[name] = []
        for _ in range(repeats):
            raw["headrace"].append(headrace_epochs(data, run, epochs))
            raw["tutorial"].append(keras_fit(data, "tutorial", 0, "auto", epochs))
            raw["best"].append(keras_fit(data, "best", *best, epochs))
            raw["loop"].append(native_loop(program, run, data, epochs))
        more = write_data(writer, pathlib.Path(folder, "more"), 10 * records)
        raw["more"] = headrace_train(more, run, 1)
    return raw


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=5)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=9, help="of each process, after the first")
    arguments = parser.parse_args()
    raw = measure(arguments.records, arguments.repeats, arguments.epochs)
    measuring.report(arguments.json, summarise(raw), raw)


if __name__ == "__main__":
    main()
