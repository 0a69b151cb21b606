"""Recalibration by one temperature, which makes predictions wider or narrower: fit on some rows, transform others."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError, KernelcalWarning
from kernelcal.predictions import ClassPredictions, Predictions, as_predictions
from kernelcal.statistics import SKCE, negative_log_likelihood_rows

__all__ = ["TemperatureScaling", "tempered"]


def tempered(predictions: Any, temperature: float) -> Any:
    """Return predictions ``q ~ p^(1/T)`` of the family that was given.

    Powers are of the density with respect to a reference measure that keeps the family, where there is one, and that
    the family's method `tempered` names. Classes: log-probabilities divided by T, zeros stay zero. Normal
    distributions: variances and covariances times T. `predictions.MultivariatePowerExponential`: scale matrices times
    ``T^(1/beta)``. `Laplace`: scale times T. `StudentT`: df becomes ``(df + 1) / T - 1``. With respect to ``dy / y``,
    or ``dy / (y (1 - y))``, which keep means or medians: `LogNormal` (sigma^2 times T), `Gamma`, `Beta` and `Dirichlet`
    (parameters over T). `Binomial`: the logit of p over T. `Mixture`: every component, with the weights unchanged,
    which is not the power of the density; a note says so.

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


class TemperatureScaling:
    """Recalibrate predictions by one temperature T > 0: ``q ~ p^(1/T)``.

    T above 1 makes over-confident (too narrow) predictions wider, T below 1 the reverse. The most probable class and
    the mean of a normal distribution stay, so accuracy and mean squared error do not change. `tempered` says what that
    is for every family that has temperatures.

    Parameters
    ----------
    objective : {"log score", "skce"} or SKCE
        What T minimises. ``log score``: mean of ``-log q_i(y_i)``, which is convex in 1/T for classes, normal and
        Laplace distributions. ``skce``: the biased squared kernel calibration error, with lengthscales fixed from
        the predictions at T = 1. An `SKCE` with other kernels can be passed.
    bounds : (float, float)
        Temperatures that a search may take. Closed forms need none; of `StudentT` a search ends below the least df + 1.

    Attributes
    ----------
    temperature_ : float
        T.
    converged_ : bool
        Whether an optimum was found inside the bounds; always True for closed forms.
    n_iterations_ : int
        Steps of the search, 0 for closed forms.

    Raises
    ------
    InputError
        In `fit`: for families without temperatures, for a label of probability 0 (log score), and for bad options.

    Warns
    -----
    KernelcalWarning
        If T runs to a bound, as for classes that are separated perfectly.

    See Also
    --------
    kernelcal.recalibration.tempered : predictions at a given temperature.

    Notes
    -----
    Fit on rows that the model was not trained on, and test on rows that were not used in the fit: on the same rows the
    p-value of a calibration test is too large.

    Closed forms: mean of z^2 (`Normal`, `LogNormal`), of the squared Mahalanobis distance over d (vectors), of ``|y -
    m| / b`` (`Laplace`). Classes: a root of the derivative, found in about 10 steps of O(n m). Other families and
    ``skce``: the minimum next to T = 1, downhill on a grid of four temperatures a decade and refined by Brent's method.
    It need not be the only one: a calibration error does not ask for sharpness, and where classes are equally frequent,
    equal probabilities (T to infinity) are calibrated too.

    Parameters are read and set as in scikit-learn (`get_params`, `set_params`), so its ``clone`` works; targets come
    first, as everywhere in kernelcal.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Appendix F; Guo et al. (2017).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.recalibration import TemperatureScaling
    >>> scaling = TemperatureScaling().fit([1.0, -3.0], kc.Normal([0.0, 0.0], 1.0))
    >>> scaling.temperature_
    5.0
    >>> scaling.transform(kc.Normal([7.0], [2.0])).std.round(4)
    array([4.4721])
    """

    temperature_: float
    converged_: bool
    n_iterations_: int

    def __init__(self, objective: str | SKCE = "log score", *, bounds: tuple[float, float] = (1e-3, 1e3)) -> None:
        self.objective = objective
        self.bounds = bounds

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({options})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options, as scikit-learn asks for them."""
        return {"objective": self.objective, "bounds": self.bounds}

    def set_params(self, **params: Any) -> Self:
        """Set options and return the object."""
        for name, value in params.items():
            if name not in self.get_params():
                raise InputError(f"TemperatureScaling has no option {name!r}; its options are objective, bounds")
            setattr(self, name, value)
        return self

    def fit(self, y: Any, predictions: Any, *, weights: Any = None) -> Self:
        """Find the temperature.

        Parameters
        ----------
        y : array of shape (n, ...)
            Targets.
        predictions : Predictions or what `as_predictions` takes
            Predictions of a family that has temperatures.
        weights : array of shape (n,), optional
            Case weights, not negative.

        Returns
        -------
        TemperatureScaling
            The object itself.
        """
        (low, high), statistic = _checked_bounds(self.bounds), _statistic_of(self.objective)
        case = Case.of(y, predictions, weights=weights).in_numpy
        most = case.predictions.largest_temperature
        high = min(high, most * (1 - 1e-9))  # where powers are distributions
        if low >= high:
            raise InputError(
                f"bounds begin at {low:g}, and from {most:g} on the power of a density of "
                f"{type(case.predictions).__name__} is no distribution: begin below, such as bounds=(1e-3, 1e3)"
            )
        fit = _fit(case, statistic, (low, high))
        if fit.warning:
            warnings.warn(fit.warning, KernelcalWarning, stacklevel=2)
        self.temperature_, self.converged_, self.n_iterations_ = fit.temperature, fit.converged, fit.iterations
        return self

    def transform(self, predictions: Any) -> Any:
        """Return the predictions at the fitted temperature, in the family, library and class names that were given.

        Raises
        ------
        InputError
            Before `fit`, and for families that have no temperature.
        """
        if not hasattr(self, "temperature_"):
            raise InputError("this TemperatureScaling has no temperature yet: call fit(y, predictions) first")
        return tempered(as_predictions(predictions), self.temperature_)

    def fit_transform(self, y: Any, predictions: Any, *, weights: Any = None) -> Any:
        """Fit, and return the same predictions at the fitted temperature."""
        return self.fit(y, predictions, weights=weights).transform(predictions)


def _statistic_of(objective: Any) -> SKCE | None:
    """Error that is made small; None for the log score."""
    if isinstance(objective, str) and objective == "log score":
        return None
    statistic = SKCE(estimator="biased") if isinstance(objective, str) and objective == "skce" else objective
    if not isinstance(statistic, SKCE):
        raise InputError(f"objective must be 'log score', 'skce' or a kernelcal.SKCE, got {objective!r}")
    return statistic


def _fit(case: Case, statistic: SKCE | None, bounds: tuple[float, float]) -> Fit:
    batch = case.predictions
    if statistic is None:
        return _log_score_fit(batch, case.targets, np.ones(len(case)) if case.weights is None else case.weights, bounds)
    tempered(batch, 1.0)  # refuses a family before the error is computed
    fixed = statistic.resolved(batch, case.weights)

    def error(temperature: float) -> float:
        return float(fixed.estimated(replace(case, predictions=tempered(batch, temperature))))

    return _search(error, bounds, "SKCE")


def _checked_bounds(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(b) for b in bounds)
    except (TypeError, ValueError):
        low = high = math.nan
    if not 0 < low < high < math.inf:
        raise InputError(f"bounds must be two temperatures, 0 < lowest < highest, such as (1e-3, 1e3), got {bounds!r}")
    return low, high


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


def _at_bound(bound: float, which: str, why: str) -> str:
    """Warn of a temperature that ran to a bound."""
    return (
        f"the temperature ran to its bound {bound:g}, the {which} that is tried, and did not converge: {why}. "
        "TemperatureScaling(bounds=...) moves the bounds"
    )


def _log_score_fit(predictions: Predictions, y: np.ndarray, weights: np.ndarray, bounds: tuple[float, float]) -> Fit:
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

    return _search(loss, bounds, "log score")


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
    return _at_bound(bound, "smallest", why)


def _no_root_above(bound: float) -> str:
    why = (
        "the predictions do no better than equal probabilities for all classes. Are labels and classes in the same "
        "order, and targets and predictions in the same rows?"
    )
    return _at_bound(bound, "largest", why)


def _search(loss: Callable[[float], float], bounds: tuple[float, float], name: str) -> Fit:
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
            return Fit(bound, False, steps + int(found.nfev), _at_bound(bound, which, f"the {name} falls up to it"))
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
