"""`frame.tensorflow` of pandas."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pandas

from headrace.tfrecorder import types
from headrace.tfrecorder._convert import convert
from headrace.tfrecorder.input_schema import IMAGE_CSV_SCHEMA, Schema


@pandas.api.extensions.register_dataframe_accessor("tensorflow")
class TensorflowAccessor:
    """The methods of a frame's `frame.tensorflow`."""

    def __init__(self, frame: pandas.DataFrame):
        self._frame = frame

    def to_tfr(
        self,
        output_dir: str | os.PathLike[str] = "./tfrecords",
        schema: Schema | Mapping[str, type[types.SupportedType]] = IMAGE_CSV_SCHEMA,
        runner: str = "DirectRunner",
        project: str | None = None,
        region: str | None = None,
        tfrecorder_wheel: str | None = None,
        dataflow_options: Mapping[str, Any] | None = None,
        job_label: str | None = "to-tfr",
        compression: str | None = "gzip",
        num_shards: int = 0,
        *,
        schema_map: Schema | Mapping[str, type[types.SupportedType]] | None = None,
    ) -> dict[str, Any]:
        """`convert` for the frame, with its arguments. Before 2.0, `schema` was called `schema_map`."""
        return convert(
            self._frame,
            output_dir,
            schema=schema if schema_map is None else schema_map,
            runner=runner,
            project=project,
            region=region,
            tfrecorder_wheel=tfrecorder_wheel,
            dataflow_options=dataflow_options,
            job_label=job_label,
            compression=compression,
            num_shards=num_shards,
        )
