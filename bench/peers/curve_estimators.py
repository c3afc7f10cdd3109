"""Today's methods to extrapolate a learning curve, reimplemented from their descriptions. Each takes the
measured runs, and returns the error at other sizes, each with a 90 % interval, and the number of records that
a target needs.

- `pmsims`: the R package's curve engine. One monotone curve a − b·n^−c of the score, a at most 1 and c
  bounded, weighted by the smoothed spread of the repeats; the interval comes from resampled repeats.
- `mahmood`: "How Much More Data Do I Need?" (Mahmood et al., CVPR 2022). Power law, logarithm, arctangent and
  algebraic root, least squares each; the interval comes from resampled repeats of all four, as in their
  "Optimizing Data Collection for Machine Learning" (2022).
- `least_squares`: the power law with a floor by scipy's curve_fit, and the interval from its covariance.
- `power_law`: a line through the logarithms, with the regression's own prediction of the mean.
"""

import warnings
from collections.abc import Callable

import numpy as np
from scipy import optimize, stats

Runs = dict[float, list[float]]  # size → errors
MOST_RECORDS = 1e18
RATES = np.geomspace(0.01, 2, 120)


def _interval(values: np.ndarray) -> list[float]:
    return [float(value) for value in np.quantile(values, [0.5, 0.05, 0.95], method="nearest")]


def _size_for(error_at: Callable, target: float, largest: float) -> float:
    """The smallest number of records, by bisection of a falling curve."""
    low, high = 1.0, MOST_RECORDS
    if not error_at(high) <= target:
        return MOST_RECORDS
    for _ in range(100):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if error_at(middle) <= target else (middle, high)
    return high


def _resampled(runs: Runs, random: np.random.Generator) -> np.ndarray:
    return np.array([np.mean(random.choice(errors, len(errors))) for errors in runs.values()])


def _answer(curves: list[Callable], central: Callable, sizes: list[float], target: float, largest: float):
    at = [_interval(np.array([curve(size) for curve in curves])) for size in sizes]
    for interval, size in zip(at, sizes, strict=True):
        interval[0] = float(central(size))
    return {"at": at, "size_for": _size_for(central, target, largest)}


def pmsims(runs: Runs, sizes: list[float], target: float, random: np.random.Generator) -> dict:
    measured = np.array(list(runs))
    largest = measured[-1]
    spreads = np.array([np.std(errors, ddof=1) for errors in runs.values()])
    slope, start = np.polyfit(np.log(measured), np.log(np.maximum(spreads, 1e-6)), 1)
    weights = np.array([len(errors) for errors in runs.values()]) / np.exp(
        2 * (start + slope * np.log(measured))
    )
    basis = (measured / largest) ** -RATES[:, None]

    def fitted(means: np.ndarray) -> Callable:
        total, x, y = weights.sum(), basis @ weights, means @ weights
        xx, xy = basis**2 @ weights, basis @ (weights * means)
        scale = (xy - x * y / total) / (xx - x * x / total)
        floor = (y - scale * x) / total
        scale, floor = np.where(floor < 0, xy / xx, scale), np.maximum(floor, 0)
        loss = ((means - floor[:, None] - scale[:, None] * basis) ** 2) @ weights
        best = np.argmin(np.where(scale < 0, np.inf, loss))
        return lambda size: floor[best] + scale[best] * (size / largest) ** -RATES[best]

    curves = [fitted(_resampled(runs, random)) for _ in range(200)]
    central = fitted(np.array([np.mean(errors) for errors in runs.values()]))
    return _answer(curves, central, sizes, target, largest)


# Form → the score by size over the largest size, and where its fit starts.
MAHMOOD_FORMS = {
    "power law": (lambda u, a, b, c: a * u**b + c, (-0.1, -0.3, 0.9)),
    "logarithm": (lambda u, a, b, c: a * np.log(u + np.abs(b)) + c, (0.1, 0.1, 0.8)),
    "arctangent": (lambda u, a, b, c: 2 / np.pi * np.arctan(np.pi / 2 * a * u + b) + c, (1.0, 0.5, 0.3)),
    "algebraic root": (
        lambda u, a, b, c: u / (1 + np.abs(a * u) ** np.abs(b)) ** (1 / np.abs(b)) + c,
        (5.0, 0.5, 0.6),
    ),
}


