"""Headrace: prepares, streams, trains on and tracks data in object stores.

    import headrace as hr

    data = hr.open("s3://datasets/reviews", split="train")
    loader = data.loader(batch_size=128, seed=44, shuffle=True, epochs=10)
    for batch in loader:                    # a dict of NumPy arrays that view the engine's buffers
        ...

    hr.prepare(frame, "s3://datasets/table")   # a frame, a URL, a query, any rows: shuffled TFRecord shards

    model = hr.load("s3://runs/pets")          # a trained model: answers to raw rows, without TensorFlow here
    model.predict(["cat.jpg", "dog.jpg"]).labels

    run = hr.init("s3://runs", config={"lr": 1e-3})  # a record of a run of your own, without a server
    run.log({"loss": 0.3})
    hr.chart("s3://runs", run.id, "loss")     # how it went: arrays, and a picture in a notebook

    store = hr.store("s3://datasets")       # any object: read, write, list
    store.write("notes/1.txt", b"hello")

Importing this package is cheap: it loads neither TensorFlow nor Keras, and NumPy only once it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from headrace._src.frame_accessor import register as _register_accessors
from headrace._src.version import __version__ as __version__

if TYPE_CHECKING:
    from headrace import errors
    from headrace import fsspec as fsspec
    from headrace import ignite as ignite
    from headrace import keras as keras
    from headrace import mlflow as mlflow
    from headrace import models as models
    from headrace import summary as summary
    from headrace import tensorflow as tensorflow
    from headrace import tfrecorder as tfrecorder
    from headrace._src.artifacts import Artifact, ArtifactEntry, ArtifactVersion
    from headrace._src.charts import Chart, ChartSeries, chart
    from headrace._src.columns import Column, bytes_, float32, int64, ragged, string
    from headrace._src.dataset import Dataset, Shard, mix
    from headrace._src.dataset import open as open
    from headrace._src.images import brightness, contrast, crop, flip, image
    from headrace._src.loader import Loader, Place, ShuffleQuality
    from headrace._src.media import Audio, Histogram, Image, Table, Text
    from headrace._src.model import Answers, Model, load
    from headrace._src.prepare import Prepared, prepare
    from headrace._src.row_batches import Query, query
    from headrace._src.stats import Stats
    from headrace._src.store import Capabilities, ObjectInfo, Store, Upload, store
    from headrace._src.tracking import Run, init
    from headrace._src.variable import Ragged, Strings
    from headrace.errors import Error

# Public name → its module, which is imported when the name is first used.
_HOMES = {
    "Artifact": "_src.artifacts",
    "ArtifactEntry": "_src.artifacts",
    "ArtifactVersion": "_src.artifacts",
    "Chart": "_src.charts",
    "ChartSeries": "_src.charts",
    "chart": "_src.charts",
    "Column": "_src.columns",
    "bytes_": "_src.columns",
    "float32": "_src.columns",
    "int64": "_src.columns",
    "ragged": "_src.columns",
    "string": "_src.columns",
    "Dataset": "_src.dataset",
    "Shard": "_src.dataset",
    "mix": "_src.dataset",
    "open": "_src.dataset",
    "brightness": "_src.images",
    "contrast": "_src.images",
    "crop": "_src.images",
    "flip": "_src.images",
    "image": "_src.images",
    "Histogram": "_src.media",
    "Audio": "_src.media",
    "Image": "_src.media",
    "Table": "_src.media",
    "Text": "_src.media",
    "Loader": "_src.loader",
    "Place": "_src.loader",
    "ShuffleQuality": "_src.loader",
    "Answers": "_src.model",
    "Model": "_src.model",
    "load": "_src.model",
    "Prepared": "_src.prepare",
    "prepare": "_src.prepare",
    "Query": "_src.row_batches",
    "query": "_src.row_batches",
    "Stats": "_src.stats",
    "Capabilities": "_src.store",
    "ObjectInfo": "_src.store",
    "Store": "_src.store",
    "Upload": "_src.store",
    "store": "_src.store",
    "Run": "_src.tracking",
    "init": "_src.tracking",
    "Ragged": "_src.variable",
    "Strings": "_src.variable",
    "Error": "errors",
}
_MODULES = (
    "errors",
    "fsspec",
    "ignite",
    "keras",
    "mlflow",
    "models",
    "summary",
    "tensorflow",
    "tfrecorder",
    "wandb",
)

# The names that `import *` imports. None of them hides Python's own `open` or imports Keras.
__all__ = [
    "Answers",
    "Artifact",
    "ArtifactEntry",
    "ArtifactVersion",
    "Audio",
    "Capabilities",
    "Chart",
    "ChartSeries",
    "Column",
    "Dataset",
    "Error",
    "Histogram",
    "Image",
    "Loader",
    "Model",
    "ObjectInfo",
    "Place",
    "Prepared",
    "Query",
    "Ragged",
    "Run",
    "Shard",
    "ShuffleQuality",
    "Stats",
    "Store",
    "Strings",
    "Table",
    "Text",
    "Upload",
    "brightness",
    "bytes_",
    "chart",
    "contrast",
    "crop",
    "errors",
    "flip",
    "float32",
    "image",
    "init",
    "int64",
    "load",
    "mix",
    "prepare",
    "query",
    "ragged",
    "store",
    "string",
]


_register_accessors()

if not TYPE_CHECKING:  # otherwise type checkers would accept any name of this package

    def __getattr__(name: str):
        if name in _MODULES:
            return importlib.import_module(f"headrace.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'headrace' has no attribute '{name}'")
        value = getattr(importlib.import_module(f"headrace.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Lists the names of this package, but not the modules that need another package: a tool that inspects
    every name would import them, and the other package may be missing."""
    return sorted({*globals(), *_HOMES, *_MODULES} - {"fsspec", "keras", "tensorflow", "tfrecorder"})
