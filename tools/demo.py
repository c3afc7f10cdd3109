"""The main job on real reviews, as a user would run it: `./dev demo [ARCHIVE] [--minio] [--resume]`.

Puts an archive of reviews into a store, then prepares, trains, evaluates, predicts and serves with the built
command, every stage from and to that store. Prints one table and the answers for six sentences; writes
report.html.
"""

import argparse
import datetime
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools" / "report")]
import page  # noqa: E402

SEED = "44"
WORKERS = "2"
SERVER_SECONDS = 120  # how long a server may take to get ready
# Sentences, each with the answer that a person would give; the fifth has none.
SENTENCES = {
    "This movie sucks": "neg",
    "This was extremely good, I loved it.": "pos",
    "great acting": "pos",
    "terrible acting": "neg",
    "pure kahoot": None,
    "This is not a good movie": "neg",
}


@dataclass
class Stage:
    """A row of the table. `records` and `size_bytes` count everything that the stage read, repeated reads
    included."""

    name: str
    records: int
    seconds: float
    shards: int | None = None
    size_bytes: int | None = None

    def row(self) -> dict:
        seconds = max(self.seconds, 1e-9)
        rates = {"records_per_s": self.records / seconds}
        if self.size_bytes:
            rates["mb_per_s"] = self.size_bytes / seconds / 1e6
        return {
            "name": self.name,
            "records": self.records,
            "shards": self.shards,
            "seconds": self.seconds,
            **rates,
        }


@dataclass
class Job:
    """Runs the built command and records each command line."""

    store: str
    commands: list[str] = field(default_factory=list)

    def run(self, *arguments: str) -> str:
        shown = [f'"{argument}"' if " " in argument else argument for argument in arguments]
        self.commands.append(" ".join(["headrace", *shown]))
        print(f"\n$ {self.commands[-1]}", flush=True)
        command = pathlib.Path(os.environ["HEADRACE_BUILD"]) / "bin" / "headrace"
        done = subprocess.run([command, *arguments], stdout=subprocess.PIPE, check=False)
        if done.returncode:
            raise SystemExit(f"demo: the command above failed with exit code {done.returncode}")
        return done.stdout.decode()

    def stage(self, *arguments: str) -> dict:
        """The command's result, with the seconds of the whole process as `wall_seconds`."""
        start = time.monotonic()
        result = json.loads(self.run(*arguments, "--json"))
        return {**result, "wall_seconds": time.monotonic() - start}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.split("\n\n")[1])
    parser.add_argument(
        "archive", nargs="?", type=pathlib.Path, help="aclImdb_v1.tar.gz, or an archive with the same layout"
    )
    parser.add_argument("--store", help=argparse.SUPPRESS)  # ./dev passes it for --minio
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "demo", help="folder for the results")
    parser.add_argument("--resume", action="store_true", help="continue a demo that was stopped")
    arguments = parser.parse_args()
    if arguments.archive and not arguments.archive.is_file():
        parser.error(f"{arguments.archive} is not a file")
    arguments.folder = arguments.folder.resolve()
    arguments.store = arguments.store or f"file://{arguments.folder}/store"
    return arguments


def archive_of_reviews(arguments: argparse.Namespace) -> pathlib.Path:
    if arguments.archive:
        return arguments.archive.resolve()
    target = arguments.folder / "reviews.tar.gz"
    if not target.exists():
        subprocess.run([sys.executable, ROOT / "tools" / "reviews.py", target], check=True)
    return target


def put_reviews(job: Job, archive: pathlib.Path) -> str:
    target = f"{job.store}/raw/{archive.name}"
    job.run("cp", f"file://{archive}", target)
    return target


