"""Predictions at another temperature: densities raised to the power 1/T and normalised."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import numpy as np

from kernelcal.arrays import namespace
from kernelcal.errors import InputError
from kernelcal.predictions import (
    Bernoulli,
    Categorical,
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    Normal,
    trusted,
)

__all__ = ["tempered"]

_COMPONENTS = (
    "temperature scaling was applied to every component of the mixture, with the weights unchanged: this is not the "
    "density of the mixture to the power 1/T"
)


@singledispatch
def tempered(predictions: Any, temperature: float) -> Any:
    """Return predictions ``q ~ p^(1/T)`` of the family that was given.

    Classes: log-probabilities divided by T, zeros stay zero. Normal distributions: variances and covariances times T.
    `Laplace`: scale times T. `Mixture`: every component, with the weights unchanged and a note that says so.

    Parameters
    ----------
    predictions : Predictions
        Of one of these families, in any array library.
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
    raise InputError(
        "temperature scaling knows Bernoulli, Categorical, Normal, MultivariateNormal (full, diagonal, isotropic), "
        f"Laplace and Mixture of these, not {type(predictions).__name__}: the power of its distribution is not of its "
        "family"
    )


@tempered.register
def _(predictions: Categorical, temperature: float) -> Categorical:
    xp = namespace(predictions.probs)
    with np.errstate(divide="ignore"):  # the logarithm of 0 is -inf, and its exponential 0 again
        logs = xp.log(predictions.probs)
    powers = xp.exp((logs - xp.max(logs, axis=1, keepdims=True)) / temperature)
    return trusted(predictions, probs=powers / xp.sum(powers, axis=1, keepdims=True))


@tempered.register
def _(predictions: Bernoulli, temperature: float) -> Bernoulli:
    p = predictions.p
    xp, zero = namespace(p), namespace(p).zeros_like(p)
    with np.errstate(divide="ignore"):
        logits = (xp.log(p) - xp.log1p(-p)) / temperature
    up, down = xp.exp(xp.minimum(logits, zero)), xp.exp(-xp.maximum(logits, zero))
    return trusted(predictions, p=up / (up + down))


@tempered.register(Normal)
@tempered.register(DiagonalNormal)
def _(predictions: Any, temperature: float) -> Any:
    return trusted(predictions, std=predictions.std * math.sqrt(temperature))


@tempered.register
def _(predictions: IsotropicNormal, temperature: float) -> IsotropicNormal:
    return trusted(predictions, scale=predictions.scale * math.sqrt(temperature))


@tempered.register
def _(predictions: MultivariateNormal, temperature: float) -> MultivariateNormal:
    factor = predictions.factor * math.sqrt(temperature)
    return trusted(predictions, cov=predictions.cov * temperature, factor=factor)


@tempered.register
def _(predictions: Laplace, temperature: float) -> Laplace:
    return trusted(predictions, scale=predictions.scale * temperature)


@tempered.register
def _(predictions: Mixture, temperature: float) -> Mixture:
    components = tuple(tempered(part, temperature) for part in predictions.components)
    notes = tuple(dict.fromkeys((*predictions.notes, _COMPONENTS)))
    return trusted(predictions, components=components, notes=notes)
