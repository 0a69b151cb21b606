"""Predictions at another temperature: densities raised to the power 1/T and normalised."""

from __future__ import annotations

from typing import Any

__all__ = ["tempered"]


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
