"""The callback that logs Keras' metrics into a run."""

from __future__ import annotations

from typing import Any

import keras

from headrace._src.tracking import Run
from headrace.errors import InvalidArgumentError


class Track(keras.callbacks.Callback):
    """Logs the metrics of `fit` into a run:

        with hr.init("s3://datasets/runs") as run:
            model.fit(data, epochs=10, callbacks=[hr.keras.Track(run)])

    The metrics of an epoch have Keras' names (`loss`, `val_loss`). Metrics of batches begin with `batch/`;
    Keras reports their means since the epoch began. Steps are the optimizer's steps. No step waits for the
    store.

    Args:
        every: log the metrics of every n-th batch; 0: only the metrics of epochs.
    """

    def __init__(self, run: Run, *, every: int = 1):
        super().__init__()
        if every < 0:
            raise InvalidArgumentError(f"every is {every}; it must be a number of batches, or 0")
        self.run = run
        self.every = every
        self._step = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        optimizer = self.model.optimizer
        self._step = int(optimizer.iterations) if optimizer is not None else 0

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._step += 1
        if self.every and logs and self._step % self.every == 0:
            self.run.log({f"batch/{name}": value for name, value in logs.items()}, step=self._step)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.run.log({**(logs or {}), "epoch": epoch + 1}, step=self._step)
