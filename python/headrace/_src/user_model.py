"""Loads a user's model from MODULE:FUNCTION as a compiled Keras model that fits the data, or reports why that
fails."""

from __future__ import annotations

import inspect
import sys
import traceback
from typing import TYPE_CHECKING

from headrace._src.errors import ModelError
from headrace._src.user_function import load_function

if TYPE_CHECKING:
    import keras

    from headrace._src.binding import Binding


def make(name: str, spec_data: dict, seed: int) -> tuple[keras.Model, Binding]:
    """The model that `name` returns: compiled, built, and bound to the features of the data.

    \\raises ModelError

    REQUIRES: check_libraries()
    """
    from headrace._src.binding import Binding, Spec

    spec = Spec.from_json(spec_data)
    function = load_function(name)
    make_deterministic(seed)
    model = call(function, name, {**spec.offered(), "seed": seed}, spec_data.get("arguments", {}))
    check_compiled(model, name)
    binding = Binding(model, name, spec)
    _build(model, name, binding)
    return model, binding


def call(function, name: str, offered: dict, arguments: dict):
    """Calls the user's function with the offered arguments that it declares, and with all of `arguments`."""
    parameters = inspect.signature(function).parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    for argument in arguments:
        if argument not in parameters and not takes_any:
            raise ModelError(
                "argument", f"{name} takes no argument '{argument}'; it takes {', '.join(parameters)}"
            )
    passed = {key: value for key, value in offered.items() if key in parameters} | arguments
    _check_given(name, parameters, passed, offered)
    try:
        return function(**passed)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise ModelError(
            "function", f"{name} failed: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        ) from error


def _check_given(name: str, parameters, passed: dict, offered: dict) -> None:
    """Raises if a parameter without a default gets no value."""
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in parameters.values():
        if parameter.default is not parameter.empty or parameter.kind in optional or parameter.name in passed:
            continue
        raise ModelError(
            "argument",
            f"{name} has a parameter '{parameter.name}' that Headrace does not pass; give it a default. "
            f"Headrace passes those of {', '.join(offered)} that the function declares",
        )


def check_compiled(model, name: str) -> None:
    import keras

    if not isinstance(model, keras.Model):
        hint = ": end the function with a return of the model" if model is None else ""
        raise ModelError("type", f"{name} returned {type(model).__name__}, not a keras.Model{hint}")
    if not getattr(model, "compiled", False) or model.optimizer is None or model.loss is None:
        raise ModelError(
            "compile",
            f"{name} returned a model that is not compiled with an optimizer and a loss:"
            " call model.compile(optimizer=…, loss=…) before returning it",
        )


def _build(model, name: str, binding: Binding) -> None:
    """Creates every variable, and resolves the compiled losses and metrics, such as "accuracy"."""
    if not model.trainable_variables:
        raise ModelError("trainable", f"{name} has no trainable variables")
    model.optimizer.build(model.trainable_variables)
    binding.resolve_metrics()


def make_deterministic(seed: int) -> None:
    import keras
    import tensorflow as tf

    if keras.backend.backend() != "tensorflow":
        raise ModelError(
            "backend", "Keras runs on another backend: unset KERAS_BACKEND, or set it to tensorflow"
        )
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()


def check_libraries() -> None:
    """Imports TensorFlow and Keras, which takes seconds."""
    try:
        import keras
        import tensorflow  # noqa: F401
    except ImportError as error:
        raise ModelError(
            "tensorflow", f"{sys.executable} cannot import TensorFlow ({error}): pip install tensorflow-cpu"
        ) from error
    if int(keras.__version__.split(".")[0]) < 3:
        raise ModelError("keras", f"Keras {keras.__version__} is too old: pip install 'keras>=3'")
