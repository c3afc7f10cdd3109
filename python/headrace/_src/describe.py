"""Writes a traced model as files: its SavedModel, and model.json with everything else that a reader needs
(docs/formats/traced-model.md)."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import keras
import tensorflow as tf

from headrace._src import signatures
from headrace._src.binding import Binding

FORMAT_VERSION = 3


def _shape(shape) -> list[int]:
    return [-1 if size is None else int(size) for size in shape]


def _layer(layer: keras.layers.Layer) -> dict:
    try:
        output = _shape(layer.output.shape)
    except (AttributeError, ValueError):  # the layer was never called symbolically, or has several outputs
        output = None
    return {
        "name": layer.name,
        "type": type(layer).__name__,
        "output": output,
        "parameters": layer.count_params(),
    }


def _loss_text(loss) -> str:
    if isinstance(loss, dict):
        return ", ".join(f"{output}: {_loss_text(its)}" for output, its in loss.items())
    if isinstance(loss, list | tuple):
        return ", ".join(map(_loss_text, loss))
    return loss if isinstance(loss, str) else getattr(loss, "name", type(loss).__name__)


def save(
    model: keras.Model, binding: Binding, header: dict, folder: Path, with_training: bool = True
) -> dict:
    """Writes all files, model.json last, and returns the content of model.json. `header`: see
    `write_description`."""
    traced = signatures.TracedModel(model, binding, with_training)
    functions = traced.concrete_functions
    tf.saved_model.save(traced, str(folder / "saved_model"), signatures=functions)
    graph = functions["train_step" if with_training else "eval_step"].graph.as_graph_def(add_shapes=True)
    (folder / "graph.pb").write_bytes(graph.SerializeToString(deterministic=True))
    return write_description(model, binding, header, folder)


def write_description(model: keras.Model, binding: Binding, header: dict, folder: Path) -> dict:
    """Writes only model.json. `header`: the request: model, seed, spec."""
    content = {"format": FORMAT_VERSION, **header, **binding.describe(), **_description(model, binding)}
    (folder / "model.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return content


def _description(model: keras.Model, binding: Binding) -> dict:
    metrics = signatures.metrics_of(model, binding)
    return {
        "versions": {
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
            "python": platform.python_version(),
        },
        "metrics": metrics.names_of_sums,
        "stateful_metrics": [entry.name for entry in metrics.stateful],
        "ignored_metrics": [entry.name for entry in metrics.ignored],
        "learning_rate": signatures.learning_rate_name(model),
        "optimizer": model.optimizer.name,
        "loss": _loss_text(model.loss),
        "gradients": [v.path.replace("/", "__") for v in model.trainable_variables],
        "variables": [
            {
                "name": variable.name,
                "role": variable.role,
                "dtype": variable.value.dtype.name,
                "shape": _shape(variable.value.shape),
                "checkpoint_key": variable.checkpoint_key,
            }
            for variable in signatures.variables_of(model)
        ],
        "layers": [_layer(layer) for layer in model.layers],
        "parameters": model.count_params(),
    }
