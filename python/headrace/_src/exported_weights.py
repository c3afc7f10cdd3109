"""Loads the weights in the export of a run as initial weights of a model."""

from __future__ import annotations

import tempfile
from pathlib import Path

import keras

from headrace import _headrace
from headrace.errors import InvalidArgumentError, NotFoundError

_KIND = "saved_model"
_PREFIX, _SUFFIX = "vars/", "/.ATTRIBUTES/VARIABLE_VALUE"  # around a key: docs/formats/traced-model.md


def load(model: keras.Model | keras.Layer, run: str) -> list[str]:
    """See `headrace.keras.load_weights`."""
    import tensorflow as tf

    with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
        _download(run, folder)
        (index,) = Path(folder).rglob("variables/variables.index")  # possibly in a folder of the run's owner
        reader = tf.train.load_checkpoint(str(index.with_suffix("")))
        shapes = reader.get_variable_to_shape_map()
        taken = []
        for variable in _distinct(model):
            key = f"{_PREFIX}{variable.path.replace('/', '__').replace('.', '..')}{_SUFFIX}"
            if key not in shapes:
                continue
            if tuple(shapes[key]) != tuple(variable.shape):
                raise InvalidArgumentError(
                    f"{variable.path} has the shape {list(variable.shape)}, but in {run} {shapes[key]}"
                )
            variable.assign(reader.get_tensor(key))
            taken.append(variable.path)
    if taken:
        return taken
    ends = {variable.path.rpartition("/")[2] for variable in model.weights}  # "kernel", not an optimizer's
    paths = [key.removeprefix(_PREFIX).removesuffix(_SUFFIX).replace("__", "/") for key in shapes]
    there = sorted(path for path in paths if path.rpartition("/")[2] in ends)
    raise InvalidArgumentError(
        f"no weight of {model.name} has the path of one of {run}: the model has "
        f"{', '.join(variable.path for variable in model.weights[:10])}; "
        f"the run has {', '.join(there[:10])}; give the layers the same names"
    )


def _distinct(model: keras.Model | keras.Layer) -> list[keras.Variable]:
    paths = [variable.path for variable in model.weights]
    for path in paths:
        if paths.count(path) > 1:
            raise InvalidArgumentError(f"two weights of {model.name} have the path {path}: name their layers")
    return model.weights


def _download(run: str, folder: str) -> None:
    for url in (f"{run.rstrip('/')}/export", run):
        published = _headrace.read_published(url, _KIND)
        if published is not None:
            _headrace.download_published(url, _KIND, published[0], folder)
            return
    raise NotFoundError(f"there is no finished run of headrace train in {run}")
