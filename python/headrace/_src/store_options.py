"""Options of a store, given as arguments: variables that are laid over those of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from headrace.errors import InvalidArgumentError


class StoreOptions(TypedDict, total=False):
    """Options of `headrace.store`."""

    timeout: float
    endpoint_url: str
    access_key_id: str
    secret_access_key: str
    session_token: str
    region: str
    verify_tls: bool
    anonymous: bool


DEFAULT_TIMEOUT = 30.0  # seconds
# A wait in the core is counted in milliseconds, as an integer of 64 bits; a day is long enough.
_MOST_SECONDS = 86_400.0

_KEYS = ("access_key_id", "secret_access_key", "session_token")
_S3_VARIABLES = {
    "endpoint_url": "AWS_ENDPOINT_URL_S3",
    "access_key_id": "AWS_ACCESS_KEY_ID",
    "secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "session_token": "AWS_SESSION_TOKEN",
    "region": "AWS_REGION",
    "verify_tls": "S3_VERIFY_SSL",
    "anonymous": "HEADRACE_S3_ANONYMOUS",
}
_BOOLEANS = ("verify_tls", "anonymous")
# Being anonymous is what is left where there are no keys: so every place that keys could come from is hidden.
_WITHOUT_KEYS = {
    "AWS_ACCESS_KEY_ID": "",
    "AWS_SECRET_ACCESS_KEY": "",
    "AWS_SESSION_TOKEN": "",
    "AWS_PROFILE": "",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
    "HEADRACE_S3_INSTANCE_CREDENTIALS": "",
}


def variables_of(scheme: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Those that `options`, without `timeout`, set; an empty one counts as unset.

    Raises:
        InvalidArgumentError: an option that the scheme does not know, of another type, or beside which there
            is another that contradicts it. No message holds the value of a key.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        _check(scheme, name, value)
    variables = {_S3_VARIABLES[name]: _text_of(value) for name, value in given.items()}
    has_keys = any(name in given for name in _KEYS)
    if has_keys and not {"access_key_id", "secret_access_key"} <= given.keys():
        raise InvalidArgumentError("give access_key_id and secret_access_key together, or neither of them")
    if has_keys and given.get("anonymous"):
        raise InvalidArgumentError("anonymous=True means without keys, but keys are given, too")
    if has_keys:
        return {"AWS_SESSION_TOKEN": ""} | variables
    return (_WITHOUT_KEYS if given.get("anonymous") else {}) | variables


def _text_of(value: str | bool) -> str:
    return str(int(value)) if isinstance(value, bool) else value


def timeout_of(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= _MOST_SECONDS:
        raise InvalidArgumentError(
            f"timeout is {value!r}; it is a number of seconds up to {_MOST_SECONDS:.0f}"
        )
    return float(value)


def _check(scheme: str, name: str, value: Any) -> None:
    if name not in _S3_VARIABLES:
        raise TypeError(f"a store has no option {name!r}; it has {', '.join(StoreOptions.__annotations__)}")
    if scheme != "s3":
        raise InvalidArgumentError(f"{name} is an option of s3:// stores, and not of {scheme}://")
    kind = bool if name in _BOOLEANS else str
    if not isinstance(value, kind) or value == "" or "\0" in str(value):
        raise InvalidArgumentError(
            f"{name} is no {'boolean' if kind is bool else 'text'}, or is empty or has a zero byte in it"
        )
