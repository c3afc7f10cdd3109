"""How fast are training and prediction of models of tables? The model has twenty numbers, three categories
and two towers. Compares `headrace train` with Keras `fit` at its best, in steps per second of wall time,
input included; and `headrace predict` on 1,000,000 rows, prepared and raw, from start to exit, with Keras
`predict` on the shards, after its first pass.

    ./dev bench models --json bench/results/<date>/models.json

Keras' best settings (intra-op threads, jit_compile) are found first. Processes take turns, each on the same
two cores. The first epoch of each process does not count, as in train_loop.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import measuring

sys.path.insert(0, str(measuring.ROOT / "bench" / "peers"))
ROWS = 1_000_000
NUMBERS, CATEGORIES = 20, {"c0": 10, "c1": 100, "c2": 1000}
BATCH = 256
SETTINGS = [(threads, jit) for threads in (1, 0) for jit in ("auto", "no")]
MODEL = measuring.ROOT / "bench" / "peers" / "table_model.py"


def write_schema(target: pathlib.Path) -> pathlib.Path:
    columns = ", ".join(f'"n{i}"' for i in range(NUMBERS))
    features = [f'[features.numbers]\ntype = "float32"\nshape = [{NUMBERS}]\ncolumns = [{columns}]']
    features += [f'[features.{name}]\ntype = "label"' for name in CATEGORIES]
    features.append('[features.label]\ntype = "label"\nvocabulary = ["no", "yes"]')
    target.write_text("\n".join(features) + "\n")
    return target


def write_table(target: pathlib.Path, rows: int) -> pathlib.Path:
    import numpy as np
    import pyarrow
    import pyarrow.csv

    random = np.random.default_rng(44)
    numbers = np.round(random.normal(0, 1, (NUMBERS, rows)), 4)
    columns = {f"n{i}": numbers[i] for i in range(NUMBERS)}
    for name, size in CATEGORIES.items():
        columns[name] = np.array([f"v{i}" for i in range(size)])[random.integers(0, size, rows)]
    columns["label"] = np.where(numbers.sum(0) + random.normal(0, 1, rows) > 0, "yes", "no")
    pyarrow.csv.write_csv(pyarrow.table(columns), target)
    return target


def headrace(*arguments) -> measuring.Done:
    return measuring.run([measuring.headrace(), *arguments], measuring.cores())


def train(data: pathlib.Path, run: pathlib.Path, epochs: int) -> dict:
    words = ["--model", f"{MODEL}:build", "--labels", "label", "--validation", "0", "--batch-size", BATCH]
    done = headrace("train", data, run, *words, "--epochs", epochs, "--overwrite", "--json", "--quiet")
    return json.loads(done.output)


def train_rate(data: pathlib.Path, run: pathlib.Path, epochs: int) -> float:
    first, longer = train(data, run, 1), train(data, run, 1 + epochs)
    seconds = longer["training_seconds"] - first["training_seconds"]
    return (longer["steps_done_now"] - first["steps_done_now"]) / seconds


def keras(data: pathlib.Path, threads: int, jit: str, what) -> dict:
    program = measuring.ROOT / "bench" / "peers" / "fit_table.py"
    return json.loads(
        measuring.run([sys.executable, program, data, threads, jit, what], measuring.cores()).output
    )


def keras_rate(result: dict) -> float:
    return measuring.median(result["steps"] / seconds for seconds in result["epoch_s"])


def predict(run: pathlib.Path, data: pathlib.Path, to: pathlib.Path, *options) -> float:
    shutil.rmtree(to, ignore_errors=True)
    return headrace("predict", run, "--data", data, "--to", to, "--quiet", *options).wall_s


def measure(folder: pathlib.Path, rows: int, repeats: int, epochs: int) -> dict:
    table, schema = write_table(folder / "table.csv", rows), write_schema(folder / "schema.toml")
    data, run = folder / "data", folder / "run"
    headrace("prepare", table, data, "--schema", schema, "--compression", "none", "--quiet")
    survey = {setting: keras(data, *setting, 1) for setting in SETTINGS}
    best = max(survey, key=lambda setting: keras_rate(survey[setting]))
    raw: dict = {"best settings": {"intra-op threads": best[0], "jit_compile": best[1]}}
    raw |= {name: [] for name in ("train", "fit", "predict", "predict raw", "keras predict")}
    for _ in range(repeats):
        raw["train"].append(train_rate(data, run, epochs))
        raw["fit"].append(keras_rate(keras(data, *best, epochs)))
        raw["predict"].append(predict(run, data, folder / "answers", "--split", "train"))
        raw["predict raw"].append(predict(run, table, folder / "raw-answers"))
        raw["keras predict"].append(measuring.median(keras(data, *best, "predict")["wall_s"]))
    return raw


def summarise(raw: dict, rows: int) -> dict:
    medians = {name: measuring.median(values) for name, values in raw.items() if isinstance(values, list)}
    return {
        "headrace train, steps per second": medians["train"],
        "Keras fit at its best, steps per second": medians["fit"],
        "headrace train over Keras fit at its best (must be >= 2)": medians["train"] / medians["fit"],
        "headrace predict of a dataset, rows per second": rows / medians["predict"],
        "headrace predict of a CSV file, rows per second": rows / medians["predict raw"],
        "Keras predict, rows per second": rows / medians["keras predict"],
        "headrace predict over Keras predict (must be >= 3)": medians["keras predict"] / medians["predict"],
    }


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=3)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--epochs", type=int, default=2, help="of each process, after the first")
    arguments = parser.parse_args()
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        raw = measure(pathlib.Path(folder), arguments.rows, arguments.repeats, arguments.epochs)
    measuring.report(arguments.json, summarise(raw, arguments.rows), raw)


if __name__ == "__main__":
    main()
