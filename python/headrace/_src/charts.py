"""Charts of metrics of recorded runs, of any number of points."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from headrace import _headrace
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np

_MOST_COLUMNS = 100_000
_MOST_RUNS = 20


@dataclasses.dataclass(frozen=True, eq=False)
class ChartSeries:
    """One metric of one rank of a run, in the columns of a chart. Arrays have the shape [columns].

    Attributes:
        run: id.
        metric: name.
        rank: 0, unless several ranks of the run have logged.
        minimum, maximum: float64, the extremes of the values in each column; NaN if none is finite.
        last: float64, the finite value in each column that was logged last; NaN if there is none.
        finite, not_finite: int64, how many values each column has; `not_finite`: NaN and infinities.
    """

    run: str
    metric: str
    rank: int
    minimum: np.ndarray
    maximum: np.ndarray
    last: np.ndarray
    finite: np.ndarray
    not_finite: np.ndarray


class Chart:
    """Metrics of runs in columns; `chart` returns one. A notebook shows it as a picture.

    Attributes:
        x: where each column begins, [columns]: int64 steps; datetime64[us] in UTC for a chart by time;
            timedelta64[us] for a chart by the time since the first point of each run.
        series: sorted by run in the requested order, then by metric, then by rank.
    """

    def __init__(self, native: _headrace.RunCharts, axis: str):
        self._native = native
        self.x: np.ndarray = _as_places(native.x(), axis)
        self.series: list[ChartSeries] = [ChartSeries(*each) for each in native.series()]

    def svg(self, *, smooth: float = 0.0, log: bool = False) -> str:
        """Draws all series: a line through the last values, and a band from the minimum to the maximum.

        Args:
            smooth: weight of the earlier values, 0 to 0.999; smooths the lines, as TensorBoard smooths
                points.
            log: scale values logarithmically.

        Returns:
            an SVG document.

        Raises:
            InvalidArgumentError: `smooth` is not such a weight.
        """
        if not 0 <= smooth <= 0.999:
            raise InvalidArgumentError(f"smooth is {smooth}; it must be a weight from 0 to 0.999")
        return self._native.svg(smooth, log)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<headrace.Chart: {len(self.series)} series of {len(self.x)} columns>"


def chart(
    root: str | os.PathLike[str],
    runs: str | Sequence[str] | None = None,
    metrics: str | Sequence[str] | None = None,
    *,
    x: Literal["step", "time", "relative"] = "step",
    first: int | None = None,
    last: int | None = None,
    columns: int = 2000,
) -> Chart:
    """Reads metrics of runs over time, as `headrace runs chart` shows them. Each point counts, in its own
    column or in the column before, so a spike survives any zoom. Running runs are read as far as they are in
    the store.

    A chart of many points reads little: it reads the extremes of groups of points that the store holds, not
    the points.

    Args:
        root: the folder of records, as in `headrace.init`.
        runs: the id of a run, or up to 20 ids. None: the run that began last.
        metrics: the name of a metric, or several names. None: all metrics except those that begin with
            "system/".
        x: "step"; "time"; or "relative", the time since the first point of each run.
        first, last: the range of steps, both included; either may be None. Only with `x="step"`.
        columns: largest number of columns, 1 to 100,000; all series share the same columns.

    Returns:
        The chart: arrays, and in a notebook a picture.

    Raises:
        NotFoundError: there is no such run or metric, or nothing was logged.
        InvalidArgumentError: an argument is out of its range; there are more than 100 series, or more than
            2,000,000 columns in all series.
        PermissionDeniedError, UnavailableError, …: the store cannot be read.
        DataLossError: metrics in the store are damaged.
    """
    if x not in ("step", "time", "relative"):
        raise InvalidArgumentError(f"x is {x!r}; it must be 'step', 'time' or 'relative'")
    if x != "step" and (first is not None or last is not None):
        raise InvalidArgumentError("first and last are steps: they need x='step'")
    if first is not None and last is not None and first > last:
        raise InvalidArgumentError(f"first is {first}, which is after last, {last}")
    if not 1 <= columns <= _MOST_COLUMNS:
        raise InvalidArgumentError(f"columns is {columns}; it must be 1 to {_MOST_COLUMNS:,}")
    ids = [""] if runs is None else _names(runs)
    if not 1 <= len(ids) <= _MOST_RUNS:
        raise InvalidArgumentError(f"there are {len(ids)} runs; a chart shows 1 to {_MOST_RUNS}")
    native = _headrace.RunCharts(os.fspath(root), ids, _names(metrics or []), x, first, last, columns)
    return Chart(native, x)


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _as_places(x: np.ndarray, axis: str) -> Any:
    return x if axis == "step" else x.view("datetime64[us]" if axis == "time" else "timedelta64[us]")
