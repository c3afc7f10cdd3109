"""A warning where Keras would write a model to a local folder "s3:" without a word."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from headrace._src.after_import import after_import

# Where Keras 3 and tf_keras hand a path that ends in .h5 to HDF5, which knows local files only.
_WRITERS = ("keras.src.legacy.saving.legacy_h5_format", "tf_keras.src.saving.legacy.hdf5_format")


def warn_of_urls(is_url: Callable[[str], bool]) -> None:
    """From now on Keras' HDF5 writers warn if what they are given is a URL. It still does what it does."""

    def watch(module: ModuleType) -> None:
        write = module.save_model_to_hdf5

        @functools.wraps(write)
        def save_model_to_hdf5(model: Any, filepath: Any, *arguments: Any, **named: Any) -> Any:
            if is_url(str(filepath)):
                warnings.warn(
                    f"{filepath}: HDF5 knows local files only, so Keras writes this model to a local folder "
                    "of that name. Save it as .keras, or its weights as .weights.h5 with Keras 3.",
                    stacklevel=2,
                )
            return write(model, filepath, *arguments, **named)

        module.save_model_to_hdf5 = save_model_to_hdf5  # type: ignore[attr-defined]

    for name in _WRITERS:
        after_import(name, watch)