def _mahmood_fit(form: str, measured: np.ndarray, means: np.ndarray, largest: float, start=None):
    """Least squares from the best of three starts, or only from `start`. Returns the curve and its
    parameters."""
    function, first = MAHMOOD_FORMS[form]
    starts = [np.array(first) * scale for scale in (1, 0.3, 3)] if start is None else [start]
    best, least = None, np.inf
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in starts:
            try:
                found, _ = optimize.curve_fit(function, measured / largest, 1 - means, one, maxfev=2000)
            except RuntimeError:
                continue
            loss = np.sum((function(measured / largest, *found) - (1 - means)) ** 2)
            if loss < least:
                best, least = found, loss
    if best is None:
        return None, None

    def curve(size: float) -> float:
        with np.errstate(all="ignore"):
            return float(np.clip(np.nan_to_num(1 - function(size / largest, *best), nan=1), 0, 1))

    return curve, best


def mahmood(runs: Runs, sizes: list[float], target: float, random: np.random.Generator) -> dict:
    measured = np.array(list(runs))
    largest = measured[-1]
    means = np.array([np.mean(errors) for errors in runs.values()])
    curves, central, needed = [], [], {}
    for form in MAHMOOD_FORMS:
        curve, found = _mahmood_fit(form, measured, means, largest)
        if curve is None:
            needed[form] = MOST_RECORDS
            continue
        central.append(curve)
        needed[form] = _size_for(curve, target, largest)
        for _ in range(10):
            other, _ = _mahmood_fit(form, measured, _resampled(runs, random), largest, found)
            curves += [other] if other else []
    middle = lambda size: np.median([curve(size) for curve in central])  # noqa: E731
    return {**_answer(curves, middle, sizes, target, largest), "size_for_form": needed}


def least_squares(runs: Runs, sizes: list[float], target: float, random: np.random.Generator) -> dict:
    x = np.array([size for size, errors in runs.items() for _ in errors])
    y = np.array([error for errors in runs.values() for error in errors])
    largest = x.max()
    function = lambda u, a, b, c: c + a * u**-b  # noqa: E731
    bounds = ([0, 0.01, 0], [np.inf, 2, y.min()])
    found, covariance = optimize.curve_fit(
        function, x / largest, y, (y.min() / 2, 0.3, y.min() / 2), bounds=bounds, max_nfev=2000
    )
    central = lambda size: function(size / largest, *found)  # noqa: E731
    drawn = random.multivariate_normal(found, covariance, 400, check_valid="ignore")
    drawn = np.clip(drawn, bounds[0], bounds[1])
    curves = [lambda size, one=one: function(size / largest, *one) for one in drawn]
    return _answer(curves, central, sizes, target, largest)


def power_law(runs: Runs, sizes: list[float], target: float, _random: np.random.Generator) -> dict:
    x = np.log([size for size, errors in runs.items() for _ in errors])
    y = np.log([error for errors in runs.values() for error in errors])
    fit = stats.linregress(x, y)
    residual = np.sqrt(np.sum((y - fit.intercept - fit.slope * x) ** 2) / (len(x) - 2))
    quantile = stats.t.ppf(0.95, len(x) - 2)
    at = []
    for size in np.log(sizes):
        error = residual * np.sqrt(1 / len(x) + (size - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2))
        middle = fit.intercept + fit.slope * size
        at.append([float(np.exp(middle + side * quantile * error)) for side in (0, -1, 1)])
    needed = np.exp(min(np.log(MOST_RECORDS), (np.log(target) - fit.intercept) / fit.slope))
    return {"at": at, "size_for": float(needed if fit.slope < 0 else MOST_RECORDS)}


ESTIMATORS = {
    "pmsims": pmsims,
    "mahmood": mahmood,
    "least squares": least_squares,
    "power law": power_law,
}
