"""The meaning of a compiled loss: what it compares an output with, and how it takes the output's numbers."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import keras

_TAKE_INDEX = ("sparse", "circle", "generalizedcrossentropy")


@dataclasses.dataclass(frozen=True)
class Loss:
    name: str  # for people
    words: str  # the name by which Keras knows it, in lower case and without underscores
    scores: str  # what the numbers of its output are: probability, logit or margin
    ignored_class: int | None  # a number of a class that it leaves out

    @property
    def takes_index(self) -> bool:
        """Whether it takes numbers of classes, one for each record."""
        return any(word in self.words for word in _TAKE_INDEX)

    @property
    def is_of_classes(self) -> bool:
        return "categorical" in self.words

    @property
    def is_of_sequences(self) -> bool:
        """Whether a row of its labels may have another length than a row of its outputs."""
        return self.words == "ctc"

    @property
    def is_of_yes_or_no(self) -> bool:
        return "binary" in self.words or (self.scores == "margin" and not self.is_of_classes)

    def __str__(self) -> str:
        return self.name


def read(loss: Any) -> Loss:
    """`loss`: as a model is compiled with it, for one output."""
    name = _name(loss)
    words = _words(loss, name)
    return Loss(name, words, _scores(loss, words), getattr(loss, "ignore_class", None))


def _name(loss: Any) -> str:
    name = loss if isinstance(loss, str) else getattr(loss, "name", getattr(loss, "__name__", ""))
    return (name or "").lower()


def _words(loss: Any, name: str) -> str:
    """The name in Keras, whatever name the loss was given; the given name, if the loss is not Keras' own."""
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
    except ValueError:  # compile knows further names, such as "crossentropy"
        return loss


def _name_of_function(loss: Any) -> str:
    function = getattr(loss, "fn", loss)
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", "")


def _scores(loss: Any, words: str) -> str:
    if "hinge" in words:
        return "margin"
    # A function's options are kept by Keras' wrapper, or by functools.partial.
    keywords = getattr(loss, "_fn_kwargs", getattr(loss, "keywords", {}))
    is_of_logits = getattr(loss, "from_logits", False) or keywords.get("from_logits", False)
    return "logit" if is_of_logits or "withlogits" in words else "probability"
