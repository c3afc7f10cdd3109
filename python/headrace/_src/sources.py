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
# Words in a model's source that show that it reads weights, vocabularies or settings from files. A needless
# word costs an extra trace; a missing word can leave a model with outdated weights.
_READS = re.compile(
    rb"\b(?:load\w*|restore\w*|open|imread|read\w*|from_?file|genfromtxt|memmap|from_pretrained|TFSMLayer"
    rb"|KerasLayer|set_vocabulary|adapt|\w*File\w*)\s*\("
    rb"|\b(?:weights|vocabulary|filename|file|path)\s*=(?!=)(?!\s*None\b)"
)


def split_model_name(name: str) -> tuple[str, str]:
    """Splits 'package.module:function' or 'folder/file.py:function' into (module, function); a file's folder
    is added to the path."""
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
    """All Python files of a top-level module or package, found without importing it. Empty for parts of
    Python itself and for installed distributions, because their versions represent them."""
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
    """Whether the path is part of this Python, or of another environment on PYTHONPATH."""
    own = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    is_own = any(path.is_relative_to(folder) for folder in own if folder)
    return is_own or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _imports_of(source: bytes) -> set[str]:
    """Top-level names of all imports in the source, at any depth of nesting."""
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
    """Package, file and source of each file in the module's package, in this package, and in all modules that
    they import and that are not installed."""
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
    """`source_digest`: SHA-256 of all sources that the model may depend on. `reads_files`: whether a source
    may read files, so that the model depends on those files, too."""
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
    """The versions of the packages; empty if a package is missing."""
    return {
        "python": platform.python_version(),
        "tensorflow": _version_of("tensorflow-cpu", "tensorflow", "tf-nightly"),
        "keras": _version_of("keras"),
    }
