"""`convert`: a table of images, or any other, becomes a dataset in the old layout."""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas

from headrace._src.prepare import Prepared, prepare, prepare_stored_rows
from headrace.errors import InvalidArgumentError
from headrace.tfrecorder import types
from headrace.tfrecorder._load import load
from headrace.tfrecorder._sources import Source, read_source
from headrace.tfrecorder._timestamp import timestamp
from headrace.tfrecorder.input_schema import IMAGE_CSV_SCHEMA, Schema

if TYPE_CHECKING:
    import tensorflow

_DIRECT = "DirectRunner"
_DATAFLOW = "DataflowRunner"
_RUNNERS = {_DIRECT: _DIRECT, _DATAFLOW: _DATAFLOW, "DataFlowRunner": _DATAFLOW}  # as in tfrecorder's README
_COMPRESSIONS = {"gzip": "gzip", None: "none"}
_RESOLVED = " as URL"  # suffix of the name of the column with URLs of images


def convert(
    source: pandas.DataFrame | str | os.PathLike[str],
    output_dir: str | os.PathLike[str] = "./tfrecords",
    schema: Schema | Mapping[str, type[types.SupportedType]] = IMAGE_CSV_SCHEMA,
    header: str | int | Sequence[int] | None = "infer",
    names: Sequence[str] | None = None,
    runner: str = _DIRECT,
    project: str | None = None,
    region: str | None = None,
    tfrecorder_wheel: str | None = None,
    dataflow_options: Mapping[str, Any] | None = None,
    job_label: str | None = "create-tfrecords",
    compression: str | None = "gzip",
    num_shards: int = 0,
) -> dict[str, Any]:
    """Writes TFRecord files of `source` to a new folder below `output_dir`. The folder is a dataset.

    Args:
        source: a frame; the path or URL of a .csv file, or of a folder of images, `<split>/<label>/<file>`.
        output_dir: path, or URL of any store.
        schema: the columns and their types.
        header: for a table: "infer" takes its first line; None means that it has no header.
        names: for a table, the names of its columns; for a frame, the columns to take.
        runner: "DirectRunner" runs threads of this machine; or "DataflowRunner".
        project, region: for Dataflow.
        tfrecorder_wheel: no longer needed, and ignored.
        dataflow_options: further options of Beam's pipeline.
        job_label: suffix of the folder's name.
        compression: "gzip", or None.
        num_shards: number of shards of the largest split; 0 lets its size decide.

    Returns:
        `job_id` and `tfrecord_dir`. DirectRunner adds `metrics`: `rows`, `good_images` (records that were
        written) and `bad_images` (rows that were not), None without images. Dataflow adds `dataflow_url`.

    Raises:
        AttributeError: a column is missing, the runner is not known, or Dataflow lacks project or region.
        InvalidArgumentError (a ValueError): the source or an option cannot be used, or no row can.
    """
    if not isinstance(schema, Schema):
        schema = Schema(schema)
    rows = read_source(source, schema, header, names)
    runner = _checked_runner(runner, project, region, tfrecorder_wheel)
    if compression not in _COMPRESSIONS:
        raise InvalidArgumentError(f'compression is {compression!r}; it must be "gzip" or None')
    job = _job_name(job_label)
    output = os.fspath(output_dir).rstrip("/")
    options: dict[str, Any] = {
        "compression": _COMPRESSIONS[compression],
        "max_rejects": "100%",
        "shard_records": _shard_records(rows.frame[schema.split_key], num_shards),
    }
    if runner == _DATAFLOW:
        options["runner"] = f"beam:{_DATAFLOW}"
        options["runner_options"] = {
            "project": project,
            "region": region,
            "job_name": job,
            "temp_location": f"{output}/tmp",
            "staging_location": f"{output}/tmp",
            **(dataflow_options or {}),
        }
    made = _prepare(rows, schema, f"{output}/{job}", options)
    if runner == _DATAFLOW:
        jobs = f"https://console.cloud.google.com/dataflow/jobs/{region}?project={project}"
        return {"job_id": job, "dataflow_url": jobs, "tfrecord_dir": f"{output}/{job}"}
    return {"job_id": _DIRECT, "metrics": _metrics(made, schema), "tfrecord_dir": f"{output}/{job}"}


