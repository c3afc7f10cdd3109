"""Metrics of epochs as numbers and as JSON, which lacks some of them (docs/formats/run-layout.md)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def scalars(logs: dict[str, Any] | None) -> dict[str, float]:
    """The metrics that are one number each."""
    values = {name: np.asarray(value) for name, value in (logs or {}).items()}
    return {name: float(value.reshape(())) for name, value in values.items() if value.size == 1}


def to_json(metrics: dict[str, float]) -> dict[str, float | str]:
    return {name: _number_to_json(value) for name, value in metrics.items()}


def from_json(metrics: dict[str, float | str]) -> dict[str, float]:
    # float() understands the texts that stand for numbers.
    return {name: float(value) if isinstance(value, str) else value for name, value in metrics.items()}


def _number_to_json(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
