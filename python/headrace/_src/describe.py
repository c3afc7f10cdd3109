"""model.json: what a reader needs to know of a traced model beside its SavedModel."""

from __future__ import annotations

import platform

import keras
import tensorflow as tf

from headrace._src import signatures


def _shape(shape) -> list[int]:
    return [-1 if size is None else int(size) for size in shape]


def _layer(layer: keras.layers.Layer) -> dict:
    try:
        output = _shape(layer.output.shape)
    except (AttributeError, ValueError):  # a layer that was never called symbolically, or has several outputs
        output = None
    return {
        "name": layer.name,
        "type": type(layer).__name__,
        "output": output,
        "parameters": layer.count_params(),
    }


def description(
    model: keras.Model, traced: signatures.TracedModel, variables: list[signatures.Variable]
) -> dict:
    return {
        "versions": {
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
            "python": platform.python_version(),
        },
        "metrics": traced.metric_names,
        "ignored_metrics": traced.ignored_metrics,
        "learning_rate": signatures.learning_rate_name(model),
        "optimizer": model.optimizer.name,
        "loss": model.loss
        if isinstance(model.loss, str)
        else getattr(model.loss, "name", type(model.loss).__name__),
        "gradients": [v.path.replace("/", "__") for v in model.trainable_variables],
        "variables": [
            {
                "name": variable.name,
                "role": variable.role,
                "dtype": variable.value.dtype.name,
                "shape": _shape(variable.value.shape),
                "checkpoint_key": variable.checkpoint_key,
            }
            for variable in variables
        ],
        "layers": [_layer(layer) for layer in model.layers],
        "parameters": model.count_params(),
    }
