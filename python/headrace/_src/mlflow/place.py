"""Converts addresses from MLflow."""

import re

PREFIX = "headrace+"


def store_url(uri: str) -> str:
    """The URL of the store. MLflow joins paths with Python's `urlunparse`, which drops an empty authority."""
    return re.sub(r"^([a-z][a-z0-9-]*):/(?!/)", r"\1:///", uri.removeprefix(PREFIX))
