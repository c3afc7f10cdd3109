"""Logs scalars into a run of hr.init, one per call, and times each call until it returns:

python log_metrics.py calls FOLDER COUNT REPEATS

or trains with Keras `fit`, with and without tracking every step:

python log_metrics.py fit FOLDER STEPS REPEATS
"""

import json
import os
import sys
import time

from repeating import repeat

FEATURES = 512
BATCH = 128


def calls(folder: str, count: int, repeats: int) -> None:
    import headrace as hr

    with hr.init(f"file://{folder}/runs", system_metrics_each=None) as run:

        def log() -> int:
            for step in range(count):
                run.log({"loss": 0.5}, step=step)
            return count

        repeat(log, repeats, prepare=run.flush)


def fit(folder: str, steps: int, repeats: int) -> None:
    """Epochs with and without the callback take turns; both have a callback that does nothing at each
    step."""
    import keras
    import numpy as np

    import headrace as hr

    class Timed(hr.keras.Track):
        """Adds up the CPU time of the thread that trains."""

        cpu_s = 0.0

        def on_train_batch_end(self, batch, logs=None):
            start = time.thread_time()
            super().on_train_batch_end(batch, logs)
            self.cpu_s += time.thread_time() - start

    class Nothing(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            pass

    random = np.random.default_rng(1)
    x = random.normal(size=(steps * BATCH, FEATURES)).astype("float32")
    y = (x[:, :1] > 0).astype("float32")
    layers = [keras.layers.Dense(1024, "relu"), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.layers.Input((FEATURES,)), *layers])
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
    times = {"tracked": [], "alone": []}
    with hr.init(f"file://{folder}/runs", system_metrics_each=None) as run:
        chosen = {"tracked": Timed(run), "alone": Nothing()}
        for repeat_number in range(repeats + 1):
            for name, callback in chosen.items():
                before, start = os.times(), time.monotonic()
                model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[callback])
                after = os.times()
                if repeat_number:
                    wall_s = time.monotonic() - start
                    times[name].append({"cpu_s": sum(after[:2]) - sum(before[:2]), "wall_s": wall_s})
    tracked_steps = steps * (repeats + 1)
    callback_s = chosen["tracked"].cpu_s / tracked_steps
    print(json.dumps({"steps": steps, "times": times, "callback_s": callback_s}))


def main() -> None:
    what, folder, count, repeats = sys.argv[1:]
    os.environ["XDG_STATE_HOME"] = f"{folder}/state"
    {"calls": calls, "fit": fit}[what](folder, int(count), int(repeats))


if __name__ == "__main__":
    main()