def create_tfrecords(
    input_data: pandas.DataFrame | str | os.PathLike[str],
    output_dir: str | os.PathLike[str] = "./tfrecords",
    *arguments: Any,
    **options: Any,
) -> dict[str, Any]:
    """`convert` under its name before 2.0; further arguments are those of `convert`."""
    return convert(input_data, output_dir, *arguments, **options)


def convert_and_load(*arguments: Any, **options: Any) -> dict[str, tensorflow.data.Dataset]:
    """`load` for the result of `convert`, with the arguments of `load`."""
    return load(convert(*arguments, **options)["tfrecord_dir"])


def _checked_runner(runner: str, project: str | None, region: str | None, wheel: str | None) -> str:
    if runner not in _RUNNERS:
        raise AttributeError(f"runner is {runner!r}; it must be one of {', '.join(_RUNNERS)}")
    if wheel is not None:
        warnings.warn(
            "tfrecorder_wheel is ignored: Dataflow's workers need headrace, not a wheel of tfrecorder",
            stacklevel=3,
        )
    is_dataflow = _RUNNERS[runner] == _DATAFLOW
    if is_dataflow and not (project and region):
        raise AttributeError(
            f"{runner} needs project and region; they are {project!r} and {region!r}. A tfrecorder_wheel is "
            "not needed any more"
        )
    return _RUNNERS[runner]


def _job_name(label: str | None) -> str:
    return f"tfrecorder-{timestamp()}" + (f"-{label.replace('_', '-')}" if label else "")


def _shard_records(splits: pandas.Series, num_shards: int) -> int | None:
    if num_shards <= 0:
        return None
    used = splits.map(lambda split: str(split).strip().upper())
    largest = int(used[used != "DISCARD"].value_counts().max()) if len(used) else 0
    return max(1, -(-largest // num_shards))


def _prepare(rows: Source, schema: Schema, output: str, options: dict[str, Any]) -> Prepared:
    frame, image = rows.frame.copy(), schema.image_uri_key
    labels = schema.columns_of(types.StringLabel)
    for column in labels:
        frame[column] = frame[column].map(lambda value: str(value).strip(), na_action="ignore")
    resolved = None if image is None else image + _RESOLVED
    if resolved is not None:
        frame[resolved] = rows.image_urls(image)
    vocabularies = {column: _vocabulary(frame, schema.split_key, column) for column in labels}
    options["schema"] = schema.to_headrace(resolved, vocabularies)
    if rows.base:
        return prepare_stored_rows(frame, output, **options)
    is_local = "runner" not in options
    with _table(frame) if is_local else contextlib.nullcontext(frame) as source:
        return prepare(source, output, **options)


@contextlib.contextmanager
def _table(frame: pandas.DataFrame) -> Iterator[str]:
    """Writes the frame to a local file, because only a local file may name other local files, wherever the
    output is.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-tfrecorder-") as folder:
        path = os.path.join(folder, "rows.csv")
        frame.to_csv(path, index=False)
        yield path


def _vocabulary(frame: pandas.DataFrame, split: str, column: str) -> list[str]:
    """Orders values as TensorFlow Transform does: first the values in TRAIN, the most frequent first and ties
    in descending order; then the values that only other splits have, in ascending order.
    """
    values = frame[column].dropna()
    values = values[values != ""]
    splits = frame.loc[values.index, split].map(lambda value: str(value).strip().upper())
    counts = values[splits == "TRAIN"].value_counts()
    trained = sorted(sorted(counts.index, reverse=True), key=lambda value: -counts[value])
    others = set(values[splits.isin(["VALIDATION", "TEST"])]) - set(trained)
    if not trained:
        raise InvalidArgumentError(f"no row with {split} TRAIN has a {column}; there is nothing to train on")
    return trained + sorted(others)


def _metrics(made: Prepared, schema: Schema) -> dict[str, int | None]:
    has_images = schema.image_uri_key is not None
    return {
        "rows": made.counts["in"],
        "good_images": made.counts["written"] if has_images else None,
        "bad_images": made.counts["rejected"] if has_images else None,
    }
