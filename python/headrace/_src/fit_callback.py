"""The callback by which `headrace train --loop keras` follows, bounds and continues a `fit`."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from headrace import _headrace
from headrace._src import history
from headrace.keras import Resume

if TYPE_CHECKING:
    from headrace._src.channel import Channel
    from headrace._src.loader import Loader

_REPORT_INTERVAL_S = 0.1
_MONITOR = "val_loss"


class DivergedError(Exception):
    """Numbers are no longer finite."""


class FollowedResume(Resume):
    """Reports steps and epochs. An epoch's checkpoint is written after the epoch's metrics are in the store.

    Args:
        request: as fit.py describes it.
        owner: the arguments of Owner.join, without the URL.
    """

    def __init__(
        self,
        request: dict[str, Any],
        loader: Loader,
        channel: Channel,
        callbacks: Sequence[keras.callbacks.Callback],
        owner: dict[str, Any],
    ):
        self.early_stop = request["early_stop"]
        super().__init__(
            request["checkpoints"],
            loader,
            keep_best=_MONITOR if self.early_stop else None,
            callbacks=callbacks,
        )
        self._taken = owner
        self.channel = channel
        self.log_every = request["log_every"]
        self.steps_max = request["steps"] or math.inf
        self.total_steps = min(request["epochs"] * loader.batches_per_epoch, self.steps_max)
        self.seconds = 0.0
        self._reported_at = 0.0

    @property
    def exported_epoch(self) -> int:
        """From 1."""
        best = self.best_epoch if self.early_stop else None
        return best or int(self.history[-1]["epoch"])

    def _own(self) -> _headrace.Owner:
        return _headrace.Owner.join(self.url, **self._taken)

    def on_train_begin(self, logs=None):
        super().on_train_begin(logs)
        self.first_step = self.step

    def on_epoch_begin(self, epoch, logs=None):
        super().on_epoch_begin(epoch, logs)
        self._epoch_begun_at = time.monotonic()
        self._stats_before = self.loader.stats()

    def on_train_batch_end(self, batch, logs=None):
        before = self.step
        super().on_train_batch_end(batch, logs)
        self._trained_at = time.monotonic()
        loss = history.scalars(logs).get("loss")
        if loss is not None and not math.isfinite(loss):
            raise DivergedError(f"the loss became {loss}")
        if self.log_every and loss is not None and self.step // self.log_every > before // self.log_every:
            self._report(loss=loss)
        elif self._trained_at - self._reported_at > _REPORT_INTERVAL_S:
            self._report()
        if self.step >= self.steps_max:
            self.model.stop_training = True

    def on_test_batch_end(self, batch, logs=None):
        if time.monotonic() - self._reported_at > _REPORT_INTERVAL_S:
            self._report()

    def on_epoch_end(self, epoch, logs=None):
        seconds = self._trained_at - self._epoch_begun_at
        self.seconds += seconds
        now, before = self.loader.stats(), self._stats_before
        spent = {
            "all": seconds,
            "input": now.wait_seconds - before.wait_seconds,
            "hand_over": now.hand_over_seconds - before.hand_over_seconds,
        }
        self.channel.say(spent={"epoch": epoch + 1, **spent})
        metrics = {**history.scalars(logs), "epoch": epoch + 1, "step": self.step}
        self._check_finite(metrics)
        if self._has_waited_enough(metrics):
            self.model.stop_training = True
        self.channel.ask(epoch=history.to_json(metrics))
        super().on_epoch_end(epoch, logs)
        self.channel.say(saved={})

    def _report(self, **more: float) -> None:
        self._reported_at = time.monotonic()
        self.channel.say(
            step={"epoch": self._epoch + 1, "step": self.step, "total_steps": self.total_steps, **more}
        )

    # The loss of a step is computed before its update, so only this check sees the effect of an epoch's last
    # update.
    def _check_finite(self, metrics: dict[str, float]) -> None:
        loss = metrics.get("val_loss", 0.0)
        if not math.isfinite(loss):
            raise DivergedError(f"the validation loss became {loss}")
        for variable in self.model.trainable_variables:
            values = keras.ops.convert_to_numpy(variable)
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise DivergedError(f"{variable.path} contains numbers that are not finite")

    def _has_waited_enough(self, metrics: dict[str, float]) -> bool:
        if not self.early_stop or _MONITOR not in metrics:
            return False
        losses = [epoch[_MONITOR] for epoch in (*self.history, metrics)]
        return len(losses) - 1 - losses.index(min(losses)) >= self.early_stop
