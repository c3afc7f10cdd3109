"""Adds `frame.headrace` to pandas and polars as soon as any code imports them."""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headrace._src.after_import import after_import

if TYPE_CHECKING:
    from typing import Unpack  # from Python 3.11 on

    from headrace._src.prepare import Prepared
    from headrace._src.prepare_options import PrepareOptions


class FrameAccessor:
    """The methods of a frame's `frame.headrace`."""

    def __init__(self, frame: Any):
        self._frame = frame

    def to_tfrecord(self, to: str | os.PathLike[str], **options: Unpack[PrepareOptions]) -> Prepared:
        """`headrace.prepare` of the frame's rows: shuffled TFRecord shards in any store.

        frame.headrace.to_tfrecord("s3://datasets/catsdogs", splits={"train": 0.9, "test": 0.1})
        """
        from headrace._src.prepare import prepare

        return prepare(self._frame, to, **options)


def _register_with_pandas(pandas: ModuleType) -> None:
    pandas.api.extensions.register_dataframe_accessor("headrace")(FrameAccessor)


def _register_with_polars(polars: ModuleType) -> None:
    polars.api.register_dataframe_namespace("headrace")(FrameAccessor)


def register() -> None:
    after_import("pandas", _register_with_pandas)
    after_import("polars", _register_with_polars)
