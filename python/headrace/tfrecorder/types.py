"""The types of input columns: the values of `input_schema.Schema`."""

from __future__ import annotations

from typing import Any, ClassVar

SPLITS = ("TRAIN", "VALIDATION", "TEST", "DISCARD")


class ColumnType:
    """A column whose feature has the same name."""

    feature_type: ClassVar[str] = "string"

    @classmethod
    def feature(cls, column: str) -> dict[str, Any]:
        """The feature, as a schema of `headrace.prepare` says it."""
        return {"type": cls.feature_type, "column": column}


class SplitKey(ColumnType):
    """TRAIN, VALIDATION, TEST, or DISCARD for a row that is left out."""

    allowed_values: ClassVar[list[str]] = list(SPLITS)


class ImageUri(ColumnType):
    """The URL or path of a JPEG or PNG: `image` in the record, with its name and size beside it."""

    feature_type = "image"


class IntegerInput(ColumnType):
    """A whole number."""

    feature_type = "int64"


class FloatInput(ColumnType):
    """A number."""

    feature_type = "float32"


class StringInput(ColumnType):
    """A text."""


class IntegerLabel(IntegerInput):
    """A class that is a number already."""


class StringLabel(ColumnType):
    """A class by its name; in the record its place among those of TRAIN, the most frequent first."""

    feature_type = "label"
