"""Makes URLs of stores valid paths in TensorFlow and Keras. Import this module; nothing else is needed.

    import headrace.tensorflow

    tf.data.TFRecordDataset(["s3://datasets/train-00000.tfrecord"])
    keras.callbacks.ModelCheckpoint("s3://datasets/checkpoints/cp.weights.h5", save_weights_only=True)
    tf.io.gfile.listdir("s3://datasets")

In this process, TensorFlow learns every scheme that Headrace has a driver for. A scheme that TensorFlow
already has gets the prefix "hr": `hrfile:///data`. Servers and keys come from the environment, as everywhere
in Headrace. docs/tensorflow-file-systems.md says what such a path promises.
"""

from __future__ import annotations

import tensorflow as _tensorflow

from headrace import _headrace
from headrace._src.keras_local_files import warn_of_urls

__all__ = ["schemes"]


def schemes() -> list[str]:
    """Returns the schemes that this module added to TensorFlow: ["hrfile", "memory", …]."""
    return _headrace.tensorflow_schemes()


def _is_url(path: str) -> bool:
    return path.partition("://")[0] in schemes() and "://" in path


def _register() -> None:
    _headrace.remember_environment()
    if getattr(_tensorflow, "_has_headrace", False):
        return
    _tensorflow.experimental.register_filesystem_plugin(_headrace.__file__)
    if not _headrace.is_tensorflow_plugin():
        raise ImportError(
            "this TensorFlow does not support file systems as plug-ins; use TensorFlow 2.16 or later"
        )
    _tensorflow._has_headrace = True
    warn_of_urls(_is_url)


_register()
