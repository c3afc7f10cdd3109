"""Checks of the weights that a feature gives to records, for Keras' own `fit`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace._src.loader import Loader


class CheckedLoader:
    """A loader whose passes end with an error at a weight that is not finite, or below 0.

    Args:
        loader: all but `pass_batches` and `failure` is its own.
        column: the feature that weighs records.
    """

    def __init__(self, loader: Loader, column: str):
        self._loader, self._column = loader, column
        self._failure: InvalidArgumentError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    @property
    def failure(self) -> Exception | None:
        return self._failure or self._loader.failure

    def pass_batches(self) -> Iterator[dict[str, Any]]:
        """\\raises InvalidArgumentError: names the record with such a weight"""
        for batch in self._loader.pass_batches():
            weights = np.asarray(batch[self._column]).reshape(-1)
            is_record = True if self._loader.weights is None else batch[self._loader.weights] > 0
            wrong = np.flatnonzero(is_record & ~(np.isfinite(weights) & (weights >= 0)))
            if wrong.size:
                self._failure = self._error(int(wrong[0]), weights[wrong[0]])
                raise self._failure
            yield batch

    def _error(self, row: int, weight: float) -> InvalidArgumentError:
        places = self._loader.where(self._loader.step - 1)
        where = f"record {places[row].record} of {places[row].url}" if row < len(places) else "a record"
        return InvalidArgumentError(
            f"the weight {self._column} of {where} is {weight}; weights are finite and not below 0"
        )
