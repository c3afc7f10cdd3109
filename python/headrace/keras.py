"""For Keras: `Resume`, a callback for its own `fit` that saves weights and data position together, and
resumes from them; `Track`, a callback that logs metrics into a run; `load_weights`, which gives a model the
weights of a run.

    loader = data.loader(batch_size=128, seed=44)
    model.fit(loader.as_tf_dataset(), epochs=10, callbacks=[hr.keras.Resume("s3://bucket/run", loader)])

If the program is killed, run it again: training continues with the batch after the last saved one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Sequence

import keras
import numpy as np

from headrace import _headrace
from headrace._src import callback_state, checked, exported_weights, history, model_variables
from headrace._src.loader import Loader
from headrace._src.track_callback import Track
from headrace.errors import FailedPreconditionError, InvalidArgumentError

__all__ = ["Resume", "Track", "load_weights"]

_KIND = "keras-checkpoint"  # docs/formats/keras-checkpoint.md
# The value of `stop_training` that ends one epoch.
_END_OF_EPOCH = object()
_CALLBACK = model_variables.CALLBACK


# Words in the names of metrics for which a lower, or a higher, value is better.
_LOWER = ("loss", "error", "crossentropy", "divergence", "perplexity")
_HIGHER = ("acc", "auc", "precision", "recall", "f1", "iou", "r2", "similarity", "score")


def _sign_of(metric: str | None, mode: str) -> int:
    """The factor that makes the best value the lowest."""
    if metric is None or mode == "min":
        return 1
    if mode == "max":
        return -1
    for names, sign in ((_LOWER, 1), (_HIGHER, -1)):
        if any(name in metric.lower() for name in names):
            return sign
    raise InvalidArgumentError(
        f"keep_best is {metric!r}: say whether the best value is the lowest or the highest, with "
        "mode='min' or 'max'"
    )


def load_weights(model: keras.Model | keras.Layer, run: str | os.PathLike[str]) -> list[str]:
    """Gives a model, or one of its layers, the weights of a run that `headrace train` has finished.

        def build():
            body = keras.Sequential([...], name="body")
            headrace.keras.load_weights(body, "s3://runs/pretrained")
            body.trainable = False

    A weight is taken if the run has a weight with the same path, as `variable.path` shows it. So layers must
    have the same names in both models; other layers keep their initial weights.

    Args:
        run: URL of the run, or of a version of a named model.

    Returns:
        The paths of the weights that were taken.

    Raises:
        InvalidArgumentError: no weight of the model has the path of a weight of the run, or a weight with the
            same path has another shape.
        NotFoundError: there is no finished run. The store's errors.
    """
    return exported_weights.load(model, os.fspath(run))


class Resume(keras.callbacks.Callback):
    """Saves weights, optimizer, seeds and data position during `fit`, and resumes from the latest checkpoint.

    The saved position counts the batches that the model has trained on, however far `fit` has read ahead. A
    checkpoint exists once its manifest exists (docs/formats/keras-checkpoint.md), so a checkpoint that was
    being written when the process died is ignored. Put this callback last in the list: it then saves what the
    other callbacks have changed. With several ranks, give every rank the same URL: rank 0 saves, and all
    ranks resume from its checkpoint. Each `fit` takes the folder over: a process that still trains there,
    stalled or forgotten, cannot save any more.

    Args:
        url: folder for the checkpoints, in any store.
        loader: the loader whose `as_tf_dataset()` is passed to `fit`.
        save_every: number of batches between checkpoints. A checkpoint at the end of each epoch is always
            saved; with None there are no others.
        keep: number of checkpoints to keep. Older ones are removed after a newer one is published.
        keep_best: name of a metric, for example "val_loss". The checkpoint of the epoch with the best value
            is kept, too.
        mode: "min" or "max" says which value of the metric is best; "auto" infers it from the metric's name.
        callbacks: other callbacks whose state is saved, too: Keras' own EarlyStopping, ReduceLROnPlateau and
            ModelCheckpoint, and callbacks with `get_state()`, which returns a dict of numbers, texts, arrays
            and lists of arrays, and `set_state(dict)`, which is called after `on_train_begin`. The state of
            other callbacks is not saved.

    Raises (in `fit`):
        FailedPreconditionError: the model is not built before `fit`, or the checkpoint at `url` belongs to
            another model, other data or other loader options.
        InvalidArgumentError: `fit` does not compute the metric, or a callback's state has a value of another
            kind.
        DataLossError: the checkpoint was changed after it was published.
        AbortedError: another process has taken the folder over since `fit` began.
    """

    def __init__(
        self,
        url: str | os.PathLike,
        loader: Loader,
        save_every: int | None = None,
        keep: int = 2,
        keep_best: str | None = None,
        mode: str = "auto",
        callbacks: Sequence[keras.callbacks.Callback] = (),
    ):
        super().__init__()
        if not isinstance(loader, Loader):
            raise InvalidArgumentError(
                f"loader is {loader!r}; it must be the headrace.Loader that is trained on"
            )
        self.url = os.fspath(url)
        self.loader = loader
        self.save_every = None if save_every is None else checked.integer("save_every", save_every, least=1)
        self.keep = checked.integer("keep", keep, least=1)
        self.keep_best = keep_best
        self._sign = _sign_of(keep_best, checked.choice("mode", mode, ("auto", "min", "max")))
        self.callbacks = list(callbacks)
        self.history: list[dict[str, float]] = []
        """Metrics of each completed epoch, including the epochs before an interruption. Each entry also has
        "epoch", counted from 1, and "step"."""
        self.finished = False
        """Whether a callback stopped training before its last epoch. A later `fit` does not continue then."""
        self._start = self._trained = loader.step
        self._saved: tuple | None = None
        self._owner: _headrace.Owner | None = None  # held by rank 0 during training
        self._numbers: list[int] = []
        self._best_number: int | None = None

    @property
    def step(self) -> int:
        """Number of batches that the model has trained on."""
        return self._trained

    @property
    def best_epoch(self) -> int | None:
        """The first epoch, counted from 1, with the best value of `keep_best`; None if no epoch has one."""
        ranked = [
            (self._sign * epoch[self.keep_best], epoch["epoch"])
            for epoch in self.history
            if self.keep_best in epoch
        ]
        return min((pair for pair in ranked if not math.isnan(pair[0])), default=(0.0, None))[1]

    def restore_best(self) -> None:
        """Sets the model's variables to the values that they had after `best_epoch`.

        Raises:
            FailedPreconditionError: there is no such epoch, or its checkpoint has been removed.
        """
        published = self._best_number and _headrace.read_published(self.url, _KIND, self._best_number)
        if not published:
            raise FailedPreconditionError(
                f"{self.url} holds no checkpoint of the best epoch by {self.keep_best}"
            )
        self._read_variables(*published)

    # ---- what Keras calls

    def on_train_begin(self, logs=None):
        if not self.model.built:
            raise FailedPreconditionError(
                "the model has no variables yet, so none can be restored: begin it with keras.Input(…), or "
                "call it on a batch before fit"
            )
        model_variables.check_optimizers(self.model)
        self._trained = self._start
        self._saved = None
        self._rest_ends = None  # set for an epoch that is resumed half-way
        self.history, self.finished = [], False
        self._owner = self._own() if self.loader.rank == 0 else None
        if self._owner is not None:
            latest = self._owner.published(_KIND)
        else:
            latest = _headrace.read_published(self.url, _KIND)
        if latest is not None:
            self._restore(*latest)
        self._start = self._trained
        self.loader.seek(self._trained)
        self._steps = self.params.get("steps") or self.loader.batches_per_epoch
        # With steps_per_epoch, fit's epochs are not the loader's passes.
        is_pass = self._steps == self.loader.batches_per_epoch
        self.loader.begin_passes_at(self._trained, self._rest_ends if is_pass else None)

    def on_epoch_begin(self, epoch, logs=None):
        self.model._initial_epoch = None  # fit has read it; the next fit must not, even if this one fails
        self._epoch = epoch
        self._epoch_start = self._trained
        self._given = 0
        self._epoch_end = self._rest_ends or self._trained + self._steps
        self._rest_ends = None

    def on_train_batch_end(self, batch, logs=None):
        # The last execution of several batches may have had fewer batches.
        self._given = batch + 1
        self._count_trained()
        if self._trained > self.loader.step:
            raise FailedPreconditionError(
                f"fit has trained on {self._trained} batches, but the loader of Resume has given "
                f"{self.loader.step}: train on its as_tf_dataset(), without unbatch, batch or cache"
            )
        if self._trained == self._epoch_end:
            # The rest of an epoch, which fit treats as a whole epoch.
            if batch + 1 < self._steps and not self.model.stop_training:
                self.model.stop_training = _END_OF_EPOCH
        elif self.save_every is not None and self._trained - self._saved_step >= self.save_every:
            self._save(self._epoch, self._epoch_end)

    def on_epoch_end(self, epoch, logs=None):
        self._count_trained()  # the last batches of the epoch may have lost all their records
        self.loader.begin_passes_at(self._trained)
        if self.model.stop_training is _END_OF_EPOCH:
            self.model.stop_training = False
        self.finished = bool(self.model.stop_training)
        if self._trained > self._epoch_start:
            metrics = history.scalars(logs)
            if self.keep_best is not None and self.keep_best not in metrics:
                raise InvalidArgumentError(
                    f"keep_best is {self.keep_best!r}, but fit computes {', '.join(sorted(metrics))}"
                )
            self.history.append({**metrics, "epoch": epoch + 1, "step": self._trained})
        self._save(epoch + 1, None)

    def on_train_end(self, logs=None):
        self._start = self._trained
        self.model._initial_epoch = None

    def _count_trained(self) -> None:
        self._trained = min(self.loader.step_after(self._epoch_start, self._given), self._epoch_end)

    # ---- saving and restoring

    def _own(self) -> _headrace.Owner:
        return _headrace.Owner.take(self.url, _KIND, "keras Resume")

    @property
    def _saved_step(self) -> int:
        return self._start if self._saved is None else self._saved[0]

    def _save(self, epoch: int, epoch_end: int | None) -> None:
        what = self._trained, epoch_end, self.finished
        if self._saved == what or self._trained == self._start:
            return
        if self.loader.rank == 0:
            self._publish(epoch, epoch_end)
        self._saved = what

    def _publish(self, epoch: int, epoch_end: int | None) -> None:
        within = "" if epoch_end is None else "-within"  # within an epoch; a stop here ends the epoch
        file = f"variables-{self._trained:08}{within}{self._owner.suffix}.npz"
        state = self.loader.state(self._trained).decode()
        attributes = {
            "epoch": epoch,
            "epoch_end": epoch_end,
            "step": self._trained,
            "state": state,
            "file": file,
            "finished": self.finished,
            "history": [history.to_json(metrics) for metrics in self.history],
        }
        values = model_variables.arrays_of(self.model)
        for place, callback in enumerate(self.callbacks):
            for name, value in callback_state.arrays_of(callback).items():
                values[f"{_CALLBACK}{place} {type(callback).__name__} {name}"] = value
        with tempfile.TemporaryDirectory(prefix="headrace-") as source:
            np.savez(os.path.join(source, file), **values)
            text = json.dumps(attributes, sort_keys=True)
            plan = hashlib.sha256(text.encode()).hexdigest()
            number = self._owner.publish(source, "variables", _KIND, plan, text)
        self._numbers.append(number)
        if epoch_end is None and self.best_epoch == epoch:
            self._best_number = number
        self._remove_old()

    def _remove_old(self) -> None:
        kept = {*self._numbers[-self.keep :], self._best_number}
        for number in self._numbers:
            if number not in kept:
                self._owner.unpublish(_KIND, number)
        self._numbers = [number for number in self._numbers if number in kept]

    def _restore(self, number: int, attributes_json: str) -> None:
        attributes = json.loads(attributes_json)
        self._trained = self.loader.step_of(attributes["state"].encode())
        for callback, state in zip(
            self.callbacks, self._read_variables(number, attributes_json), strict=True
        ):
            callback_state.restore(callback, state)
        self._rest_ends = attributes["epoch_end"]
        self.finished = attributes.get("finished", False)
        self.history = [history.from_json(metrics) for metrics in attributes.get("history", [])]
        owner = self._owner
        self._numbers = _headrace.published_numbers(self.url) if owner is None else owner.numbers()
        self._best_number = self._find_best()
        if self._owner is not None:
            self._remove_old()
        self.model._initial_epoch = self.params["epochs"] if self.finished else attributes["epoch"]

    def _find_best(self) -> int | None:
        for number in reversed(self._numbers if self.best_epoch is not None else []):
            published = _headrace.read_published(self.url, _KIND, number)
            attributes = json.loads(published[1]) if published else {}
            if attributes.get("epoch_end", 0) is None and attributes["epoch"] == self.best_epoch:
                return number
        return None

    def _read_variables(self, number: int, attributes_json: str) -> list[dict[str, np.ndarray]]:
        """Sets the model's variables to those of a checkpoint, and returns the callbacks' states."""
        with tempfile.TemporaryDirectory(prefix="headrace-") as target:
            _headrace.download_published(self.url, _KIND, number, target)
            file = os.path.join(target, json.loads(attributes_json)["file"])
            arrays = model_variables.load(file)
        states: list[dict[str, np.ndarray]] = [{} for _ in self.callbacks]
        for name in [name for name in arrays if name.startswith(_CALLBACK)]:
            place, kind, key = name.removeprefix(_CALLBACK).split(" ", 2)
            array = arrays.pop(name)
            # A callback of another kind has this place now. It starts without a state.
            if int(place) < len(states) and type(self.callbacks[int(place)]).__name__ == kind:
                states[int(place)][key] = array
        model_variables.assign(self.model, arrays, self.url)
        return states
