"""How fast is a CNN trained on JPEGs of about 400 × 300 in TFRecord shards, decoded to 150 × 150 meanwhile?
Compares the native loop, input included, with the same loop on one batch in memory, and with Keras `fit` with
tf.data at its best (peers/fit_images.py). Figures are steps per second of wall time on two cores, with
batches of 32.

    ./dev bench train_images --json bench/results/<date>/train_images.json

The first epoch of each process does not count. Keras' best settings (intra-op threads, jit_compile) are found
first. Processes take turns.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import load_images
import measuring

BATCH = 32
SETTINGS = [(threads, jit) for threads in (1, 0) for jit in ("auto", "no")]
PEERS = measuring.ROOT / "bench" / "peers"


def prepared(folder: pathlib.Path, photos: pathlib.Path) -> pathlib.Path:
    """The photos in two folders, as a dataset whose schema marks them as images."""
    for number, photo in enumerate(sorted(photos.iterdir())):
        kind = folder / "photos" / ("even", "odd")[number % 2]
        kind.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(photo, kind / f"{number}.jpg")
    command = [
        measuring.headrace(),
        "prepare",
        folder / "photos",
        folder / "data",
        "--layout",
        "image-folder",
    ]
    measuring.run([*command, "--compression", "none", "--trust-images", "--quiet"], measuring.cores())
    return folder / "data"


def traced(folder: pathlib.Path, data: pathlib.Path) -> pathlib.Path:
    """The model as `headrace train` traces it, in a run of one step."""
    words = ["--model", PEERS / "image_model.py:build", "--validation", "0", "--steps", "1", "--quiet"]
    measuring.run([measuring.headrace(), "train", data, folder / "run", *words], measuring.cores())
    return folder / "run" / "model"


def native(program: pathlib.Path, model: pathlib.Path, data: pathlib.Path, epochs: int) -> dict:
    threads = len(measuring.cores())  # for `headrace train --intra-op-threads`
    command = [program, model, f"file://{data}", BATCH, epochs, threads]
    done = measuring.run(command, measuring.cores())
    return json.loads(done.output)


def keras(shards: pathlib.Path, threads: int, jit: str, epochs: int) -> dict:
    command = [sys.executable, PEERS / "fit_images.py", shards, BATCH, threads, jit, epochs]
    return json.loads(measuring.run(command, measuring.cores()).output)


def rate(steps: int, seconds: list[float]) -> float:
    return measuring.median(steps / each for each in seconds)


def measure(folder: pathlib.Path, repeats: int, epochs: int) -> dict:
    photos, shards = load_images.write(measuring.build("headrace_bench_decode_images"))
    program = measuring.build("headrace_bench_train_loop")
    data = prepared(folder, photos)
    model = traced(folder, data)
    survey = {setting: keras(shards, *setting, 1) for setting in SETTINGS}
    best = max(survey, key=lambda setting: rate(survey[setting]["steps"], survey[setting]["epoch_s"]))
    raw: dict = {"best settings": {"intra-op threads": best[0], "jit_compile": best[1]}}
    raw |= {"native": [], "cached": [], "keras": []}
    for _ in range(repeats):
        loop = native(program, model, data, epochs)
        raw["native"].append(rate(loop["steps"], loop["shards_s"]))
        raw["cached"].append(rate(loop["steps"], loop["cached_s"]))
        fit = keras(shards, *best, epochs)
        raw["keras"].append(rate(fit["steps"], fit["epoch_s"]))
    return raw


def summarise(raw: dict) -> dict:
    native, cached, keras = (measuring.median(raw[name]) for name in ("native", "cached", "keras"))
    return {
        "native loop from shards, steps per second": native,
        "native loop on one cached batch, steps per second": cached,
        "Keras fit with tf.data at its best, steps per second": keras,
        "shards over cached batch (must be >= 0.95)": native / cached,
        "native loop over Keras fit (must be >= 1)": native / keras,
    }


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=3)
    parser.add_argument("--epochs", type=int, default=2, help="of each process, after the first")
    arguments = parser.parse_args()
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        raw = measure(pathlib.Path(folder), arguments.repeats, arguments.epochs)
    measuring.report(arguments.json, summarise(raw), raw)


if __name__ == "__main__":
    main()
