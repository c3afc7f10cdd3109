"""Begins training with the variables of another run's last checkpoint."""

from __future__ import annotations

import json
import os
import tempfile

import keras
import tensorflow as tf

from headrace import _headrace
from headrace._src import model_variables, signatures
from headrace._src.errors import ModelError

_KERAS_KIND = "keras-checkpoint"
_NATIVE_KIND = "checkpoint"


def restore(model: keras.Model, checkpoints: dict[str, str]) -> None:
    """Restores weights, optimizer and seeds. `checkpoints`: the folder's `url`, and the `kind` that it
    publishes.

    Raises:
        ModelError: the checkpoint belongs to a model with other variables.
    """
    url, kind = checkpoints["url"], checkpoints["kind"]
    published = _headrace.read_published(url, kind)
    if published is None:
        raise ModelError("init_from", f"--init-from: there is no checkpoint in {url}")
    number, attributes_json = published
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
        _headrace.download_published(url, kind, number, folder)
        attributes = json.loads(attributes_json)
        if kind == _KERAS_KIND:
            arrays = model_variables.load(os.path.join(folder, attributes["file"]))
            model_variables.assign(model, arrays, f"--init-from: {url}")
        else:
            _restore_native(model, os.path.join(folder, attributes["prefix"]), url)


def _restore_native(model: keras.Model, prefix: str, url: str) -> None:
    reader = tf.train.load_checkpoint(prefix)
    for variable in signatures.variables_of(model):
        key = variable.checkpoint_key
        if not reader.has_tensor(key) or reader.get_tensor(key).shape != tuple(variable.value.shape):
            raise ModelError(
                "init_from",
                f"--init-from: {url} has no {variable.name} of shape {list(variable.value.shape)}; "
                "give a run with the same model on the same kind of features",
            )
        variable.value.assign(reader.get_tensor(key))
