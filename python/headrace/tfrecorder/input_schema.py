"""The columns of the input, and their types."""

from __future__ import annotations

from collections.abc import KeysView, Mapping
from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.tfrecorder import types

_IMAGE_FEATURES = frozenset({"image", "image_name", "image_height", "image_width", "image_channels"})


class Schema:
    """Types of the input's columns, by their names; one of them is a `types.SplitKey`.

    Args:
        schema_map: name → class of `headrace.tfrecorder.types`.

    Attributes:
        input_schema_map: a copy of `schema_map`.
        split_key: name of the split's column.
        image_uri_key: name of the image's column; None: there is none.
        label_key: name of the label's column, the last of several; None: there is none.

    Raises:
        AttributeError: no column is a split.
        InvalidArgumentError (a ValueError): several columns are splits or images, or a column has the name of
            a feature that the image adds.
    """

    def __init__(self, schema_map: Mapping[str, type[types.SupportedType]]):
        self.input_schema_map = dict(schema_map)
        for column, of in self.input_schema_map.items():
            if not (isinstance(of, type) and issubclass(of, types.SupportedType)):
                raise InvalidArgumentError(
                    f"column {column!r} is of {of!r}; it must be a class of headrace.tfrecorder.types"
                )
        splits, images = self.columns_of(types.SplitKey), self.columns_of(types.ImageUri)
        if not splits:
            raise AttributeError('no column is a split; add one to the schema: {"split": types.SplitKey, …}')
        if len(splits) > 1:
            raise InvalidArgumentError(f"exactly one column must be a types.SplitKey; there are {splits}")
        if len(images) > 1:
            raise InvalidArgumentError(
                f"a record has one image, but the schema has the image columns {images}"
            )
        self.split_key = splits[0]
        self.image_uri_key = images[0] if images else None
        labels = self.columns_of((types.IntegerLabel, types.StringLabel))
        self.label_key = labels[-1] if labels else None
        taken = _IMAGE_FEATURES.intersection(set(self.input_schema_map) - set(images)) if images else set()
        if taken:
            raise InvalidArgumentError(
                f"the image adds a feature {min(taken)}; rename the column of that name"
            )

    def get_input_keys(self) -> KeysView[str]:
        """Names of the columns, in their order."""
        return self.input_schema_map.keys()

    def columns_of(self, of: type[types.SupportedType] | tuple[type[types.SupportedType], ...]) -> list[str]:
        """Names of the columns of a type, or of several types."""
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
            features["image_name"] = {"type": "string", "column": self.image_uri_key, "file_name": True}
            for size in ("height", "width", "channels"):
                features[f"image_{size}"] = {"type": f"image-{size}", "image": "image"}
        return {"split": self.split_key, "features": features}


image_csv_schema_map = {"split": types.SplitKey, "image_uri": types.ImageUri, "label": types.StringLabel}
IMAGE_CSV_SCHEMA = Schema(image_csv_schema_map)
