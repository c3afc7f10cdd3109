"""Reads the chain of a folder: docs/formats/ownership.md."""

import json
import pathlib


def chain(folder: pathlib.Path) -> list[tuple[pathlib.Path, dict]]:
    """Entries of ownership and manifests, in their order."""
    return [(path, json.loads(path.read_bytes())) for path in sorted(folder.glob("_headrace/manifest-*"))]


def is_entry(document: dict) -> bool:
    return document["format"] == "headrace.ownership"


def manifests(folder: pathlib.Path) -> list[pathlib.Path]:
    """All manifests, the latest last."""
    return [path for path, document in chain(folder) if not is_entry(document)]


def manifest(folder: pathlib.Path) -> pathlib.Path:
    """The one that readers take."""
    path, document = chain(folder)[-1]
    return path.with_name(f"manifest-{document['published']:08}") if is_entry(document) else path


def configuration(folder: pathlib.Path) -> dict[str, str]:
    """The configuration that the output was begun with: that of the last entry."""
    return [document for _, document in chain(folder) if is_entry(document)][-1]["configuration"]
