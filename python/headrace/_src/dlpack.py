"""A batch's arrays in frameworks that speak DLPack: the same memory, kept by whoever holds the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import jax
    import torch


def to_jax(array: np.ndarray) -> jax.Array:
    import jax

    return jax.dlpack.from_dlpack(array)


def to_torch(array: np.ndarray) -> torch.Tensor:
    import torch

    return torch.from_dlpack(array)
