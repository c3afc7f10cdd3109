"""What does it cost Python to take a batch? Measures the CPU time per batch of the thread that takes batches
of 128 rows, {float32[512], int64[2]}; the engine's own threads decode in parallel and do not count. Then the
same with arrays that DLPack turns into those of JAX (whose int64 becomes int32, by a copy) and TensorFlow,
and the total cost of a tf.data.Dataset around the loader, the engine included.

    ./dev bench hand_over
"""

import os
import pathlib
import subprocess
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import measuring
import tensorflow as tf

import headrace as hr

RECORDS = 20_000
BATCH = 128
EPOCHS = 10
LIMIT_US = 20


def loader(folder: pathlib.Path) -> hr.Loader:
    columns = {"sentence": hr.float32[512], "label": hr.int64[2]}
    return hr.open(folder).loader(batch_size=BATCH, seed=1, epochs=EPOCHS, columns=columns)


def views(folder: pathlib.Path) -> dict:
    """Name → the iterable to measure."""

    def tensors():
        for batch in loader(folder):
            yield {name: tf.experimental.dlpack.from_dlpack(a.__dlpack__()) for name, a in batch.items()}

    return {
        f"NumPy (must be <= {LIMIT_US})": lambda: loader(folder),
        "JAX": lambda: loader(folder).as_jax(),
        "TensorFlow": tensors,
        "tf.data.Dataset, all threads, decoding too": lambda: loader(folder).as_tf_dataset(),
    }


def cost_us(make, clock) -> float:
    batches = make()
    next(iter(batches))  # imports, starting threads, the first window
    start, count = clock(), 0
    for _ in batches:
        count += 1
    return (clock() - start) / count * 1e6


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=5).parse_args()
    raw: dict = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "data"
        prepare = ["prepare", measuring.archive(RECORDS), folder, "--encoder", "hash:512", "--quiet"]
        subprocess.run([measuring.headrace(), *prepare], check=True, stdout=subprocess.DEVNULL)
        for _ in range(arguments.repeats):
            for name, make in views(folder).items():
                clock = time.process_time if "all threads" in name else time.thread_time
                raw.setdefault(name, []).append(cost_us(make, clock))
    summary = {f"hand-over of a batch, µs, {name}": measuring.median(values) for name, values in raw.items()}
    measuring.report(arguments.json, summary, raw)


if __name__ == "__main__":
    main()
