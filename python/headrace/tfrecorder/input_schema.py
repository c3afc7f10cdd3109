"""The columns of the input, and their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.tfrecorder import types

_IMAGE_FEATURES = frozenset({"image", "image_name", "image_height", "image_width", "image_channels"})


class Schema:
    """Types of the input's columns, by their names; one of them is a `types.SplitKey`.

    Args:
        input_schema_map: name → class of `headrace.tfrecorder.types`.

    Raises:
        InvalidArgumentError (a ValueError): no or several columns are splits, several are images,
            or one is called as a feature of the image.
    """

    def __init__(self, input_schema_map: Mapping[str, type[types.ColumnType]]):
        self.input_schema_map = dict(input_schema_map)
        for column, of in self.input_schema_map.items():
            if not (isinstance(of, type) and issubclass(of, types.ColumnType)):
                raise InvalidArgumentError(
                    f"column {column!r} is of {of!r}; it is a class of headrace.tfrecorder.types"
                )
        splits, images = self.columns_of(types.SplitKey), self.columns_of(types.ImageUri)
        if len(splits) != 1:
            raise InvalidArgumentError(f"one column is a types.SplitKey; there are {splits or 'none'}")
        if len(images) > 1:
            raise InvalidArgumentError(f"a record has one image; there are the columns {images}")
        self.split_key = splits[0]
        self.image_uri_key = images[0] if images else None
        taken = _IMAGE_FEATURES.intersection(set(self.input_schema_map) - set(images)) if images else set()
        if taken:
            raise InvalidArgumentError(
                f"the image makes a feature {min(taken)}; rename the column of that name"
            )

    def get_input_keys(self) -> list[str]:
        """Names of the columns, in their order."""
        return list(self.input_schema_map)

    def columns_of(self, of: type[types.ColumnType]) -> list[str]:
        """Names of the columns of a type."""
        return [column for column, its in self.input_schema_map.items() if issubclass(its, of)]

    def to_headrace(self, image_column: str | None, vocabularies: Mapping[str, list[str]]) -> dict[str, Any]:
        """The schema of `headrace.prepare` that produces such records.

        Args:
            image_column: column with URLs of images that do not depend on a folder.
            vocabularies: the values of each `types.StringLabel`.
        """
        features = {
            column: of.feature(column)
            for column, of in self.input_schema_map.items()
            if of.feature_type != "image"
        }
        for column, vocabulary in vocabularies.items():
            features[column]["vocabulary"] = vocabulary
        if self.image_uri_key is not None:
            features["image"] = {
                "type": "image",
                "column": image_column,
                "uri": True,
                "encode": "raw-base64",
            }
            features["image_name"] = {"type": "string", "column": self.image_uri_key}
            for size in ("height", "width", "channels"):
                features[f"image_{size}"] = {"type": f"image-{size}", "image": "image"}
        return {"split": self.split_key, "features": features}


IMAGE_CSV_SCHEMA = Schema({"split": types.SplitKey, "image_uri": types.ImageUri, "label": types.StringLabel})
