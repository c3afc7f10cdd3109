"""Batches for frameworks that support DLPack: they share the memory, and the result keeps it alive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace._src.variable import Ragged
from headrace.errors import InvalidArgumentError

_INT32 = np.iinfo(np.int32)


def converter_to_jax() -> Callable[..., Any]:
    """Converts a column, given with its name. Arrays become jax.Array; byte strings stay as they are, because
    JAX has none.

    Without `jax_enable_x64`, JAX has no int64 either: such arrays are copied to int32.

    Raises (from the call):
        InvalidArgumentError: a value is too large for int32.
    """
    import jax

    def from_dlpack(array: np.ndarray, name: str) -> jax.Array:
        if array.dtype == np.int64 and not jax.config.jax_enable_x64:
            array = _as_int32(array, name)
        return jax.dlpack.from_dlpack(array)

    return lambda column, name: _convert(column, name, from_dlpack)


def converter_to_torch() -> Callable[..., Any]:
    """Converts a column, given with its name. Arrays become torch.Tensor; byte strings stay as they are."""
    import torch

    return lambda column, name: _convert(column, name, lambda array, _: torch.from_dlpack(array))


def _convert(column: Any, name: str, from_dlpack: Callable[[np.ndarray, str], Any]) -> Any:
    if isinstance(column, np.ndarray):
        return from_dlpack(column, name)
    if isinstance(column, Ragged):
        return Ragged(_convert(column.values, name, from_dlpack), from_dlpack(column.offsets, name))
    return column


def _as_int32(array: np.ndarray, name: str) -> np.ndarray:
    """Raises if a value does not fit int32. JAX itself would silently keep the low 32 bits of each value."""
    if array.size and not (array.min() >= _INT32.min and array.max() <= _INT32.max):
        value = array.max() if array.max() > _INT32.max else array.min()
        raise InvalidArgumentError(
            f"column {name!r} holds {value}, which JAX would cut to 32 bits: set "
            "jax.config.update('jax_enable_x64', True)"
        )
    return array.astype(np.int32)
