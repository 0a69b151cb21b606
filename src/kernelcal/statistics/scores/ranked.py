"""Continuous ranked probability score."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import RealPredictions
from kernelcal.statistics.scores.components import coordinate

__all__ = ["crps", "crps_of", "crps_rows", "crps_rows_of"]


def crps(y: Any, predictions: Any, *, weights: Any = None, fair: bool = False) -> float:
    """Mean continuous ranked probability score, in the unit of the target; smaller is better.

    ``CRPS(F, y) = integral of (F(x) - 1[y <= x])^2 dx = E|X - y| - E|X - X'| / 2``. Of a point prediction it is the
    absolute error. For vector targets the mean over the coordinates of the score of each coordinate's own distribution;
    it does not see their dependence.

    Parameters
    ----------
    y : array of shape (n, ...)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of numbers; of vectors: normal vectors, `Samples` and mixtures of them.
    weights : array of shape (n,), optional
        Case weights, not negative.
    fair : bool
        Only for `Samples`. False (default): the score of the draws as a distribution. True: the unbiased estimate
        of the score of the distribution that the draws come from, ``E|X - X'|`` over pairs of different draws; use it
        to compare ensembles of different sizes.

    Returns
    -------
    float

    Raises
    ------
    InputError
        For families without a distribution function or mean, vectors without known coordinates, and ``fair=True`` where
        there are no draws or a row has one draw.

    Notes
    -----
    A family has the score as its method `crps`. Exact up to rounding: `Normal`, `Laplace`, `StudentT`, `Gamma`,
    `LogNormal`, `Beta`, `Uniform`, `Poisson`, `Samples` (O(S log S) a row), `Quantiles` (the integral over its
    piecewise linear distribution function and its tails) and mixtures of normals (O(K^2) a row); of `Dirichlet` the
    mean over its shares. `NegativeBinomial` and `Binomial`: one integral by the trapezoidal rule, error about 1e-12 of
    the mean. Other mixtures: Gauss-Legendre quadrature between the quantiles of the components, relative error about
    1e-9; of counts a sum up to a remaining probability of 1e-15.

    References
    ----------
    Gneiting, Raftery (2007), section 4.2; Grimit, Gneiting, Berrocal, Johnson (2006) for mixtures; Jordan, Krueger,
    Lerch (2019) for the other closed forms; Ferro (2014) for ``fair``.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import crps
    >>> round(crps([0.0], kc.Normal([0.0], [1.0])), 6)
    0.233695
    """
    return crps_of(Case.of(y, predictions, weights=weights), fair=fair)


def crps_of(case: Case, *, fair: bool = False) -> float:
    """Mean score of what was checked already."""
    return case.mean(crps_rows_of(case, fair=fair))


def crps_rows(y: Any, predictions: Any, *, fair: bool = False) -> np.ndarray:
    """Score of every row, shape (n,): see `crps`.

    Examples
    --------
    >>> from kernelcal.predictions import Samples
    >>> from kernelcal.statistics import crps_rows
    >>> crps_rows([0.0, 0.0], Samples([[1.0, 1.0], [-1.0, 1.0]]))
    array([1. , 0.5])
    """
    return crps_rows_of(Case.of(y, predictions), fair=fair)


def crps_rows_of(case: Case, *, fair: bool = False) -> np.ndarray:
    """Score of every row of what was checked already."""
    targets, batch = case.targets, case.of_numbers().in_numpy.predictions
    if len(batch.event_shape) > 1:
        raise InputError(f"crps takes numbers and vectors, got targets of shape {batch.event_shape}")
    if batch.event_shape:
        return np.mean([_rows(targets[:, k], coordinate(batch, k), fair) for k in range(batch.dimension)], axis=0)
    return _rows(targets, batch, fair)


def _rows(y: np.ndarray, predictions: RealPredictions, fair: bool) -> np.ndarray:
    return predictions.fair_crps(y) if fair else predictions.crps(y)
