"""The state of callbacks, as named arrays in checkpoints (docs/formats/keras-checkpoint.md)."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from headrace.errors import InvalidArgumentError

# The attributes in which Keras' own callbacks keep their state.
_ATTRIBUTES = {
    keras.callbacks.EarlyStopping: ("wait", "stopped_epoch", "best", "best_epoch", "best_weights"),
    keras.callbacks.ReduceLROnPlateau: ("wait", "cooldown_counter", "best"),
    keras.callbacks.ModelCheckpoint: ("best", "_batches_seen_since_last_saving", "_last_batch_seen"),
}
_LIST = "[]"


def _attributes_of(callback: keras.callbacks.Callback) -> tuple[str, ...]:
    return next((names for kind, names in _ATTRIBUTES.items() if isinstance(callback, kind)), ())


def arrays_of(callback: keras.callbacks.Callback) -> dict[str, np.ndarray]:
    """The callback's state; empty if it does not offer one. Values of None are left out.

    Raises:
        InvalidArgumentError: the result of `get_state` could not be restored.
    """
    if hasattr(callback, "get_state"):
        state = callback.get_state()
    else:
        state = {name: getattr(callback, name) for name in _attributes_of(callback)}
    arrays = {}
    for name, value in state.items():
        if not isinstance(name, str) or " " in name:
            raise _refused(callback, name, "its name is not a text, or contains a space")
        if isinstance(value, list | tuple):
            arrays[f"{name} {_LIST}"] = np.asarray(len(value))
            arrays |= {f"{name} {place}": _array(callback, name, item) for place, item in enumerate(value)}
        elif value is not None:
            arrays[name] = _array(callback, name, value)
    return arrays


def _array(callback: keras.callbacks.Callback, name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind not in "biufcU":
        raise _refused(callback, name, "it is not a number, a text, an array of numbers, or a list of these")
    return array


def _refused(callback: keras.callbacks.Callback, name: str, why: str) -> InvalidArgumentError:
    kind = type(callback).__name__
    return InvalidArgumentError(f"the state of {kind} cannot be saved with the model: {name!r}: {why}")


def restore(callback: keras.callbacks.Callback, arrays: dict[str, np.ndarray]) -> None:
    """Restores the state. Without any arrays the callback stays as it is."""
    if not arrays:
        return
    state: dict[str, Any] = {}
    for name, array in arrays.items():
        base, _, place = name.partition(" ")
        if place == _LIST:
            state[base] = [_value(arrays[f"{base} {number}"]) for number in range(int(array))]
        elif not place:
            state[base] = _value(array)
    if hasattr(callback, "set_state"):
        callback.set_state(state)
        return
    for name in _attributes_of(callback):
        setattr(callback, name, state.get(name))


def _value(array: np.ndarray) -> Any:
    return array if array.ndim else array.item()
