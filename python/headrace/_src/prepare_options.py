"""Translates options of `headrace.prepare` to options of the command."""

from __future__ import annotations

import importlib
import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, get_type_hints

from headrace._src.option_names import with_python_names
from headrace.errors import InvalidArgumentError


class PrepareOptions(TypedDict, total=False):
    """The options of `headrace.prepare`. None is the same as leaving an option out."""

    schema: str | os.PathLike[str] | Mapping[str, Any] | None
    layout: str | None
    delimiter: str | None
    encoding: str | None
    missing: str | Sequence[str] | None
    decimal: str | None
    map: str | Callable[..., Any] | None
    version: str | None
    map_timeout: int | None
    runner: str | None
    runner_options: Mapping[str, object] | None
    splits: Mapping[str, float] | None
    splits_as_they_are: bool
    resize: tuple[int, int] | None
    image_format: str | None
    trust_images: bool
    encoder: str | None
    sample: float | None
    duplicates: str | None
    shard_records: int | None
    shard_size: int | str | None
    compression: str | None
    seed: int | None
    workers: int | None
    max_rejects: float | str | None
    report: str | None
    overwrite: bool
    append: bool
    retry_failed: bool


# Options with another name in the command.
_NAMES = {"version": "map-version", "splits": "split", "runner_options": "runner-option"}


def in_python(message: str) -> str:
    """A message of the command, with its options replaced by their names in Python."""
    return with_python_names(message, _name_in_python)


def _name_in_python(option: str) -> str | None:
    names = {_option_of(name): name for name in PrepareOptions.__annotations__}
    name = names.get(option)
    return f"{name}=True" if get_type_hints(PrepareOptions).get(name) is bool else name


def _option_of(name: str) -> str:
    return _NAMES.get(name, name).replace("_", "-")


def arguments_of(options: PrepareOptions, schema_url: str | None) -> list[str]:
    """The command's options: None and False leave an option out, True gives a flag.

    Raises:
        TypeError: there is no such option.
        InvalidArgumentError: a value is not valid.
    """
    arguments: list[str] = [] if schema_url is None else ["--schema", schema_url]
    for name, value in options.items():
        if name not in PrepareOptions.__annotations__:
            known = ", ".join(PrepareOptions.__annotations__)
            raise TypeError(f"prepare has no option {name!r}; it has {known}")
        if value is None or value is False or name == "schema":
            continue
        if name == "runner_options":
            _check_mapping(name, value, "{'address': 'ray://host:10001'}")
            arguments += [f"--runner-option={key}={text}" for key, text in value.items()]
            continue
        option = f"--{_option_of(name)}"
        arguments += [option] if value is True else [option, _text_of(name, value)]
    return arguments


def _text_of(name: str, value: Any) -> str:
    if name == "map":
        return name_of_function(value)
    if name == "splits":
        return _shares(value)
    if name == "missing":
        return _missing_texts(value)
    if name == "resize":
        return _size(value)
    if name == "max_rejects" and not isinstance(value, str):
        return _reject_limit(value)
    if name == "map_timeout" and (isinstance(value, bool) or not isinstance(value, numbers.Integral)):
        raise InvalidArgumentError(f"map_timeout is {value!r}; it takes whole seconds, as an int")
    return str(value)


def _check_mapping(name: str, value: Any, example: str) -> None:
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"{name} is {value!r}; it takes a dict such as {example}")


def _shares(value: Any) -> str:
    _check_mapping("splits", value, "{'train': 0.9, 'test': 0.1}")
    for split, share in value.items():
        if isinstance(share, bool) or not isinstance(share, numbers.Real):
            raise InvalidArgumentError(
                f"splits gives {split!r} the share {share!r}; it takes numbers that sum to 1"
            )
    return ",".join(f"{split}={float(share)!r}" for split, share in value.items())


def _size(value: Any) -> str:
    sides = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    if len(sides) != 2 or not all(isinstance(side, numbers.Integral) for side in sides):
        raise InvalidArgumentError(
            f"resize is {value!r}; it takes height and width in pixels, such as (150, 150)"
        )
    return "x".join(str(side) for side in sides)


def _missing_texts(value: str | Sequence[str]) -> str:
    texts = [value] if isinstance(value, str) else list(value)
    if any(not isinstance(text, str) or "," in text for text in texts):
        raise InvalidArgumentError(
            f"missing is {value!r}; it takes texts without commas, such as ['NA', '-']; a schema allows "
            "any text"
        )
    return ",".join(texts)


def _reject_limit(value: Any) -> str:
    """An int is a number of rows, a float is a share: 1 is one row, 1.0 is all rows."""
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real) and 0 <= value <= 1:
        return f"{float(value) * 100:.12g}%"
    raise InvalidArgumentError(
        f"max_rejects is {value!r}; it takes a number of rows as an int, or a share from 0.0 to 1.0"
    )


def name_of_function(function: str | Callable[..., Any]) -> str:
    """ "module:function" of a function that other processes can import.

    Raises:
        InvalidArgumentError: other processes cannot import the function, because it was made in another
            function, or in no module.
    """
    if isinstance(function, str):
        return function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module is None or not name.isidentifier():
        raise InvalidArgumentError(
            f"map is {function!r}; other processes must be able to import it: define it with def, outside of "
            "other functions and classes"
        )
    if module == "__main__":
        raise InvalidArgumentError(
            f"map is {name} of this program or notebook, which other processes cannot import; put it into a "
            "module, and give the function of that module"
        )
    if getattr(importlib.import_module(module), name, None) is not function:
        raise InvalidArgumentError(f"map is {function!r}, but {module}.{name} is something else")
    return f"{module}:{name}"
