"""Trains with Keras' own `fit`. `headrace train --loop keras` starts this program and reads its messages.

    python -m headrace._src.fit request.json

Messages are JSON lines (channel.py), each an object with one member; those marked * wait for an answer:

    model*    the model is made, fits the data, and is described by FOLDER/model/model.json. So far, nothing
              is in the store. The answer, an object, is the right to publish checkpoints: the arguments of
              headrace._headrace.Owner.join
    step      {epoch, step, total_steps}, and each `log_every` steps `loss`, as `fit` shows it
    epoch*    {epoch, step, loss, val_loss, …}; its checkpoint is written after the answer
    saved     {}: the checkpoint of that epoch is published
    diverged  {what, epoch, step}: the end; no checkpoint was written since the last epoch
    error     {kind, message}, or {code, message} of headrace.errors: the end
    done      {history, exported_epoch, steps, …}: the end; FOLDER/trace is a traced model
              (docs/formats/traced-model.md) with the trained variables

SIGTERM ends the program as Ctrl-C would. Messages count `epoch` from 1.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace._src import sources, user_function, user_model
from headrace._src.channel import Channel, end_with, quiet_unless_it_fails
from headrace._src.errors import ModelError
from headrace.errors import Error

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from headrace._src.binding import Binding, Feature
    from headrace._src.checked_loader import CheckedLoader
    from headrace._src.columns import Column
    from headrace._src.fit_callback import FollowedResume
    from headrace._src.loader import Loader

_WEIGHTS = "weights of rows"


def _check_versions(wanted: str) -> None:
    found = sources.versions()["tensorflow"]
    if found and found != wanted:
        raise ModelError(
            "tensorflow",
            f"{sys.executable} has TensorFlow {found}, but the engine runs {wanted}: "
            "set HEADRACE_PYTHON to the Python that belongs to it",
        )


def _column(feature: Feature, image_size: list[int] | None = None) -> Column:
    """`image_size`: height and width of images before they are cropped."""
    import headrace as hr
    from headrace._src.columns import Column, optional

    if feature.dtype == "uint8":
        return hr.image(*(image_size or feature.shape[:2]), feature.shape[2])
    column = Column(feature.dtype, None if feature.ragged else feature.shape)
    return optional(column) if feature.optional else column


def _loaders(request: dict[str, Any], binding: Binding) -> tuple[Loader, Loader | None]:
    """The loaders for training and, if records are held out, for validation."""
    import headrace as hr
    from headrace._src.images import Augmentation

    data = hr.open(
        request["data"],
        request["split"],
        version=request["version"],
        on_corrupt=request["on_corrupt"],
        cache=request["cache"] or None,
    )
    make = functools.partial(
        hr.Dataset.loader,
        batch_size=request["batch_size"],
        seed=request["seed"],
        order=request["order"],
        on_corrupt=request["on_corrupt"],
        # A batch that has lost all its records then still counts as a step, as in the native loop.
        drop_remainder=False if request["on_corrupt"] == "fail" else "pad",
        weights=_WEIGHTS,
        threads=request["loader_threads"],
    )
    train = request["train_records"]
    validation = None
    if train < len(data):
        budget = request["validation_budget_bytes"]
        columns = {feature.name: _column(feature) for feature in binding.features}
        validation = make(data.part(train), columns=columns, shuffle=False, epochs=None, memory_budget=budget)
    augment = [Augmentation(kind, tuple(numbers)) for kind, numbers in request["augment"]]
    crops = any(augmentation.kind == "crop" for augmentation in augment)
    size = request["image_size"] if crops else None
    training = make(
        data.part(0, train),
        columns={feature.name: _column(feature, size) for feature in binding.features},
        augment=augment,
        balance=request["balance"] or None,
        bucket=request["bucket"] or None,
        epochs=request["epochs"],
        memory_budget=request["training_budget_bytes"],
    )
    return training, validation


def _tuples(structure: Any) -> Any:
    """Turns lists into tuples, because a tf.data.Dataset treats a list as a tensor."""
    if isinstance(structure, dict):
        return {name: _tuples(value) for name, value in structure.items()}
    return tuple(map(_tuples, structure)) if isinstance(structure, list | tuple) else structure


def _dataset(loader: Loader | CheckedLoader, binding: Binding, training: bool) -> tf.data.Dataset:
    """Inputs and targets as the model takes them, and weights if there are any. Rows that are not records are
    left out. If a batch has only such rows, they stay with weight 0."""
    import tensorflow as tf

    from headrace._src.tensorflow import dataset_of

    def element(columns):
        def tensor(feature: Feature) -> tf.Tensor:
            column = columns[feature.name]
            return feature.filled(column) if isinstance(column, tf.RaggedTensor) else column

        labels = [columns[to.label.name] for to in binding.targets]
        x = _tuples(binding.x([tensor(to.feature) for to in binding.inputs]))
        y = _tuples(binding.y(labels))
        of_records = [] if binding.weights is None else [tensor(binding.weights)]
        weights, rows = binding.sample_weights(labels, of_records, training), columns.get(_WEIGHTS)
        if rows is None:
            return (x, y) if weights is None else (x, y, weights)
        weights = rows if weights is None else rows * weights
        kept = (rows > 0) | tf.reduce_all(rows <= 0)
        return tf.nest.map_structure(lambda tensor: tf.boolean_mask(tensor, kept), (x, y, weights))

    names = [*loader.columns, *([] if loader.weights is None else [loader.weights])]
    return dataset_of(loader, names, None).map(element)


def _set_learning_rate(model: keras.Model, name: str, rate: float) -> None:
    from headrace._src import signatures

    if signatures.learning_rate_name(model) is None:
        raise ModelError(
            "learning_rate",
            f"--learning-rate: the optimizer of {name} computes its learning rate with a schedule",
        )
    model.optimizer.learning_rate = rate


def _callbacks(request: dict[str, Any], model: keras.Model, steps_per_epoch: int) -> list:
    """The callbacks that the user's function returns; none without a function."""
    import keras

    name = request["callbacks"]
    if not name:
        return []
    offered = {
        "model": model,
        "epochs": request["epochs"],
        "steps_per_epoch": steps_per_epoch,
        "seed": request["seed"],
        "run": request["run"],
    }
    made = user_model.call(user_function.load_function(name), name, offered, {})
    if not isinstance(made, list | tuple) or not all(isinstance(c, keras.callbacks.Callback) for c in made):
        raise ModelError("callbacks", f"{name} returned {made!r}: it must return a list of Keras callbacks")
    from headrace.keras import Resume

    if any(isinstance(c, Resume | keras.callbacks.BackupAndRestore) for c in made):
        raise ModelError(
            "callbacks",
            f"{name} returned a callback that resumes: remove it, because headrace train resumes by itself",
        )
    return list(made)


