"""The temperature with the best log score: closed forms, a root, or a search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.statistics import negative_log_likelihood_rows

__all__ = ["AtBound", "Fit", "log_score_fit", "search", "tempered"]


def tempered(predictions: Any, temperature: float) -> Any:
    """Return predictions ``q ~ p^(1/T)`` of the family that was given.

    Powers are of the density with respect to a reference measure that keeps the family, where there is one, and that
    the family's method `tempered` names. Classes: log-probabilities divided by T, zeros stay zero. Normal
    distributions: variances and covariances times T. `Laplace`: scale times T. `StudentT`: df becomes ``(df + 1) / T -
    1``. With respect to ``dy / y``, or ``dy / (y (1 - y))``, which keep means or medians: `LogNormal` (sigma^2 times
    T), `Gamma`, `Beta` and `Dirichlet` (parameters over T). `Binomial`: the logit of p over T. `Mixture`: every
    component, with the weights unchanged and a note that says so.

    Parameters
    ----------
    predictions : Predictions
        Of a family that has temperatures, in any array library.
    temperature : float
        T > 0; above 1 predictions become wider, or closer to equal probabilities.

    Raises
    ------
    InputError
        For other families, whose powers leave the family.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Definition F.1; Guo et al. (2017).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.recalibration import tempered
    >>> tempered(kc.Categorical([[0.8, 0.2, 0.0]]), 2.0).probs.round(4)
    array([[0.6667, 0.3333, 0.    ]])
    >>> tempered(kc.Normal([1.0], [2.0]), 4.0).std
    array([4.])
    """
    return predictions.tempered(temperature)


_STEP = 0.25 * math.log(10)  # of the grid of log T: four temperatures a decade

_ACCURACY = {"xatol": 1e-8}

_VALUES = 2**21  # numbers at a time: 16 MiB

_UNIFORM = (
    "every prediction gives equal probabilities to its possible classes, so no temperature changes it: T = 1 is kept"
)


@dataclass(frozen=True)
class Fit:
    """A temperature, whether the search ended inside the bounds, its steps, and a warning or nothing."""

    temperature: float
    converged: bool
    iterations: int
    warning: str = ""


@dataclass(frozen=True)
class AtBound:
    """A temperature that ran to a bound."""

    bound: float
    which: str
    why: str

    @property
    def text(self) -> str:
        """Sentence for the warning."""
        return (
            f"the temperature ran to its bound {self.bound:g}, the {self.which} that is tried, and did not converge: "
            f"{self.why}. TemperatureScaling(bounds=...) moves the bounds"
        )


def log_score_fit(predictions: Predictions, y: np.ndarray, weights: np.ndarray, bounds: tuple[float, float]) -> Fit:
    """Return the T that minimises the mean of ``-log q_i(y_i)``, for weights with mean 1.

    Classes: the root of the slope. Families that say `temperatures`: their mean. Others: a search.
    """
    if isinstance(predictions, ClassPredictions):
        return _root(predictions, y, weights, bounds)
    tempered(predictions, 1.0)  # refuses a family without temperatures
    _refuse_impossible(predictions, y, weights)
    values = predictions.temperatures(y)
    if values is not None:
        return _closed(values, weights)
    counted = weights > 0

    def loss(temperature: float) -> float:
        return -float(to_numpy(tempered(predictions, temperature).log_prob(y))[counted] @ weights[counted])

    return search(loss, bounds, "log score")


def _refuse_impossible(predictions: Predictions, y: np.ndarray, weights: np.ndarray) -> None:
    """Refuse targets at which the density is 0 or infinite at every temperature."""
    negative_log_likelihood_rows(y, predictions)  # refuses infinite densities
    impossible = np.flatnonzero(predictions.impossible(y) & (weights > 0))
    if len(impossible):
        raise InputError(
            f"row {int(impossible[0])}: the target had a predicted density of exactly 0 ({len(impossible)} such rows), "
            "which no temperature changes, and the log score is infinite: drop these rows, or use objective='skce'"
        )


def _root(predictions: ClassPredictions, y: np.ndarray, weights: np.ndarray, bounds: tuple[float, float]) -> Fit:
    """Find the root of the slope in b = 1/T, which increases since the log score is convex in b."""
    from scipy.optimize import brentq  # imported when needed: the import of kernelcal stays light

    gaps = _gaps(predictions, y, weights)
    if not np.any(np.where(np.isfinite(gaps), gaps, 0.0)[weights > 0]):
        return Fit(1.0, True, 0, _UNIFORM)

    def slope(log_temperature: float) -> float:
        return _slope(gaps, math.exp(-log_temperature), weights)

    low, high = math.log(bounds[0]), math.log(bounds[1])
    if slope(low) <= 0:
        return Fit(bounds[0], False, 1, _no_root_below(gaps[weights > 0], bounds[0]))
    if slope(high) >= 0:
        return Fit(bounds[1], False, 2, _no_root_above(bounds[1]))
    root, result = brentq(slope, low, high, xtol=1e-12, full_output=True, disp=False)
    return Fit(math.exp(root), bool(result.converged), int(result.iterations))


def _closed(values: np.ndarray, weights: np.ndarray) -> Fit:
    temperature = float(values.astype(np.float64) @ weights / len(weights))
    if not 0 < temperature < math.inf:
        raise InputError(
            f"the best temperature is {temperature:g}, which is no distribution: "
            + ("every target is its predicted mean exactly" if temperature <= 0 else "targets are infinitely far out")
            + "; are these rows those of the fit, or the targets the predictions themselves?"
        )
    return Fit(temperature, True, 0)


def _gaps(predictions: ClassPredictions, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Log-probability of every class minus that of the label, shape (n, m); -inf for classes of probability 0."""
    own = predictions.log_probability_of(labels)
    impossible = np.flatnonzero(np.isneginf(own) & (weights > 0))
    if len(impossible):
        row = int(impossible[0])
        raise InputError(
            f"row {row}: the label {predictions.class_name(labels[row])} had a predicted probability of exactly 0 "
            f"({len(impossible)} such rows), which no temperature changes, and the log score is infinite: if small "
            "probabilities were rounded to 0, keep more digits; else drop these rows, or use objective='skce'"
        )
    logs = to_numpy(predictions.log_probabilities).astype(np.float64)
    return logs - np.where(np.isneginf(own), 0.0, own)[:, None]  # a row of weight 0 counts nothing


