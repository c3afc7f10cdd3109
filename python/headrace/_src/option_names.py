"""Translates the options in messages of the native program to their names in Python."""

from __future__ import annotations

import re
from collections.abc import Callable

_ASSIGNED = r"[^\s,=]+=[^\s,=]+"
_OPTION = re.compile(rf"(?<![\w/.-])--([a-z]+(?:-[a-z]+)*)(?: ({_ASSIGNED}(?:,{_ASSIGNED})*)(?=$|\s))?")


def with_python_names(message: str, name_of: Callable[[str], str | None]) -> str:
    """The message with each option replaced by the name that `name_of` returns; None leaves the option as it
    is. "--features a=b" becomes "features={'a': 'b'}"."""

    def renamed(found: re.Match[str]) -> str:
        name, assigned = name_of(found[1]), found[2]
        if name is None:
            return found[0]
        if assigned is None:
            return name
        return f"{name}={dict(each.split('=') for each in assigned.split(','))!r}"

    return _OPTION.sub(renamed, message)
