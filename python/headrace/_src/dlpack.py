"""A batch in frameworks that speak DLPack: the same memory, kept by whoever holds the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace._src.variable import Ragged


def converter_to_jax() -> Callable[[Any], Any]:
    """Arrays become jax.Array. Byte strings stay as they are: JAX has none."""
    import jax

    return lambda column: _convert(column, jax.dlpack.from_dlpack)


def converter_to_torch() -> Callable[[Any], Any]:
    """Arrays become torch.Tensor. Byte strings stay as they are: torch has none."""
    import torch

    return lambda column: _convert(column, torch.from_dlpack)


def _convert(column: Any, from_dlpack: Callable[[np.ndarray], Any]) -> Any:
    if isinstance(column, np.ndarray):
        return from_dlpack(column)
    if isinstance(column, Ragged):
        return Ragged(_convert(column.values, from_dlpack), from_dlpack(column.offsets))
    return column