def _train(request: dict[str, Any], channel: Channel) -> None:
    from headrace._src import describe, initial, signatures
    from headrace._src.fit_callback import FollowedResume

    header = {"model": request["model"], "seed": request["model_seed"], "spec": request["spec"]}
    model, binding = user_model.make(header["model"], header["spec"], header["seed"])
    train, validation = _loaders(request, binding)
    callbacks = _callbacks(request, model, train.batches_per_epoch)
    if request["init_from"]:
        initial.restore(model, request["init_from"])
    if request["learning_rate"] is not None:
        _set_learning_rate(model, request["model"], request["learning_rate"])
    folder = Path(request["folder"])
    (folder / "model").mkdir()
    describe.write_description(model, binding, header, folder / "model")
    owner = json.loads(channel.ask(model={}))

    follow = FollowedResume(request, train, channel, callbacks, owner)
    _fit(model, binding, request, follow, train, validation, channel)
    if follow.exported_epoch != follow.history[-1]["epoch"]:
        follow.restore_best()
    (folder / "trace").mkdir()
    describe.save(model, binding, header, folder / "trace", signatures.trains_as_compiled(model))
    channel.say(done=_result(request, follow, train, validation))


def _fit(
    model: keras.Model,
    binding: Binding,
    request: dict[str, Any],
    follow: FollowedResume,
    train: Loader,
    validation: Loader | None,
    channel: Channel,
) -> None:
    from headrace._src.checked_loader import CheckedLoader
    from headrace._src.fit_callback import DivergedError

    loaders = [CheckedLoader(loader, binding) for loader in (train, validation) if loader is not None]
    held_out = None if validation is None else _dataset(loaders[1], binding, training=False)
    try:
        model.fit(
            _dataset(loaders[0], binding, training=True),
            epochs=request["epochs"],
            validation_data=held_out,
            callbacks=[*follow.callbacks, follow],
            shuffle=False,
            verbose=0,
        )
    except DivergedError as error:
        epoch = follow.history[-1]["epoch"] + 1 if follow.history else 1
        channel.say(diverged={"what": str(error), "epoch": epoch, "step": follow.step})
        sys.exit(1)
    except Exception:
        for loader in loaders:
            if loader.failure is not None:
                raise loader.failure from None  # TensorFlow's own error says less
        raise


def _result(
    request: dict[str, Any], follow: FollowedResume, train: Loader, validation: Loader | None
) -> dict[str, Any]:
    from headrace._src import history

    loaders = [train] if validation is None else [train, validation]
    stats = train.stats()
    epochs = [history.to_json(metrics) for metrics in follow.history]
    return {
        "history": epochs,
        "exported_epoch": follow.exported_epoch,
        "steps": follow.step,
        "steps_done_now": follow.step - follow.first_step,
        "training_seconds": follow.seconds,
        "stopped_early": follow.finished and follow.step < follow.total_steps,
        "corrupt_records": sum(_corrupt_records(loader) for loader in loaders),
        "remarks": [remark for loader in loaders for remark in loader.remarks],
        "records": stats.records,
        "fetched_bytes": stats.fetched_bytes,
        "inflated_bytes": stats.inflated_bytes,
        "wait_seconds": stats.wait_seconds,
    }


def _corrupt_records(loader: Loader) -> int:
    """The number of corrupt records of an epoch: rows that were left out, without the padding of the last
    batch."""
    padding = loader.batches_per_epoch * loader.batch_size - loader.records_per_epoch
    return max(0, loader.left_out_rows - padding)


def _load_tensorflow(request: dict[str, Any]) -> None:
    _check_versions(request["tensorflow_version"])
    with quiet_unless_it_fails():
        user_model.check_libraries()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(request["intra_op_threads"])


def run(request: dict[str, Any], channel: Channel, load: Callable[[dict[str, Any]], None]) -> int:
    """Trains as `request` says, sends messages, and returns the exit status. `load` prepares TensorFlow."""
    try:
        load(request)
        _train(request, channel)
        return 0
    except ModelError as error:
        channel.say(error={"kind": error.kind, "message": str(error)})
    except Error as error:
        channel.say(error={"code": error.code, "message": str(error)})
    except Exception as error:  # raised by the user's code, or by Keras because of it
        traceback.print_exc()
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        channel.say(error={"kind": "fit", "message": str(ModelError("fit", message))})
    return 1


def main() -> int:
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    end_with(request["parent"])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    channel = Channel()
    try:
        return run(request, channel, _load_tensorflow)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
