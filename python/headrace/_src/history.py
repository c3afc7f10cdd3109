"""Metrics of epochs as numbers and as JSON, which cannot hold NaN and infinities
(docs/formats/run-layout.md)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def scalars(logs: dict[str, Any] | None) -> dict[str, float]:
    """The metrics as one number each: a metric of several numbers becomes NAME_0, NAME_1 …"""
    values = {name: np.asarray(value) for name, value in (logs or {}).items()}
    made = {name: float(value.reshape(())) for name, value in values.items() if value.size == 1}
    for name, value in values.items():
        if value.size > 1 and value.dtype.kind in "biuf":
            numbers = {f"{name}_{place}": float(number) for place, number in enumerate(value.reshape(-1))}
            made = numbers | made
    return made


def to_json(metrics: dict[str, float]) -> dict[str, float | str]:
    return {name: _number_to_json(value) for name, value in metrics.items()}


def from_json(metrics: dict[str, float | str]) -> dict[str, float]:
    # float() parses the texts for NaN and infinities.
    return {name: float(value) if isinstance(value, str) else value for name, value in metrics.items()}


def _number_to_json(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