def prepare(job: Job, raw: str, anew: list[str]) -> tuple[Stage, dict]:
    options = ["--layout", "aclimdb", "--encoder", "use-multilingual-v3", "--shard-records", "500"]
    options += ["--compression", "gzip", "--seed", SEED, "--workers", WORKERS]
    result = job.stage("prepare", raw, f"{job.store}/preprocessed-data", *options, *anew)
    records = sum(split["records"] for split in result["splits"].values())
    return Stage("prepare", records, result["seconds"], result["shards"], result["row_bytes"]), result


def train(job: Job, anew: list[str]) -> tuple[Stage, dict]:
    options = ["--model", "headrace.models:dense_classifier", "--epochs", "10", "--batch-size", "128"]
    options += ["--validation", "0.1", "--seed", SEED]
    result = job.stage("train", f"{job.store}/preprocessed-data", f"{job.store}/runs/imdb-1", *options, *anew)
    records = result["train_records"] * len(result["history"])
    return Stage("train", records, result["wall_seconds"], size_bytes=result["fetched_bytes"]), result


def evaluate(job: Job) -> tuple[Stage, dict]:
    options = ["--data", f"{job.store}/preprocessed-data", "--split", "test"]
    result = job.stage("evaluate", f"{job.store}/runs/imdb-1", *options)
    return Stage(
        "evaluate", result["records"], result["wall_seconds"], size_bytes=result["fetched_bytes"]
    ), result


def predict(job: Job) -> tuple[Stage, list[dict]]:
    texts = [argument for sentence in SENTENCES for argument in ("--text", sentence)]
    result = job.stage("predict", f"{job.store}/runs/imdb-1", *texts)
    answers = [
        {**answer, "expected": SENTENCES[sentence]}
        for sentence, answer in zip(SENTENCES, result["predictions"], strict=True)
    ]
    size_bytes = sum(len(sentence.encode()) for sentence in SENTENCES)
    return Stage("predict", len(answers), result["wall_seconds"], size_bytes=size_bytes), answers


def serve(job: Job, folder: pathlib.Path) -> None:
    """Starts a server for the model, and sends it requests as any client does."""
    ports = folder / "ports"
    ports.unlink(missing_ok=True)
    words = ["serve", f"imdb={job.store}/runs/imdb-1", "--port", "0", "--admin-port", "0", "--no-grpc"]
    job.commands.append(" ".join(["headrace", *words]))
    print(f"\n$ {job.commands[-1]} &", flush=True)
    command = pathlib.Path(os.environ["HEADRACE_BUILD"]) / "bin" / "headrace"
    server = subprocess.Popen([command, *words, "--port-file", ports], stdout=subprocess.DEVNULL)
    try:
        port, admin_port = (int(line) for line in wait_for(ports.read_text, server).split())
        ready = ["curl", "--silent", "--fail", f"http://127.0.0.1:{admin_port}/readyz"]
        wait_for(lambda: subprocess.run(ready, check=True, stdout=subprocess.DEVNULL), server)
        body = json.dumps({"instances": list(SENTENCES)[:3]})
        asking = ["curl", "--silent", "--show-error", "-d", body]
        asking.append(f"http://127.0.0.1:{port}/v1/models/imdb:predict")
        print(f"\n$ {shlex.join(asking)}", flush=True)
        subprocess.run(asking, check=True)
        print(flush=True)
    finally:
        server.terminate()
        if server.wait():
            raise SystemExit(f"demo: the server ended with exit code {server.returncode}")


def wait_for(get, server: subprocess.Popen):
    """Returns the result of the call as soon as the call stops failing."""
    end = time.monotonic() + SERVER_SECONDS
    while True:
        try:
            return get()
        except (OSError, subprocess.CalledProcessError) as error:
            if server.poll() is not None or time.monotonic() > end:
                raise SystemExit("demo: the server is not ready") from error
            time.sleep(0.05)


