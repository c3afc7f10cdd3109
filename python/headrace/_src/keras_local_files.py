"""Warnings where Keras would lose what it saves to a URL, or write it to a local folder "s3:"."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from headrace._src.after_import import after_import

# Where Keras 3 and tf_keras hand a path that ends in .h5 to HDF5, which knows local files only.
_HDF5_WRITERS = ("keras.src.legacy.saving.legacy_h5_format", "tf_keras.src.saving.legacy.hdf5_format")
_HDF5 = (
    "HDF5 knows local files only, so Keras writes this model to a local folder of that name. Save it as "
    ".keras, or its weights as .weights.h5 with Keras 3."
)
# Where Keras 3 writes weights to a temporary folder, of which it copies one file.
_WEIGHTS_WRITER = "keras.src.saving.saving_lib"
_SHARDS = (
    "with max_shard_size, Keras copies only the list of the files to a URL, and loses the weights. Save them "
    "without max_shard_size, as .weights.h5."
)


def warn_of_urls(is_url: Callable[[str], bool]) -> None:
    """From now on these functions of Keras warn if they are given a URL. They still do what they do."""

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
