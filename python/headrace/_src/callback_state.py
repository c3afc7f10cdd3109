"""What a callback has seen so far, as named arrays in checkpoints (docs/formats/keras-checkpoint.md)."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

# Where Keras' own callbacks keep it.
_ATTRIBUTES = {
    keras.callbacks.EarlyStopping: ("wait", "stopped_epoch", "best", "best_epoch", "best_weights"),
    keras.callbacks.ReduceLROnPlateau: ("wait", "cooldown_counter", "best"),
    keras.callbacks.ModelCheckpoint: ("best",),
}
_LIST = "[]"


def _attributes_of(callback: keras.callbacks.Callback) -> tuple[str, ...]:
    return next((names for kind, names in _ATTRIBUTES.items() if isinstance(callback, kind)), ())


def arrays_of(callback: keras.callbacks.Callback) -> dict[str, np.ndarray]:
    """Its state; empty for a callback that has none to tell. Values of None are left out."""
    if hasattr(callback, "get_state"):
        state = callback.get_state()
    else:
        state = {name: getattr(callback, name) for name in _attributes_of(callback)}
    arrays = {}
    for name, value in state.items():
        if isinstance(value, list | tuple):
            arrays[f"{name} {_LIST}"] = np.asarray(len(value))
            arrays |= {f"{name} {place}": np.asarray(item) for place, item in enumerate(value)}
        elif value is not None:
            arrays[name] = np.asarray(value)
    return arrays


def restore(callback: keras.callbacks.Callback, arrays: dict[str, np.ndarray]) -> None:
    """The inverse."""
    state: dict[str, Any] = {}
    for name, array in arrays.items():
        base, _, place = name.partition(" ")
        if place == _LIST:
            state[base] = [arrays[f"{base} {number}"] for number in range(int(array))]
        elif not place:
            state[base] = array if array.ndim else array.item()
    if hasattr(callback, "set_state"):
        if state:
            callback.set_state(state)
        return
    for name in _attributes_of(callback):
        setattr(callback, name, state.get(name))
