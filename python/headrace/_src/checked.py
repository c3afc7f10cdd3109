"""Checks of callers' arguments. Each error names the argument."""

from __future__ import annotations

import operator
from typing import Any

from headrace import _headrace
from headrace.errors import InvalidArgumentError

_BOOLEANS = ("bool", "bool_")  # "bool_" is NumPy's, which old versions treat as an integer


def integer_of(value: Any) -> int | None:
    """The value as an int, also for NumPy's integers; None for bools and everything else."""
    try:
        return None if type(value).__name__ in _BOOLEANS else operator.index(value)
    except TypeError:
        return None


def integer(name: str, value: Any, least: int = 0, most: int = 2**31) -> int:
    number = integer_of(value)
    if number is None or not least <= number <= most:
        raise InvalidArgumentError(f"{name} is {value!r}; it must be an integer from {least} to {most}")
    return number


def size_bytes(name: str, value: Any, least: int = 0) -> int:
    """Checks a number of bytes, or a text such as "64MiB"."""
    if isinstance(value, str):
        try:
            value = _headrace.parse_size_bytes(value)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{name}: {error}") from None
    return integer(name, value, least, most=2**63)


def choice(name: str, value: Any, choices: tuple) -> Any:
    """The member of `choices` that equals `value`; NumPy's booleans become Python's."""
    plain = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    for one in choices:
        if type(plain) is type(one) and plain == one:
            return one
    raise InvalidArgumentError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")


def state(name: str, value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise InvalidArgumentError(
        f"{name} is {type(value).__name__}; it must be the bytes that Loader.state returns"
    )