def print_table(stages: list[Stage], accuracy: float) -> None:
    heads = ("stage", "records", "shards", "seconds", "records/s", "MB/s")
    rows = [
        (
            row["name"],
            page.number(row["records"]),
            page.number(row["shards"]),
            page.number(row["seconds"], 2),
            page.rate(row["records_per_s"]),
            page.rate(row.get("mb_per_s")),
        )
        for row in (stage.row() for stage in stages)
    ]
    print()
    for first, *others in [heads, *rows]:
        print(f"  {first:<10}" + "".join(f"{cell:>12}" for cell in others))
    print(f"\n  test accuracy {accuracy:.4f}\n")


def print_answers(answers: list[dict]) -> None:
    for answer in answers:
        share = page.percent(answer["probabilities"][answer["label"]])
        mark = " " if answer["expected"] is None else "✓" if answer["expected"] == answer["label"] else "✗"
        print(f"  {mark} {answer['label']} {share:>6}   {answer['text']}")


def layer_of_report(layer: dict) -> dict:
    shape = [str(size) for size in (layer.get("output") or [])[1:]]
    detail = f"{' × '.join(shape)} outputs" if shape else ""
    return {"type": layer["type"], "detail": detail, "parameters": layer["parameters"]}


def write_report(folder: pathlib.Path, results: dict) -> pathlib.Path:
    (folder / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    report = folder / "report.html"
    report.write_text(page.page(results), encoding="utf-8")
    return report


def machine() -> str:
    names = [
        line.partition(":")[2].strip()
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return f"{os.cpu_count()} cores, {names[0] if names else 'processor unknown'}"


def results_of(job: Job, stages: list[Stage], trained: dict, evaluated: dict, answers: list[dict]) -> dict:
    (target,) = evaluated["targets"]
    return {
        "title": "Movie reviews: praise or not?",
        "summary": f"{stages[0].records:,} texts, embedded with Universal Sentence Encoder (multilingual, "
        f"version 3), classified by a small dense network trained from seed {SEED}; every stage from and to "
        f"{job.store}.",
        "created": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d at %H:%M UTC"),
        "machine": machine(),
        "stages": [stage.row() for stage in stages],
        "epochs": trained["history"],
        "layers": [layer_of_report(layer) for layer in trained["layers"]],
        "confusion": target["confusion"],
        "test": {"accuracy": target["accuracy"], "classes": target["classes"]},
        "predictions": answers,
        "commands": job.commands,
        "versions": trained.get("versions", {}),
    }


def print_next_steps(job: Job, report: pathlib.Path) -> None:
    where = f"below {job.store}"
    if job.store.startswith("s3://"):
        where += f'; its MinIO: eval "$(tools/servers/minio.sh start {report.parent}/minio)"'
    print(f"""
The report is {report}
The dataset, the run and its checkpoints are {where}

With your own data, one text per file in <split>/<label>/*.txt, as a folder, tar or zip, in any store:
  ./dev headrace prepare  my-texts.tar.gz  s3://bucket/prepared  --encoder use-multilingual-v3
  ./dev headrace train    s3://bucket/prepared  s3://bucket/runs/first
  ./dev headrace predict  s3://bucket/runs/first  --text "what do you make of this?"
  ./dev headrace serve    s3://bucket/runs/first
Or look at the results:
  ./dev headrace inspect {job.store}/preprocessed-data
  ./dev headrace lineage {job.store}/runs/imdb-1
  ./dev headrace help""")


def main() -> int:
    arguments = parse_arguments()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    job = Job(arguments.store)
    anew = [] if arguments.resume else ["--overwrite"]
    raw = put_reviews(job, archive_of_reviews(arguments))
    prepared, _ = prepare(job, raw, anew)
    training, trained = train(job, anew)
    evaluation, evaluated = evaluate(job)
    prediction, answers = predict(job)
    serve(job, arguments.folder)
    stages = [prepared, training, evaluation, prediction]
    results = results_of(job, stages, trained, evaluated, answers)
    print_table(stages, results["test"]["accuracy"])
    print_answers(answers)
    report = write_report(arguments.folder, results)
    print_next_steps(job, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
