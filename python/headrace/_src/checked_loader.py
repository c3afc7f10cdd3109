"""Checks of labels and of the weights of records, for Keras' own `fit`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace._src.binding import Binding, Target
    from headrace._src.loader import Loader


class CheckedLoader:
    """A loader whose passes end with an error at a label for which the loss is not defined, or at a weight
    that is not finite or is below 0. The native loop checks the same (headrace/stream/label_check.h).

    Args:
        loader: handles everything except `pass_batches` and `failure`.
        binding: the labels and weights that are checked.
    """

    def __init__(self, loader: Loader, binding: Binding):
        self._loader, self._binding = loader, binding
        self._failure: InvalidArgumentError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    @property
    def failure(self) -> Exception | None:
        return self._failure or self._loader.failure

    def pass_batches(self) -> Iterator[dict[str, Any]]:
        """\\raises InvalidArgumentError: a label or weight is not valid; the message names the record"""
        for batch in self._loader.pass_batches():
            for target in self._binding.targets:
                self._check_label(target, batch)
            if self._binding.weights is not None:
                self._check_weights(self._binding.weights.name, batch)
            yield batch

    def _check_label(self, target: Target, batch: dict[str, Any]) -> None:
        values = np.asarray(batch[target.label.name])
        if values.dtype != np.int64 or target.label.one_hot or target.kind == "regression":
            return
        if target.kind == "classes":
            least, most = -math.inf, target.classes - 1
            advice = (
                f"the output {target.output} has {target.classes} scores, so classes are 0 to {most}. Give "
                'its layer more units, or number the classes from 0 with type = "label" in the schema'
            )
        else:
            least, most = -1 if target.scores == "margin" else 0, 1
            advice = (
                f"the loss of the output {target.output} takes {least} to {most}. Use a loss for several "
                "classes or for numbers, or prepare the label as 0 and 1"
            )
        wrong = (values < least) | (values > most)
        if target.ignored_class is not None:
            wrong &= values != target.ignored_class
        self._refuse(f"the label {target.label.name}", values, wrong, advice, batch)

    def _check_weights(self, name: str, batch: dict[str, Any]) -> None:
        weights = np.asarray(batch[name])
        wrong = ~(np.isfinite(weights) & (weights >= 0))
        self._refuse(f"the weight {name}", weights, wrong, "weights are finite and not below 0", batch)

    def _refuse(
        self, what: str, values: np.ndarray, wrong: np.ndarray, advice: str, batch: dict[str, Any]
    ) -> None:
        """Raises if a row that is a record has a value that is not valid."""
        rows = wrong.reshape(len(wrong), -1)
        if self._loader.weights is not None:
            rows = rows & (batch[self._loader.weights] > 0).reshape(-1, 1)
        if not rows.any():
            return
        row, column = np.argwhere(rows)[0]
        places = self._loader.where(self._loader.step - 1)
        where = f"record {places[row].record} of {places[row].url}" if row < len(places) else "a record"
        value = values.reshape(len(values), -1)[row, column]
        self._failure = InvalidArgumentError(f"{what} of {where} is {value}; {advice}")
        raise self._failure
