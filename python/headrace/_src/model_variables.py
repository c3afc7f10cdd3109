"""A model's variables by their position, and the file that stores them (docs/formats/keras-checkpoint.md)."""

from __future__ import annotations

import itertools
import os

import keras
import numpy as np

from headrace.errors import FailedPreconditionError

CALLBACK = "callback "
"""Prefix of the names of arrays that are not variables."""


def load(file: str | os.PathLike) -> dict[str, np.ndarray]:
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def assign(model: keras.Model, arrays: dict[str, np.ndarray], where: str) -> None:
    """Restores the model's variables from a checkpoint; arrays that are not variables are ignored.

    Raises:
        FailedPreconditionError: the checkpoint belongs to another model; the message begins with `where`.
    """
    variables = variables_of(model)
    names = [name for name in arrays if not name.startswith(CALLBACK)]
    wanted = [f"{name} {list(variable.shape)}" for name, variable in variables.items()]
    found = [f"{name} {list(arrays[name].shape)}" for name in names]
    for here, there in itertools.zip_longest(wanted, found, fillvalue="nothing"):
        if _place_and_shape(here) != _place_and_shape(there):
            raise FailedPreconditionError(
                f"{where} holds a checkpoint of another model: {there} there, {here} here; use the "
                "model that wrote it, or choose another URL"
            )
    for variable, name in zip(variables.values(), names, strict=True):
        variable.assign(arrays[name])


def arrays_of(model: keras.Model) -> dict[str, np.ndarray]:
    """The variables' values, by name. Types that NumPy's files have no name for (bfloat16) become float32."""
    arrays = {name: keras.ops.convert_to_numpy(v) for name, v in variables_of(model).items()}
    return {
        name: array if array.dtype.kind in "biufcSU" else array.astype(np.float32)
        for name, array in arrays.items()
    }


def check_optimizers(model: keras.Model) -> None:
    """Checks that each of several optimizers (a GAN's) has its variables before training.

    Raises:
        FailedPreconditionError: an optimizer has none, and nothing says which variables it trains.
    """
    for name, optimizer in _own_optimizers(model).items():
        if not optimizer.built:
            raise FailedPreconditionError(
                f"the model's {name} has no variables yet, so none can be restored: before fit, call "
                f"model.{name}.build(the variables that it trains)"
            )


def _own_optimizers(model: keras.Model) -> dict[str, keras.optimizers.Optimizer]:
    """The optimizers other than `model.optimizer` that are attributes of the model."""
    return {
        name: value
        for name, value in sorted(vars(model).items())
        if isinstance(value, keras.optimizers.Optimizer) and value is not model.optimizer
    }


def variables_of(model: keras.Model) -> dict[str, keras.Variable]:
    """All variables that training changes. Names begin with the position in the model; the rest may vary."""
    optimizers = list(_own_optimizers(model).values())
    if model.optimizer is not None:
        if not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        optimizers.insert(0, model.optimizer)
    if hasattr(model, "jax_state_sync"):
        model.jax_state_sync()
    metrics = {id(variable) for variable in model.metrics_variables}
    trained = [*model.variables, *(v for optimizer in optimizers for v in optimizer.variables)]
    found = {id(v): v for v in trained if id(v) not in metrics}
    return {f"{place:05} {v.path.replace('/', '.')}": v for place, v in enumerate(found.values())}


def _place_and_shape(text: str) -> tuple[str, str]:
    return text.partition(" ")[0], text.rpartition(" [")[2]
