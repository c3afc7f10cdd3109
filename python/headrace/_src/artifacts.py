"""Artifacts: named versions of data, by reference or by content."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace import _headrace
from headrace.errors import InvalidArgumentError, NotFoundError

names_an_artifact = _headrace.names_an_artifact


class Artifact:
    """An artifact under construction; `Run.log_artifact` publishes it. Threads may share it; a forked child
    may not use it.

        images = hr.Artifact("cats-and-dogs", type="dataset")
        images.add_reference("s3://raw/images")     # recorded, not copied
        images.add_file("labels.csv")               # copied into the store
        run.log_artifact(images, aliases=["reviewed"])

    Paths within the artifact are keys, as in a store: "labels.csv", "raw/cat.jpg". If an `add_…` fails, it
    adds nothing.
    """

    def __init__(
        self,
        name: str,
        type: str,
        *,
        description: str = "",
        metadata: Mapping[str, Any] | None = None,
    ):
        """
        Args:
            name: 1 to 64 letters, digits, '.', '_' and '-'.
            type: "dataset", "model" or another word; all versions have the same type.
            metadata: anything that JSON can hold; values of other types are stored as texts. It is stored
                unchanged, so a member whose name or text looks like a secret is refused ("pad_token" with a
                text, for example; numbers are allowed).

        Raises:
            InvalidArgumentError: the name or the type is not valid; a member of `metadata` looks like a
                secret.
        """
        self.name = name
        self.type = type
        try:
            text = json.dumps(dict(metadata or {}), default=str, ensure_ascii=False, allow_nan=False)
        except ValueError as error:
            raise InvalidArgumentError(f"metadata of {name}: {error}; JSON has no NaN or infinity") from None
        self._native = _headrace.ArtifactDraft(name, type, description, text)

    def add_reference(self, url: str | os.PathLike[str], name: str | None = None) -> None:
        """Adds an object, or all objects of a folder, by reference. The artifact records the URL, size and
        version of each object, and its checksum if the store has one; no content is read. A published dataset
        or model is added as its manifest and the parts that the manifest names.

        Args:
            name: path of the object within the artifact, by default the last part of the URL; or of the
                folder, by default the artifact itself.

        Raises:
            NotFoundError: nothing is there.
            InvalidArgumentError: the path is taken; the URL is a pattern, or looks as if it holds a secret.
            DataLossError: a published folder lacks a part.
        """
        self._native.add_reference(os.fspath(url), name or "")

    def add_file(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Adds a file, or an object of a store, by content. `log_artifact` copies its bytes; the file must
        not change before that.

        Args:
            name: its path within the artifact, by default the file's name.

        Raises:
            NotFoundError: there is no such file.
            InvalidArgumentError: the path is taken.
        """
        self._native.add_file(os.fspath(path), name or "")

    def add_dir(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Adds all files of a folder, as `add_file` does.

        Args:
            name: path of the folder within the artifact, by default the artifact itself.

        Raises:
            NotFoundError: there are no files in it.
            InvalidArgumentError: a path is taken.
        """
        self._native.add_folder(os.fspath(path), name or "")

    def __len__(self) -> int:
        """Number of entries."""
        return len(self._native)


class ArtifactEntry(NamedTuple):
    """An object of an artifact.

    Attributes:
        path: within the artifact.
        url: URL of an object that was added by reference; None: the bytes are stored with the artifact.
        version: the store's version of a reference, if it is known.
        size_bytes: its size when it was added.
        sha256: 64 hexadecimal digits; None: unknown.
    """

    path: str
    url: str | None
    version: str | None
    size_bytes: int
    sha256: str | None


class ArtifactVersion:
    """A version of an artifact. Immutable; threads may share it.

    Attributes:
        name, number, type, description, metadata: as they were logged.
        version: "v3".
        run: id of the run that logged it.
        created: when it was logged: "2026-11-21T03:26:00.125Z".
        digest: digest of the version, 64 hexadecimal digits.
        size_bytes: size of all entries.
    """

    def __init__(self, native: _headrace.ArtifactVersion):
        self._native = native
        self.name = native.name
        self.number = native.number
        self.version = f"v{native.number}"
        self.type = native.type
        self.description = native.description
        self.metadata: dict[str, Any] = json.loads(native.metadata_json)
        self.run = native.run
        self.created = native.created
        self.digest = native.digest
        self.size_bytes = native.size_bytes

    def __repr__(self) -> str:
        return f"<headrace.ArtifactVersion {self.name}:{self.version}, {len(self)} entries>"

    def __len__(self) -> int:
        """Number of entries."""
        return self._native.count

    @functools.cached_property
    def entries(self) -> list[ArtifactEntry]:
        """The entries, sorted by path. The list is read once.

        Raises:
            DataLossError: their list is damaged.
        """
        return [
            ArtifactEntry(path, url, version, size_bytes, sha256)
            for path, url, version, size_bytes, sha256 in self._native.entries()
        ]

    @functools.cached_property
    def _by_path(self) -> dict[str, ArtifactEntry]:
        return {entry.path: entry for entry in self.entries}

    def path(self, name: str) -> str:
        """Returns the URL where an entry can be read now. For a reference this is its own URL, where the
        object may have changed since; for a file it is the URL of the stored copy.

        Raises:
            NotFoundError: the artifact has no entry with that path, or its bytes are gone.
            DataLossError: the stored bytes have another size.
        """
        entry = self._by_path.get(name)
        if entry is None:
            raise NotFoundError(f"{self.name}:{self.version} has no entry {name}")
        return entry.url or self._native.url_of_content(entry.sha256 or "", entry.size_bytes)

    def download(self, folder: str | os.PathLike[str]) -> str:
        """Copies every entry to its path below `folder`, a path or a URL, and compares it with what was
        logged. Existing files with the same bytes are kept; no file is replaced.

        Returns:
            The folder.

        Raises:
            FailedPreconditionError: a reference has changed, or another file is already at a path.
            NotFoundError: an object is gone.
            DataLossError: bytes were altered.
        """
        self._native.download(os.fspath(folder))
        return os.fspath(folder)
