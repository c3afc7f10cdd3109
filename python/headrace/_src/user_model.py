"""A user's model: from MODULE:FUNCTION to a compiled Keras model that fits the data, or a reason why not."""

from __future__ import annotations

import inspect
import sys
import traceback
from typing import TYPE_CHECKING

from headrace._src.errors import ModelError
from headrace._src.user_function import load_function

if TYPE_CHECKING:
    import keras

    from headrace._src.signatures import Spec


def make(name: str, spec_data: dict, seed: int) -> tuple[keras.Model, Spec]:
    """The model that `name` returns: compiled, built, and fit for data of this shape. \\raises ModelError

    REQUIRES: check_libraries()
    """
    from headrace._src.signatures import Spec

    spec = Spec(tuple(spec_data["features"]), spec_data["classes"], spec_data["label_dtype"])
    function = load_function(name)
    make_deterministic(seed)
    features = spec.features[0] if len(spec.features) == 1 else spec.features
    offered = {"features": features, "classes": spec.classes, "seed": seed}
    model = call(function, name, offered, spec_data.get("arguments", {}))
    check_compiled(model, name)
    build(model, name, spec)
    return model, spec


def call(function, name: str, offered: dict, arguments: dict):
    """Calls the user's function with those of the offered arguments that it names, and all of `arguments`."""
    parameters = inspect.signature(function).parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    for argument in arguments:
        if argument not in parameters and not takes_any:
            raise ModelError(
                "argument", f"{name} takes no argument '{argument}'; it takes {', '.join(parameters)}"
            )
    passed = {key: value for key, value in offered.items() if key in parameters} | arguments
    try:
        return function(**passed)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise ModelError(
            "function", f"{name} failed: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        ) from error


def check_compiled(model, name: str) -> None:
    import keras

    if not isinstance(model, keras.Model):
        raise ModelError("type", f"{name} returned {type(model).__name__}, not a keras.Model")
    if not getattr(model, "compiled", False) or model.optimizer is None or model.loss is None:
        raise ModelError(
            "compile",
            f"{name} returned a model that is not compiled with an optimizer and a loss:"
            " call model.compile(optimizer=…, loss=…) before returning it",
        )


def build(model, name: str, spec) -> None:
    """Creates every variable, and checks that the data fits the model."""
    import tensorflow as tf

    inputs = getattr(model, "inputs", None) or [None]
    if len(inputs) > 1:
        raise ModelError(
            "inputs",
            f"{name} has {len(inputs)} inputs, but --features names one: give it one Input of shape "
            f"{tuple(spec.features)} and split that inside the model, or write the call of fit yourself, "
            "with headrace.open and headrace.keras.Resume",
        )
    try:
        predictions = model(tf.zeros([1, *spec.features]), training=False)
    except Exception as error:
        wants = getattr(model, "input_shape", None)
        wants = f" (it wants {tuple(wants[1:])})" if isinstance(wants, tuple) else ""
        raise ModelError(
            "features", f"{name} does not take features of shape {tuple(spec.features)}{wants}: {error}"
        ) from error
    if not isinstance(predictions, tf.Tensor) or tuple(predictions.shape[1:]) != (spec.classes,):
        got = getattr(predictions, "shape", type(predictions).__name__)
        got = tuple(got[1:]) if isinstance(got, tf.TensorShape) else got
        raise ModelError(
            "classes",
            f"{name} gives outputs of shape {got}, but the data has {spec.classes} classes: "
            f"the last layer must have {spec.classes} units",
        )
    if not model.trainable_variables:
        raise ModelError("trainable", f"{name} has no trainable variables")
    model.optimizer.build(model.trainable_variables)
    labels = tf.one_hot([0], spec.classes)
    from headrace._src import signatures

    target = tf.argmax(labels, -1) if signatures.takes_class_index(model) else labels
    model.compute_metrics(None, target, predictions, None)  # resolves names such as "accuracy"
    model.reset_metrics()


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
