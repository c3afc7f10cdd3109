"""How fast do texts become GZIP shards, compared with the script of the well-known tutorial
(peers/prepare_text.py), on the same archive and the same features? Both run on one pinned core and take
turns.

    ./dev bench prepare_text --json bench/results/<date>/prepare_text.json

`headrace prepare --encoder hash:512 --workers 1` is measured from start to exit, encoding included. The
script is measured from after its imports. The script gets Headrace's features; the time of a cheap embedding
of its own is reported separately. Headrace is run at every compression level; the fastest level whose shards
are at most 1.10 (1.01) times as large as the script's is measured again, in turns with the script. Sizes are
those of the shards.
"""

import json
import pathlib
import sys
import tempfile

import measuring

LEVELS = range(1, 13)
RECORDS = 50_000
# Largest size relative to the script's; smallest rate relative to the script's.
REQUIREMENTS = ((1.10, 10), (1.01, 6))


def prepare(archive: pathlib.Path, target: pathlib.Path, level: int) -> dict:
    command = [
        measuring.headrace(),
        "prepare",
        f"file://{archive}",
        f"file://{target}",
        "--overwrite",
        "--json",
    ]
    command += [
        "--encoder",
        "hash:512",
        "--workers",
        "1",
        "--shard-records",
        "500",
        "--compression-level",
        level,
    ]
    done = measuring.run(command, measuring.cores()[:1])
    result = json.loads(done.output)
    return {"level": level, "cpu_s": done.cpu_s, "wall_s": done.wall_s, "bytes": result["shard_bytes"]}


def save_vectors(shards: pathlib.Path, target: pathlib.Path) -> None:
    import numpy as np
    import tensorflow as tf

    spec = {"sentence": tf.io.FixedLenFeature([512], tf.float32), "id": tf.io.FixedLenFeature([], tf.string)}
    files = sorted(map(str, shards.glob("*.tfrecord.gz")))
    batches = (
        tf.data.TFRecordDataset(files, "GZIP").batch(1024).map(lambda rows: tf.io.parse_example(rows, spec))
    )
    parsed = list(batches.as_numpy_iterator())
    ids = np.array([name.decode() for batch in parsed for name in batch["id"]])
    np.savez(target, ids=ids, vectors=np.concatenate([batch["sentence"] for batch in parsed]))


def run_script(
    archive: pathlib.Path, vectors: pathlib.Path, target: pathlib.Path, repeats: int
) -> list[dict]:
    script = measuring.ROOT / "bench" / "peers" / "prepare_text.py"
    done = measuring.run([sys.executable, script, archive, vectors, target, repeats], measuring.cores()[:1])
    return [json.loads(line) for line in done.output.splitlines()]


def rate(records: int, runs: list[dict]) -> float:
    return measuring.median(records / run["cpu_s"] for run in runs)


def measure(records: int, repeats: int) -> dict:
    archive = measuring.archive(records)
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        out, vectors, script_out = (pathlib.Path(folder, name) for name in ("out", "vectors.npz", "script"))
        survey = [prepare(archive, out, level) for level in LEVELS]
        save_vectors(out, vectors)
        script = run_script(archive, vectors, script_out, 1)
        chosen = []
        for most, _ in REQUIREMENTS:
            fit = [run for run in survey if run["bytes"] <= most * script[0]["bytes"]]
            chosen.append(min(fit, key=lambda run: run["cpu_s"])["level"])
        turns: dict[int, list] = {level: [] for level in chosen}
        for _ in range(repeats):
            for level, runs in turns.items():
                runs.append(prepare(archive, out, level))
            script += run_script(archive, vectors, script_out, 1)
    return {"records": records, "survey": survey, "script": script[1:], "chosen": chosen, "headrace": turns}


def summarise(raw: dict) -> tuple[dict, dict]:
    records, script = raw["records"], raw["script"]
    whole = rate(records, script)
    alone = measuring.median(records / (run["cpu_s"] - run["embedding_cpu_s"]) for run in script)
    summary = {
        "script: examples per CPU-second, with a cheap embedding": whole,
        "script: examples per CPU-second, features given": alone,
        "script: bytes an example": script[0]["bytes"] / records,
    }
    peers = {}
    for (most, least), level in zip(REQUIREMENTS, raw["chosen"], strict=True):
        runs = raw["headrace"][level]
        got = rate(records, runs)
        name = f"prepare hash:512 over the script, at <= {most:.2f} times its size (must be >= {least})"
        summary[name] = got / whole
        peers[name] = f"{whole:,.0f} examples/CPU-s; Headrace {got:,.0f}"
        summary[f"the same, the script's features given, level {level}"] = got / alone
        summary[f"its size over the script's, level {level}"] = runs[0]["bytes"] / script[0]["bytes"]
    return summary, peers


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=5)
    parser.add_argument("--records", type=int, default=RECORDS)
    arguments = parser.parse_args()
    raw = measure(arguments.records, arguments.repeats)
    summary, peers = summarise(raw)
    measuring.report(arguments.json, summary, raw, peers)


if __name__ == "__main__":
    main()
