"""Converts schemas from Python to TOML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from headrace.errors import InvalidArgumentError

_EXAMPLE = "{'features': {'age': {'type': 'int64'}}}"


def schema_text(schema: str | os.PathLike[str] | Mapping[str, Any] | None) -> str | None:
    """The TOML of a dict, or of a text that is TOML; None for a URL, a path, or None.

    Raises:
        InvalidArgumentError: the schema is none of these, or a dict without the structure of a schema.
    """
    if isinstance(schema, Mapping):
        _check_features(schema)
        return _toml_of(schema)
    if schema is not None and not isinstance(schema, str | os.PathLike):
        raise InvalidArgumentError(
            f"schema is {type(schema).__name__}; it must be a URL or path, a text in TOML, or a dict, "
            f"{_EXAMPLE}"
        )
    is_text = isinstance(schema, str) and ("\n" in schema or "=" in schema.partition("://")[0])
    return schema if is_text else None


def _check_features(schema: Mapping[str, Any]) -> None:
    features = schema.get("features")
    if not isinstance(features, Mapping):
        raise InvalidArgumentError(f"schema has no dict 'features'; it must be a dict such as {_EXAMPLE}")
    for name, feature in features.items():
        if not isinstance(feature, Mapping):
            raise InvalidArgumentError(
                f"schema: the feature {name!r} is {feature!r}; it must be a dict such as {{'type': 'int64'}}"
            )


def _toml_of(schema: Mapping[str, Any]) -> str:
    """Writes values first, because everything after a table's heading belongs to the table."""
    lines = [
        f"{_key(name)} = {_value(name, value)}" for name, value in schema.items() if not _is_table(value)
    ]
    for name, value in schema.items():
        if not _is_table(value):
            continue
        if not any(_is_table(inner) for inner in value.values()):
            lines += _table(_key(name), value)
            continue
        for inner_name, inner in value.items():
            if not _is_table(inner):
                raise InvalidArgumentError(f"schema: {name}.{inner_name} is {inner!r}; it must be a dict")
            lines += _table(f"{_key(name)}.{_key(inner_name)}", inner)
    return "\n".join(lines) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _table(heading: str, values: Mapping[str, Any]) -> list[str]:
    return ["", f"[{heading}]", *(f"{_key(name)} = {_value(name, value)}" for name, value in values.items())]


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if is_bare else _text(name)


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | os.PathLike):
        return _text(os.fspath(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(name, one) for one in value)}]"
    raise InvalidArgumentError(
        f"schema: {name} is {value!r}; it must be a text, a number, a boolean, or a list of these"
    )


def _text(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\"}
    return (
        '"'
        + "".join(escapes.get(sign, sign if sign.isprintable() else f"\\U{ord(sign):08x}") for sign in text)
        + '"'
    )
