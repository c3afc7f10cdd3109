"""Converts pandas columns to staged columns. pandas is already imported, since its frame exists."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace._src.staged_columns import (
    StagedColumn,
    column_of_floats,
    column_of_integers,
    column_of_objects,
    refuse_type,
)


def column_of_series(name: str, series: Any, first_row: int) -> StagedColumn | None:
    """None if the column has no value at all."""
    dtype = series.dtype
    if not isinstance(dtype, np.dtype):
        return _column_of_extension(name, series, first_row)
    if dtype.kind in "biu":
        return column_of_integers(name, series.to_numpy(), first_row)
    if dtype.kind == "f":
        return column_of_floats(name, series.to_numpy(), first_row)
    if dtype.kind in "mc":
        refuse_type(name, str(dtype))
    return column_of_objects(name, series.astype(object).tolist(), first_row)


def _column_of_extension(name: str, series: Any, first_row: int) -> StagedColumn | None:
    if hasattr(series, "cat"):
        values = object if series.hasnans else series.cat.categories.dtype
        return column_of_series(name, series.astype(values), first_row)
    if hasattr(series, "sparse"):
        return column_of_series(name, series.sparse.to_dense(), first_row)
    kind = getattr(getattr(series.dtype, "numpy_dtype", None), "kind", "")
    if kind in "biu" and kind:
        validity = series.notna().to_numpy()
        numbers = series.to_numpy(dtype=series.dtype.numpy_dtype, na_value=False if kind == "b" else 0)
        return column_of_integers(name, numbers, first_row, None if validity.all() else validity)
    if kind == "f":
        return column_of_floats(name, series.to_numpy(dtype=np.float64, na_value=np.nan), first_row)
    return column_of_objects(name, series.to_numpy(dtype=object, na_value=None).tolist(), first_row)
