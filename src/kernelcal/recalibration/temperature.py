"""Temperature scaling: one number that makes predictions wider or narrower."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError, KernelcalWarning
from kernelcal.predictions import as_predictions
from kernelcal.recalibration.fit import Fit, log_score_fit, search, tempered
from kernelcal.statistics import SKCE

__all__ = ["TemperatureScaling"]


class TemperatureScaling:
    """Recalibrate predictions by one temperature T > 0: ``q ~ p^(1/T)``.

    T above 1 makes over-confident (too narrow) predictions wider, T below 1 the reverse. The most probable class and
    the mean of a normal distribution stay, so accuracy and mean squared error do not change. Classes: log-probabilities
    are divided by T; normal distributions: covariances times T; `Laplace`: scales times T; `StudentT`: df becomes ``(df
    + 1) / T - 1``; `LogNormal`: sigma^2 times T; `Gamma`, `Beta`, `Dirichlet`: parameters over T, which keeps the mean;
    `Binomial`: the logit of p over T; `Mixture`: every component, with the weights unchanged, which is not the power of
    the mixture's density (a note on the predictions says so).

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
        In `fit`: for families other than these, for a label of probability 0 (log score), and for bad options.

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
            Predictions of one of the families above.
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
        return log_score_fit(batch, case.targets, np.ones(len(case)) if case.weights is None else case.weights, bounds)
    tempered(batch, 1.0)  # refuses a family before the error is computed
    fixed = statistic.resolved(batch, case.weights)

    def error(temperature: float) -> float:
        return float(fixed.estimated(replace(case, predictions=tempered(batch, temperature))))

    return search(error, bounds, "SKCE")


def _checked_bounds(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(b) for b in bounds)
    except (TypeError, ValueError):
        low = high = math.nan
    if not 0 < low < high < math.inf:
        raise InputError(f"bounds must be two temperatures, 0 < lowest < highest, such as (1e-3, 1e3), got {bounds!r}")
    return low, high
