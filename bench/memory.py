"""How much memory do prepare and train take, and does more data take more? Measures the largest RssAnon of
the process, sampled every 20 ms, with texts of aclImdb's lengths and `hash:512`, and with ten times as many
texts. TensorFlow's own memory is not subtracted, although the requirement would allow that.

    ./dev bench memory --json bench/results/<date>/memory.json

The larger archive and its dataset take some 1 GB below build/bench/data.
"""

import json
import pathlib
import tempfile

import measuring

RECORDS = 50_000
LIMIT_MB = 300
EPOCHS = 2


def prepare(archive: pathlib.Path, data: pathlib.Path) -> dict:
    command = [measuring.headrace(), "prepare", f"file://{archive}", f"file://{data}", "--overwrite"]
    done = measuring.run([*command, "--encoder", "hash:512"], measuring.cores(), watch_memory=True)
    return {"anonymous_bytes": done.anonymous_bytes, "wall_s": done.wall_s, "cpu_s": done.cpu_s}


def train(data: pathlib.Path, run: pathlib.Path) -> dict:
    command = [measuring.headrace(), "train", f"file://{data}", f"file://{run}", "--overwrite", "--json"]
    done = measuring.run([*command, "--epochs", EPOCHS], measuring.cores(), watch_memory=True)
    steps = json.loads(done.output)["steps_done_now"]
    return {
        "anonymous_bytes": done.anonymous_bytes,
        "wall_s": done.wall_s,
        "cpu_s": done.cpu_s,
        "steps": steps,
    }


def measure(records: int, repeats: int) -> dict:
    raw: dict = {"records": records}
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        for size, factor in (("", 1), (" at ten times the data", 10)):
            archive = measuring.archive(factor * records)
            data, run = (pathlib.Path(folder, f"{name}-{factor}") for name in ("data", "run"))
            raw[f"prepare{size}"] = [prepare(archive, data) for _ in range(repeats)]
            raw[f"train{size}"] = [train(data, run) for _ in range(repeats)]
    return raw


def summarise(raw: dict) -> dict:
    return {
        f"{stage}, anonymous memory, MB (must be <= {LIMIT_MB})": max(run["anonymous_bytes"] for run in runs)
        / 1e6
        for stage, runs in raw.items()
        if stage != "records"
    }


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=3)
    parser.add_argument("--records", type=int, default=RECORDS)
    arguments = parser.parse_args()
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    raw = measure(arguments.records, arguments.repeats)
    measuring.report(arguments.json, summarise(raw), raw)


if __name__ == "__main__":
    main()
