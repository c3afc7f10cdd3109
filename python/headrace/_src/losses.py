"""The meaning of a compiled loss: what it compares an output with, and how it interprets the output's
numbers."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import keras

_TAKE_INDEX = ("sparse", "circle", "generalizedcrossentropy")


@dataclasses.dataclass(frozen=True)
class Loss:
    name: str  # shown to people
    words: str  # Keras' name of the loss, in lower case and without underscores
    scores: str  # the meaning of the output's numbers: probability, logit or margin
    ignored_class: int | None  # a class index that the loss ignores

    @property
    def takes_index(self) -> bool:
        """Whether the loss takes class indices, one for each record."""
        return any(word in self.words for word in _TAKE_INDEX)

    @property
    def is_of_classes(self) -> bool:
        return "categorical" in self.words

    @property
    def is_of_sequences(self) -> bool:
        """Whether a row of labels may have another length than a row of outputs."""
        return self.words == "ctc"

    @property
    def is_of_yes_or_no(self) -> bool:
        return "binary" in self.words or (self.scores == "margin" and not self.is_of_classes)

    def __str__(self) -> str:
        return self.name


def read(loss: Any) -> Loss:
    """`loss`: the loss of one output, as given to `compile`."""
    name = _name(loss)
    words = _words(loss, name)
    return Loss(name, words, _scores(loss, words), getattr(loss, "ignore_class", None))


def _name(loss: Any) -> str:
    name = loss if isinstance(loss, str) else getattr(loss, "name", getattr(loss, "__name__", ""))
    return (name or "").lower()


def _words(loss: Any, name: str) -> str:
    """Keras' name of the loss, even if the user has renamed it; the loss's own name, if it is not one of
    Keras' losses."""
    made = _resolved(loss)
    kinds = type(made).__mro__ if isinstance(made, keras.losses.Loss) else []
    names = [kind.__name__ for kind in kinds] + [_name_of_function(made)]
    known = [one for one in names if one != "Loss" and hasattr(keras.losses, one or "-")]
    return (known[0] if known else name).lower().replace("_", "")


def _resolved(loss: Any) -> Any:
    if not isinstance(loss, str):
        return loss
    try:
        return keras.losses.get(loss)
    except ValueError:  # compile accepts further names, such as "crossentropy"
        return loss


def _name_of_function(loss: Any) -> str:
    function = getattr(loss, "fn", loss)
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", "")


def _scores(loss: Any, words: str) -> str:
    if "hinge" in words:
        return "margin"
    # Keras' wrapper or functools.partial holds the options of a function.
    keywords = getattr(loss, "_fn_kwargs", getattr(loss, "keywords", {}))
    is_of_logits = getattr(loss, "from_logits", False) or keywords.get("from_logits", False)
    return "logit" if is_of_logits or "withlogits" in words else "probability"
