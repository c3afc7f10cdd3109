"""Writes offline-run-recorded, a run of Weights & Biases that tests import: wandb 0.31.0, without a server.

Needs wandb: python record_wandb.py.
"""

import os
import pathlib
import shutil
import tempfile

import wandb


def log_run() -> None:
    """Numbers, nested names, values that are none, a step that is skipped, a changed setting and a file."""
    run = wandb.init(
        project="cats",
        name="cnn-1",
        id="abcd1234",
        mode="offline",
        config={"lr": 0.001, "opt": {"name": "adam"}, "layers": [1, 2]},
        tags=["a", "b"],
        group="g",
        notes="first",
        settings=wandb.Settings(console="off", host="example", silent=True, x_disable_meta=True),
    )
    for step in range(3):
        run.log({"loss": 1 / (step + 1), "nested": {"acc": step / 10}})
    run.log(
        {
            "loss": float("nan"),
            "words": "text",
            "big": 2**60,
            "weights": wandb.Histogram(np_histogram=([1, 2], [0, 1, 2])),
        }
    )
    run.log({"loss": float("inf")}, step=10)
    run.config.update({"lr": 0.01}, allow_val_change=True)
    run.summary["best"] = 0.25
    pathlib.Path("labels.csv").write_text("a,b\n")
    run.save("labels.csv", policy="now")
    run.finish()


def main() -> None:
    target = pathlib.Path(__file__).resolve().with_name("offline-run-recorded")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        log_run()
        (made,) = pathlib.Path("wandb").glob("offline-run-*")
        shutil.rmtree(target, ignore_errors=True)
        (target / "files").mkdir(parents=True)
        shutil.copy(made / "run-abcd1234.wandb", target)
        shutil.copy(made / "files/labels.csv", target / "files")
        os.chdir("/")


if __name__ == "__main__":
    main()
