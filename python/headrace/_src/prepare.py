"""Prepares data from Python: inputs of the command, and rows from Python."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace._src.arrow_batches import batches_of_files, format_of_arrow
from headrace._src.batch import Batch
from headrace._src.dataset import Dataset
from headrace._src.dataset import open as open_dataset
from headrace._src.prepare_command import run_prepare
from headrace._src.prepare_options import PrepareOptions, arguments_of
from headrace._src.row_batches import batches_of, is_rows
from headrace._src.schema_text import schema_text
from headrace._src.staging import FOLDER, remove_staged, stage_rows
from headrace._src.store import Store
from headrace._src.store import store as open_store
from headrace.errors import Error, FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from typing import Unpack  # from Python 3.11 on


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A published dataset, and the counts of its rows."""

    url: str
    counts: Mapping[str, int]
    """Numbers of rows: in, written, rejected, dropped, ignored; the first is the sum of the others."""
    splits: Mapping[str, Mapping[str, Any]]
    """The number of records of each split, and the number of records with each label."""
    labels: list[str]
    """The vocabulary of the label."""
    reasons: Mapping[str, int]
    """Reasons why rows were rejected or dropped, each with its number of rows."""
    shards: int
    shard_bytes: int
    manifest: int
    """The manifest's number, which is the version of the dataset."""
    manifest_digest: str
    """SHA-256 of the manifest: it names every shard with its checksum."""
    was_published: bool
    """Whether the same call had already finished before."""
    seconds: float

    def open(self, **options: Any) -> Dataset:
        """Opens the dataset with `headrace.open`: `prepared.open(split="train").loader(batch_size=128)`."""
        return open_dataset(self.url, **options)

    def __repr__(self) -> str:
        splits = ", ".join(f"{name} {split['records']:,}" for name, split in sorted(self.splits.items()))
        lost = ", ".join(
            f"{self.counts[name]:,} {name}" for name in ("rejected", "dropped") if self.counts[name]
        )
        before = "published before" if self.was_published else f"in {self.seconds:.1f} s"
        records = f"{self.counts['written']:,} records ({splits})"
        told = [records, lost, f"{self.shards} shards", f"{self.shard_bytes:,} bytes", before]
        return f"Prepared({self.url}: {', '.join(filter(None, told))})"


