"""Options of a store, given as arguments. Each driver has its own options, and the core knows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from headrace import _headrace
from headrace.errors import InvalidArgumentError


class StoreOptions(TypedDict, total=False):
    """Options of `headrace.store`, for type checkers; external drivers may have other options."""

    timeout: float
    endpoint_url: str
    access_key_id: str
    secret_access_key: str
    session_token: str
    region: str
    verify_tls: bool
    anonymous: bool
    client_certificate: str
    client_key: str
    client_key_password: str
    username: str
    password: str
    tls: bool
    ca_file: str
    backups: int
    discover: bool


DEFAULT_TIMEOUT = 30.0  # seconds
# Names that pandas users know from `storage_options` of s3fs.
_NAMES_IN_S3FS = {
    "anon": "anonymous",
    "key": "access_key_id",
    "secret": "secret_access_key",
    "token": "session_token",
    "client_kwargs": "endpoint_url, region or verify_tls",
}
# The core counts waits in milliseconds, as an integer of 64 bits; a day is long enough.
_MOST_SECONDS = 86_400.0


def option_names() -> list[str]:
    """The names of the options of all kinds of stores."""
    names = (name for driver in _headrace.store_drivers() for name, _, _ in driver["options"])
    return ["timeout", *(name.replace("-", "_") for name in names)]


def unknown_option(owner: str, name: str) -> TypeError:
    own = _NAMES_IN_S3FS.get(name)
    hint = f"the same option is called {own} here" if own else f"it has {', '.join(option_names())}"
    return TypeError(f"{owner} has no option {name!r}; {hint}")


def texts_of(scheme: str, options: Mapping[str, Any]) -> dict[str, str]:
    """`options`, without `timeout`, as the core takes them.

    Raises:
        TypeError: no kind of store has the option. InvalidArgumentError: the scheme does not know the option,
            or the value has another type. No message contains a value. The core checks everything else.
    """
    given = {name: value for name, value in options.items() if value is not None}
    return {name.replace("_", "-"): _text_of(scheme, name, value) for name, value in given.items()}


def timeout_of(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= _MOST_SECONDS:
        raise InvalidArgumentError(
            f"timeout is {value!r}; it must be a number of seconds up to {_MOST_SECONDS:.0f}"
        )
    return float(value)


def _text_of(scheme: str, name: str, value: Any) -> str:
    owners = {
        driver["scheme"]: is_boolean
        for driver in _headrace.store_drivers()
        for option, is_boolean, _ in driver["options"]
        if option.replace("-", "_") == name
    }
    if not owners:
        raise unknown_option("a store", name)
    if scheme not in owners:
        known = ", ".join(f"{owner}://" for owner in owners)
        raise InvalidArgumentError(f"{name} is an option of {known} stores, not of {scheme}://")
    if owners[scheme]:
        if not isinstance(value, bool):
            raise InvalidArgumentError(f"{name} must be True or False")
        return "true" if value else "false"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number or isinstance(value, str)) or value == "" or "\0" in str(value):
        raise InvalidArgumentError(f"{name} must be text or a number, not empty, and without zero bytes")
    return str(value)
