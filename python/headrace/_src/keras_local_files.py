"""Warns where Keras would lose data that it saves to a URL, or would write it to a local folder "s3:"."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from headrace._src.after_import import after_import

# The functions in which Keras 3 and tf_keras pass a path that ends in .h5 to HDF5, which knows only local
# files.
_HDF5_WRITERS = ("keras.src.legacy.saving.legacy_h5_format", "tf_keras.src.saving.legacy.hdf5_format")
_HDF5 = (
    "HDF5 knows only local files, so Keras writes this model to a local folder of that name. Save it as "
    ".keras, or its weights as .weights.h5 with Keras 3."
)
# The functions in which Keras 3 writes weights to a temporary folder and copies only one file of it.
_WEIGHTS_WRITER = "keras.src.saving.saving_lib"
_SHARDS = (
    "with max_shard_size, Keras copies only the list of the files to a URL, and loses the weights. Save them "
    "without max_shard_size, as .weights.h5."
)


def warn_of_urls(is_url: Callable[[str], bool]) -> None:
    """Makes these functions of Keras warn if they get a URL. Otherwise they work as before."""

    def watch(function: str, text: str, is_meant: Callable[..., bool]) -> Callable[[ModuleType], None]:
        def replace(module: ModuleType) -> None:
            write = getattr(module, function)

            @functools.wraps(write)
            def warn_and_write(model: Any, filepath: Any, *arguments: Any, **named: Any) -> Any:
                if is_url(str(filepath)) and is_meant(*arguments, **named):
                    warnings.warn(f"{filepath}: {text}", stacklevel=2)
                return write(model, filepath, *arguments, **named)

            setattr(module, function, warn_and_write)

        return replace

    for name in _HDF5_WRITERS:
        after_import(name, watch("save_model_to_hdf5", _HDF5, lambda *_, **__: True))
    after_import(_WEIGHTS_WRITER, watch("save_weights_only", _SHARDS, _is_sharded))


def _is_sharded(max_shard_size: float | None = None, *_: object, **__: object) -> bool:
    return max_shard_size is not None
