"""Source files and versions that a model's trace depends on, besides arguments. Imports no TensorFlow."""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import importlib.metadata
import platform
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from headrace._src.errors import ModelError

_FILES_MAX = 5_000
# By such words a model's source takes weights, vocabularies or settings from files. A word too many costs one
# trace more; a word too few, a model with weights of yesterday.
_READS = re.compile(
    rb"\b(?:load\w*|restore\w*|open|imread|read\w*|from_?file|genfromtxt|memmap|from_pretrained|TFSMLayer"
    rb"|KerasLayer|set_vocabulary|adapt|\w*File\w*)\s*\("
    rb"|\b(?:weights|vocabulary|filename|file|path)\s*=(?!=)(?!\s*None\b)"
)


def split_model_name(name: str) -> tuple[str, str]:
    """'package.module:function' or 'folder/file.py:function' as (module, function); a file's folder is put on
    the path."""
    module, colon, function = name.rpartition(":")
    if not colon or not module or not function.isidentifier():
        raise ModelError(
            "name", f"'{name}' is not of the form MODULE:FUNCTION or FILE.py:FUNCTION, as in model.py:build"
        )
    if module.endswith(".py"):
        file = Path(module).resolve()
        if not file.is_file():
            raise ModelError("import", f"there is no file {file}")
        sys.path.insert(0, str(file.parent))
        module = file.stem
    return module, function


def _files_of(package: str, even_if_installed: bool) -> list[Path]:
    """All Python files of a top-level module or package, found without importing it; none of what is part of
    Python itself or of an installed distribution, whose version stands for it."""
    spec = importlib.machinery.PathFinder.find_spec(package, sys.path)
    if spec is None:
        return []
    roots = [Path(folder) for folder in spec.submodule_search_locations or []]
    if not roots and spec.origin and spec.origin.endswith(".py"):
        roots = [Path(spec.origin)]
    if not even_if_installed:
        roots = [root for root in roots if not _is_installed(root)]
    return [file for root in roots for file in ([root] if root.is_file() else sorted(root.rglob("*.py")))]


def _is_installed(path: Path) -> bool:
    """In this Python, or in another environment that PYTHONPATH names."""
    own = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    is_own = any(path.is_relative_to(folder) for folder in own if folder)
    return is_own or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _imports_of(source: bytes) -> set[str]:
    """Top-level names of everything that the source imports, at any depth of nesting."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _sources(module: str) -> Iterator[tuple[str, Path, bytes]]:
    """Package, file and source of the module's package, of this one, and of all modules they import that are
    not installed."""
    own = {module.partition(".")[0], "headrace"}
    waiting, seen, files = sorted(own), set(own), 0
    while waiting:
        package = waiting.pop(0)
        imported: set[str] = set()
        for file in _files_of(package, even_if_installed=package in own):
            files += 1
            if files > _FILES_MAX:
                raise ModelError("import", f"the model's package has more than {_FILES_MAX} Python files")
            source = file.read_bytes()
            yield package, file, source
            imported |= _imports_of(source)
        waiting += sorted(imported - seen)
        seen |= imported


def probe(module: str) -> dict[str, str | bool]:
    """`source_digest`: SHA-256 of all sources that the model may depend on. `reads_files`: whether one of
    them may read files, on which the model then depends as well."""
    digest, reads_files = hashlib.sha256(), False
    for package, file, source in _sources(module):
        digest.update(f"{package} {file.name} {len(source)}\n".encode() + source)
        reads_files |= package != "headrace" and _READS.search(source) is not None
    return {"source_digest": digest.hexdigest(), "reads_files": reads_files}


def _version_of(*distributions: str) -> str:
    for distribution in distributions:
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def versions() -> dict[str, str]:
    """Empty where a package is missing."""
    return {
        "python": platform.python_version(),
        "tensorflow": _version_of("tensorflow-cpu", "tensorflow", "tf-nightly"),
        "keras": _version_of("keras"),
    }
