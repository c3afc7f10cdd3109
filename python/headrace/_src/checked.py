"""Arguments that callers give, checked: each is named in the error."""

from __future__ import annotations

import operator
from typing import Any

from headrace import _headrace
from headrace.errors import InvalidArgumentError

_BOOLEANS = ("bool", "bool_")  # the latter is NumPy's, which older ones take for an integer


def integer_of(value: Any) -> int | None:
    """NumPy's integers are integers, too; None for what is none, and for a bool."""
    try:
        return None if type(value).__name__ in _BOOLEANS else operator.index(value)
    except TypeError:
        return None


def integer(name: str, value: Any, least: int = 0, most: int = 2**31) -> int:
    number = integer_of(value)
    if number is None or not least <= number <= most:
        raise InvalidArgumentError(f"{name} is {value!r}; it is an integer from {least} to {most}")
    return number


def size_bytes(name: str, value: Any, least: int = 0) -> int:
    """Checks a number of bytes, or a text like "64MiB"."""
    if isinstance(value, str):
        try:
            value = _headrace.parse_size_bytes(value)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{name}: {error}") from None
    return integer(name, value, least, most=2**63)


def choice(name: str, value: Any, choices: tuple) -> Any:
    """The one of `choices` that `value` is; NumPy's booleans are Python's."""
    plain = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    for one in choices:
        if type(plain) is type(one) and plain == one:
            return one
    raise InvalidArgumentError(f"{name} is {value!r}; it is one of {', '.join(map(repr, choices))}")


def state(name: str, value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise InvalidArgumentError(f"{name} is {type(value).__name__}; it is the bytes that Loader.state gives")
