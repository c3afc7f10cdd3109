"""For Keras' own `fit`: a callback that saves weights and data position as one, and continues from there.

    loader = data.loader(batch_size=128, seed=44)
    model.fit(loader.as_tf_dataset(), epochs=10, callbacks=[hr.keras.Resume("s3://bucket/run", loader)])

Run the same program again after it was killed: it continues with the batch after the last saved one.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import tempfile

import keras
import numpy as np

from headrace import _headrace
from headrace._src.loader import Loader
from headrace.errors import FailedPreconditionError, InvalidArgumentError

__all__ = ["Resume"]

_KIND = "keras-checkpoint"  # docs/formats/keras-checkpoint.md


class Resume(keras.callbacks.Callback):
    """Saves what a training continues from, and continues from it: weights, optimizer, seeds, data position.

    The position is that of the batches trained on, however far `fit` has read ahead. A checkpoint exists once
    its manifest does (docs/formats/keras-checkpoint.md), so one that was being written when the process died
    is not seen.

    Args:
        url: folder for the checkpoints, in any store.
        loader: the one whose `as_tf_dataset()` is trained on.
        save_every: batches between checkpoints, besides the one at the end of each epoch; None: only those.
        keep: checkpoints that stay; older ones are removed once a newer one is published.

    Raises (in `fit`):
        FailedPreconditionError: the model is not built before `fit`; or what lies at `url` is of another
        model, other data or other loader options. DataLossError: it was altered since it was published.
    """

    def __init__(self, url: str | os.PathLike, loader: Loader, save_every: int | None = None, keep: int = 2):
        super().__init__()
        if save_every is not None and save_every < 1:
            raise InvalidArgumentError(
                f"save_every is {save_every}; it is at least 1, or None: once an epoch"
            )
        if keep < 1:
            raise InvalidArgumentError(f"keep is {keep}; it is at least 1")
        self.url = os.fspath(url)
        self.loader = loader
        self.save_every = save_every
        self.keep = keep
        self._start = loader.step
        self._numbers: list[int] = []

    # ---- what Keras calls

    def on_train_begin(self, logs=None):
        if not self.model.built:
            raise FailedPreconditionError(
                "the model has no variables yet, so none can be restored: begin it with keras.Input(…), or "
                "call it on a batch before fit"
            )
        self._trained = self._saved = self._start
        self._rest_ends = None  # of an epoch that is resumed half-way
        latest = _headrace.read_published(self.url, _KIND)
        if latest is not None:
            self._restore(*latest)
        self._start = self._trained
        self.loader.seek(self._trained)
        self.loader.begin_passes_at(self._trained, self._rest_ends)

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch
        self._epoch_start = self._trained
        self._steps = self.params.get("steps") or self.loader.batches_per_epoch
        self._epoch_end = self._rest_ends or self._trained + self._steps
        self._rest_ends = None

    def on_train_batch_end(self, batch, logs=None):
        # An execution of several batches may have ended short.
        self._trained = min(self._epoch_start + batch + 1, self._epoch_end)
        if self._trained == self._epoch_end:
            if batch + 1 < self._steps:  # the rest of an epoch, which fit takes for a whole one
                self.model.stop_training = _Once()
        elif self.save_every is not None and self._trained - self._saved >= self.save_every:
            self._save(self._epoch, self._epoch_end)

    def on_epoch_end(self, epoch, logs=None):
        self.loader.begin_passes_at(self._trained)
        self._save(epoch + 1, None)

    def on_train_end(self, logs=None):
        self._start = self._trained
        self.model._initial_epoch = None

    # ---- saving and restoring

    def _variables(self) -> dict[str, keras.Variable]:
        """All that training changes. Names begin with the place in the model; the rest may vary."""
        optimizer = self.model.optimizer
        if not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        if hasattr(self.model, "jax_state_sync"):
            self.model.jax_state_sync()
        metrics = {id(variable) for variable in self.model.metrics_variables}
        found = {id(v): v for v in [*self.model.variables, *optimizer.variables] if id(v) not in metrics}
        return {f"{place:05} {v.path.replace('/', '.')}": v for place, v in enumerate(found.values())}

    def _save(self, epoch: int, epoch_end: int | None) -> None:
        if self._trained == self._saved:
            return
        file = f"variables-{self._trained:08}.npz"
        state = self.loader.state(self._trained).decode()
        attributes = {
            "epoch": epoch,
            "epoch_end": epoch_end,
            "step": self._trained,
            "state": state,
            "file": file,
        }
        values = {name: keras.ops.convert_to_numpy(v) for name, v in self._variables().items()}
        with tempfile.TemporaryDirectory(prefix="headrace-") as source:
            np.savez(os.path.join(source, file), **values)
            text = json.dumps(attributes, sort_keys=True)
            plan = hashlib.sha256(text.encode()).hexdigest()
            number = _headrace.publish(source, self.url, "variables", _KIND, plan, text)
        self._saved = self._trained
        self._numbers.append(number)
        for number in self._numbers[: -self.keep]:
            _headrace.unpublish(self.url, _KIND, number)
        del self._numbers[: -self.keep]

    def _restore(self, number: int, attributes_json: str) -> None:
        attributes = json.loads(attributes_json)
        with tempfile.TemporaryDirectory(prefix="headrace-") as target:
            _headrace.download_published(self.url, _KIND, number, target)
            with np.load(os.path.join(target, attributes["file"]), allow_pickle=False) as values:
                self._assign(values)
        self._trained = self._saved = self.loader.step_of(attributes["state"].encode())
        self._rest_ends = attributes["epoch_end"]
        self._numbers = list(range(max(1, number - self.keep + 1), number + 1))
        self.model._initial_epoch = attributes["epoch"]

    def _assign(self, values: np.lib.npyio.NpzFile) -> None:
        variables = self._variables()
        wanted = [f"{name} {list(variable.shape)}" for name, variable in variables.items()]
        found = [f"{name} {list(values[name].shape)}" for name in values.files]
        for here, there in itertools.zip_longest(wanted, found, fillvalue="nothing"):
            if _place_and_shape(here) != _place_and_shape(there):
                raise FailedPreconditionError(
                    f"{self.url} holds a checkpoint of another model: {there} there, {here} here; give the "
                    "model that it was written by, or another URL"
                )
        for variable, name in zip(variables.values(), values.files, strict=True):
            variable.assign(values[name])


def _place_and_shape(text: str) -> tuple[str, str]:
    return text.partition(" ")[0], text.rpartition(" [")[2]


class _Once:
    """True when first asked: `fit` ends this epoch, and goes on with the next."""

    def __init__(self):
        self._answer = True

    def __bool__(self) -> bool:
        answer, self._answer = self._answer, False
        return answer
