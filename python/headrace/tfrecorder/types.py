"""The types of input columns: the values of `input_schema.Schema`."""

from __future__ import annotations

from typing import Any, ClassVar

SPLITS = ("TRAIN", "VALIDATION", "TEST", "DISCARD")
_NUMBERS = ("int64", "float32")  # types of features; tables store all others as text


class _FeatureSpec:
    """Imports TensorFlow only where somebody asks for a specification."""

    def __get__(self, instance: object, owner: type[SupportedType]) -> Any:
        import tensorflow as tf

        dtype = owner.feature_type if owner.feature_type in _NUMBERS else "string"
        return tf.io.FixedLenFeature([], tf.dtypes.as_dtype(dtype))


class SupportedType:
    """A column whose feature has the same name.

    Attributes:
        feature_spec: the `tf.io.FixedLenFeature` of a value of the column.
        allowed_values: the values that the column may have; empty: any.
    """

    feature_type: ClassVar[str] = "string"
    feature_spec = _FeatureSpec()
    allowed_values: ClassVar[list[str]] = []

    @classmethod
    def feature(cls, column: str) -> dict[str, Any]:
        """The feature, as a schema of `headrace.prepare` describes it."""
        return {"type": cls.feature_type, "column": column}


class SplitKey(SupportedType):
    """The split of the row: TRAIN, VALIDATION or TEST; DISCARD leaves the row out."""

    allowed_values: ClassVar[list[str]] = list(SPLITS)


class ImageUri(SupportedType):
    """The URL or path of a JPEG or PNG: `image` in the record, with its name and size beside it."""

    feature_type = "image"


class IntegerInput(SupportedType):
    """A whole number."""

    feature_type = "int64"


class FloatInput(SupportedType):
    """A number."""

    feature_type = "float32"


class StringInput(SupportedType):
    """A text."""


class IntegerLabel(IntegerInput):
    """A class label that is already a number."""


class StringLabel(SupportedType):
    """A class label as text. The record holds its index among the labels of TRAIN, the most frequent
    first."""

    feature_type = "label"