def prepare(source: Any, to: str | os.PathLike[str], **options: Unpack[PrepareOptions]) -> Prepared:
    """Makes shuffled TFRecord shards from raw data, as `headrace prepare` does; also from rows in Python.

        headrace.prepare("s3://raw/images.csv", "s3://datasets/images", schema="images.toml")
        headrace.prepare(frame, "s3://datasets/measurements", splits={"train": 0.9, "test": 0.1})

    Args:
        source: URL or path of any input of the command, or of Parquet, Feather or Arrow files; or rows: a
            frame of pandas or polars, a table or stream of Arrow, `headrace.query(…)`, an iterable of
            mappings.
        to: folder that becomes the dataset.
        schema: URL or path of a TOML file, its text, or a dict of the same structure; by default it is
            inferred.
        layout: format of the source, if its names do not show it.
        delimiter: separator of a table's columns, such as ";" or "tab".
        encoding: encoding of the texts: "utf-8", "latin-1" or "windows-1252".
        missing: texts that count as missing, such as ["NA", "-"].
        decimal: character before the fraction of a number in a text: "." or ",".
        map: a function of a module, or "module:function". It takes a row and returns a dict of features, or
            None to drop the row.
        version: version of that function's content; change it whenever the function changes.
        map_timeout: whole seconds that the function may take for one row.
        runner: executes the tasks: "local", "local:8", "ray", …
        runner_options: the runner's options, by name.
        splits: shares by hash of the rows' ids, {"train": 0.9, "test": 0.1}; they sum to 1. They replace a
            column or folders of splits.
        resize: height and width of images.
        trust_images: do not decode images that are stored as they are: faster, but damage in their pixels
            shows only when they are read.
        max_rejects: how many rows may be rejected: an int is a number, "0.1%" or 0.001 is a share.
        overwrite: remove what was prepared there before, and start over.
        append: add the part of the source that is not in the published dataset; with rows of Python, add all
            rows that are given.
        retry_failed: try rejected rows again; with rows of Python, give all rows again.
        splits_as_they_are, image_format, encoder, sample, duplicates, shard_records, shard_size, compression,
            seed, workers, report: as the command's options of that name.

    Returns:
        The published dataset. If the same call was made before, it finds its dataset, or continues where it
        was interrupted.

    Raises:
        InvalidArgumentError: the source, the schema or an option cannot be used, or too many rows are
            rejected; the error names the first. FailedPreconditionError: another dataset was started or
            published there. NotFoundError: there is no source. CancelledError: it was stopped. The store's
            errors.
    """
    if not isinstance(to, str | os.PathLike):
        raise InvalidArgumentError(
            f"to is {type(to).__name__}; it must be the URL or path of a folder: headrace.prepare(source, to)"
        )
    batches = _batches(source)
    if batches is not None and options.get("layout") is not None:
        raise InvalidArgumentError(
            f"layout is {options['layout']!r}, but rows of Python and tables of Arrow have none"
        )
    with _schema_file(options.get("schema")) as schema_url:
        arguments = arguments_of(options, schema_url)
        if batches is None:
            return _prepared(run_prepare([os.fspath(source), os.fspath(to), *arguments]))
        return _prepare_rows(batches, open_store(to), arguments, _is_in_store(source))


def prepare_stored_rows(
    source: Any, to: str | os.PathLike[str], **options: Unpack[PrepareOptions]
) -> Prepared:
    """`prepare` for rows in Python that were read from a store: they must not name local files."""
    with _schema_file(options.get("schema")) as schema_url:
        return _prepare_rows(batches_of(source), open_store(to), arguments_of(options, schema_url), True)


def _prepare_rows(
    batches: Iterator[Batch], output: Store, options: list[str], are_from_store: bool
) -> Prepared:
    stage_rows(output, batches, are_from_store=are_from_store)
    source = f"{output.url.rstrip('/')}/{FOLDER.rstrip('/')}"
    try:
        done = run_prepare([source, output.url, "--layout", "tfrecord", *options])
    except (FailedPreconditionError, InvalidArgumentError):  # a retry cannot continue from the staged rows
        remove_staged(output)
        raise
    remove_staged(output)
    return _prepared(done)


def _batches(source: Any) -> Iterator[Batch] | None:
    """Batches of the source; None if the command reads the source itself."""
    if is_rows(source):
        return batches_of(source)
    file_format = format_of_arrow(source)
    return None if file_format is None else batches_of_files(source, file_format)


def _is_in_store(source: Any) -> bool:
    """Whether the source is in a remote store: rows of this program and local files are not."""
    return not is_rows(source) and not open_store(source).url.startswith("file://")


def _prepared(document: Mapping[str, Any]) -> Prepared:
    names = [field.name for field in dataclasses.fields(Prepared)]
    return Prepared(**{name: document.get(name) for name in names})


@contextlib.contextmanager
def _schema_file(schema: str | os.PathLike[str] | Mapping[str, Any] | None) -> Iterator[str | None]:
    """The URL or path of the schema. A temporary file holds a schema that is a text or a dict."""
    text = schema_text(schema)
    if text is None:
        yield None if schema is None else os.fspath(schema)
        return
    with tempfile.TemporaryDirectory(prefix="headrace-schema-") as folder:
        file = Path(folder) / "schema.toml"
        file.write_text(text, encoding="utf-8")
        try:
            yield str(file)
        except Error as error:  # only this call knows the temporary file
            raise type(error)(str(error).replace(f"file://{file}", "schema")) from None