def _slope(gaps: np.ndarray, power: float, weights: np.ndarray) -> float:
    """Derivative of the mean of ``log sum_k exp(b g_k)`` at b: the mean gap under the tempered probabilities."""
    total = 0.0
    for part in row_slices(len(gaps), _VALUES // gaps.shape[1]):
        scaled = power * gaps[part]
        odds = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        finite = np.where(np.isfinite(gaps[part]), gaps[part], 0.0)
        total += float(((odds * finite).sum(axis=1) / odds.sum(axis=1)) @ weights[part])
    return total / len(gaps)


def _no_root_below(gaps: np.ndarray, bound: float) -> str:
    separated = bool(np.all(gaps <= 0))
    why = (
        "every label has the largest probability of its row (perfect separation), and the log score improves "
        "as predictions go to 0 and 1. Are these rows the model was trained on? Fit on other rows, or on more"
        if separated
        else "the predictions are far from as confident as they could be"
    )
    return AtBound(bound, "smallest", why).text


def _no_root_above(bound: float) -> str:
    why = (
        "the predictions do no better than equal probabilities for all classes. Are labels and classes in the same "
        "order, and targets and predictions in the same rows?"
    )
    return AtBound(bound, "largest", why).text


def search(loss: Callable[[float], float], bounds: tuple[float, float], name: str) -> Fit:
    """Minimise a loss over log T: downhill from T = 1 on a grid, then Brent's method between the neighbours.

    The minimum next to T = 1 is wanted, not the least of all: a calibration error is small again where predictions
    become equal probabilities, since these are calibrated too if the classes are equally frequent.
    """
    from scipy.optimize import minimize_scalar  # imported when needed: the import of kernelcal stays light

    low, high = math.log(bounds[0]), math.log(bounds[1])
    grid = np.linspace(low, high, 1 + max(2, math.ceil((high - low) / _STEP)))
    best, steps = _downhill(lambda k: loss(math.exp(grid[k])), int(np.abs(grid).argmin()), len(grid) - 1)
    around = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)]))
    found = minimize_scalar(lambda theta: loss(math.exp(theta)), bounds=around, method="bounded", options=_ACCURACY)
    for edge, bound, which in ((low, bounds[0], "smallest"), (high, bounds[1], "largest")):
        if abs(found.x - edge) < 1e-4:
            return Fit(bound, False, steps + int(found.nfev), AtBound(bound, which, f"the {name} falls up to it").text)
    return Fit(math.exp(float(found.x)), bool(found.success), steps + int(found.nfev))


def _downhill(loss: Callable[[int], float], start: int, last: int) -> tuple[int, int]:
    """Walk from a grid point to a lower neighbour until there is none: the last point, and how many were tried."""
    tried = {start: loss(start)}
    while True:
        around = [k for k in (start - 1, start + 1) if 0 <= k <= last]
        tried.update({k: loss(k) for k in around if k not in tried})
        best = min((start, *around), key=lambda k: tried[k])
        if best == start:
            return start, len(tried)
        start = best
