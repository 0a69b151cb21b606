"""Proper scores of vectors: energy score and variogram score, of draws, normal vectors and mixtures of these."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Mixture, RealPredictions, Samples, VectorNormal

__all__ = [
    "energy_score",
    "energy_score_of",
    "energy_score_rows",
    "energy_score_rows_of",
    "energy_scores",
    "variogram_score",
    "variogram_score_of",
    "variogram_score_rows",
    "variogram_score_rows_of",
    "variogram_scores",
]


_NUMBERS = 2**21  # differences that are held at once
_STEP, _REACH = 0.2, 31.0  # of the trapezoidal rule in log t over 2, and how far it goes on either side
_FAR = 40.0  # squared ratio of mean and standard deviation beyond which moments come from their series


def energy_score(y: Any, predictions: Any, *, weights: Any = None, fair: bool = False) -> float:
    """Mean energy score ``E|X - y| - E|X - X'| / 2`` with Euclidean distances; smaller is better.

    The CRPS of vectors, and the CRPS itself of numbers. It has the unit of the targets: components of different units
    are to be brought to one before. It sees wrong means and widths well, and wrong dependence weakly.

    Parameters
    ----------
    y : array of shape (n, d)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        `Samples` of shape (n, S, d), normal vectors, mixtures of normal vectors, or predictions of one number.
    weights : array of shape (n,), optional
        Case weights, not negative.
    fair : bool
        Only for `Samples`. False (default): the score of the draws as a distribution. True: the unbiased estimate of
        the score of the distribution that they come from, ``E|X - X'|`` over pairs of different draws.

    Raises
    ------
    InputError
        For families whose expected distances are not known, and ``fair=True`` where there are no draws, or one.

    Notes
    -----
    Cost: S^2 d a row of S draws. Of normal vectors with the covariance C the expected length is the integral
    ``E|Z| = (4 pi)^(-1/2) int_0^inf (1 - E exp(-t |Z|^2)) t^(-3/2) dt``, whose expectation is known in the eigenvectors
    of C; the trapezoidal rule in log t has an error of about 1e-13.

    References
    ----------
    Gneiting, Raftery (2007), section 4.3; Ferro (2014) for ``fair``.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.statistics.vectors import energy_score
    >>> energy_score([[0.0, 0.0]], kc.Samples([[[3.0, 4.0], [3.0, 4.0]]]))
    5.0
    >>> round(energy_score([[0.0, 0.0]], kc.MultivariateNormal([[0.0, 0.0]], np.eye(2))), 6)
    0.367087
    """
    return energy_score_of(Case.of(y, predictions, weights=weights), fair=fair)


def energy_score_of(case: Case, *, fair: bool = False) -> float:
    """Mean score of what was checked already."""
    return case.mean(energy_score_rows_of(case, fair=fair))


def energy_score_rows(y: Any, predictions: Any, *, fair: bool = False) -> np.ndarray:
    """Score of every row, shape (n,): see `energy_score`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics.vectors import energy_score_rows
    >>> energy_score_rows([[0.0, 0.0], [0.0, 2.0]], kc.Samples([[[0.0, 0.0], [0.0, 2.0]]] * 2))
    array([0.5, 0.5])
    """
    return energy_score_rows_of(Case.of(y, predictions), fair=fair)


def energy_score_rows_of(case: Case, *, fair: bool = False) -> np.ndarray:
    """Score of every row of what was checked already."""
    batch, y = _vectors(case, "the energy score")
    if fair and not isinstance(batch, Samples):
        raise InputError(f"fair=True is for draws (kernelcal.Samples), got {type(batch).__name__}: leave it out")
    if not batch.event_shape:
        return batch.fair_crps(y) if fair else batch.crps(y)
    return energy_scores(batch, fair=fair)(y)


Scores = Callable[[np.ndarray], np.ndarray]


def energy_scores(batch: RealPredictions, *, fair: bool = False) -> Scores:
    """Return the function that scores targets of shape (..., n, d); what the predictions say is computed once."""
    if isinstance(batch, Samples):
        return _of_draws(batch, fair=fair)
    return _of_normals(*_components(batch, "the energy score"))


def variogram_score(y: Any, predictions: Any, *, weights: Any = None, order: float = 0.5) -> float:
    """Mean variogram score ``sum_ij (|y_i - y_j|^p - E|X_i - X_j|^p)^2`` over ordered pairs of components.

    It sees wrong dependence between components, which the energy score hardly does; it does not see a shift that all
    components share. Smaller is better.

    Parameters
    ----------
    y : array of shape (n, d)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        `Samples` of shape (n, S, d), normal vectors, or mixtures of normal vectors.
    weights : array of shape (n,), optional
        Case weights, not negative.
    order : float
        The power p, above 0.

    Raises
    ------
    InputError
        For predictions of one number, families whose expected differences are not known, and other powers.

    Notes
    -----
    Cost: S d^2 a row of S draws. Of normal vectors the expectations are absolute moments of normal numbers,
    ``E|Z|^p = s^p 2^(p/2) Gamma((p + 1) / 2) / sqrt(pi) 1F1(-p/2; 1/2; -m^2 / (2 s^2))``.

    References
    ----------
    Scheuerer, Hamill (2015).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics.vectors import variogram_score
    >>> variogram_score([[0.0, 1.0]], kc.Samples([[[0.0, 0.0], [0.0, 0.0]]]))
    2.0
    """
    return variogram_score_of(Case.of(y, predictions, weights=weights), order=order)


def variogram_score_of(case: Case, *, order: float = 0.5) -> float:
    """Mean score of what was checked already."""
    return case.mean(variogram_score_rows_of(case, order=order))


def variogram_score_rows(y: Any, predictions: Any, *, order: float = 0.5) -> np.ndarray:
    """Score of every row, shape (n,): see `variogram_score`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics.vectors import variogram_score_rows
    >>> variogram_score_rows([[0.0, 4.0]], kc.Samples([[[0.0, 1.0], [0.0, 9.0]]]))
    array([0.])
    """
    return variogram_score_rows_of(Case.of(y, predictions), order=order)


def variogram_score_rows_of(case: Case, *, order: float = 0.5) -> np.ndarray:
    """Score of every row of what was checked already."""
    if isinstance(order, bool) or not isinstance(order, int | float | np.number) or not 0 < order < np.inf:
        raise InputError(f"order must be a positive number, such as 0.5, got {order!r}")
    batch, y = _vectors(case, "the variogram score")
    if not batch.event_shape:
        raise InputError(
            "the variogram score compares components of vectors, and these predictions are of one number: use "
            "kernelcal.statistics.crps"
        )
    return variogram_scores(batch, order)(y)


def variogram_scores(batch: RealPredictions, order: float) -> Scores:
    """Return the function that scores targets of shape (..., n, d); what the predictions say is computed once."""
    if isinstance(batch, Samples):
        expected = _differences_of_draws(batch, order)
    else:
        expected = _differences_of_normals(*_components(batch, "the variogram score"), order)
    i, j = np.triu_indices(expected.shape[1], 1)

    def scores(y: np.ndarray) -> np.ndarray:
        return np.asarray(2 * ((np.abs(y[..., i] - y[..., j]) ** order - expected[:, i, j]) ** 2).sum(axis=-1))

    return scores


def _vectors(case: Case, what: str) -> tuple[RealPredictions, np.ndarray]:
    """Predictions in NumPy and targets in double precision."""
    batch = case.of_numbers().in_numpy.predictions
    if len(batch.event_shape) > 1:
        raise InputError(f"{what} takes vectors, got targets of shape {batch.event_shape}: give each row as one vector")
    return batch, np.asarray(case.targets, dtype=np.float64)


def _components(batch: Any, what: str) -> tuple[np.ndarray, list[VectorNormal]]:
    """Weights of shape (n, K) and the K normal vectors of a mixture; one of weight 1 of no mixture."""
    parts = batch.components if isinstance(batch, Mixture) else (batch,)
    if not all(isinstance(part, VectorNormal) for part in parts):
        raise InputError(
            f"{what} of {type(batch).__name__} is not known, of normal vectors, their mixtures and draws it is: draw "
            "from the predictions, kernelcal.Samples(np.moveaxis(predictions.sample(rng, 1000), 0, 1))"
        )
    if not isinstance(batch, Mixture):
        return np.ones((len(batch), 1)), [*parts]
    return np.broadcast_to(to_numpy(batch.weights).astype(np.float64), (len(batch), len(parts))), [*parts]


def _weights_of(batch: Samples) -> np.ndarray:
    """Weights of draws, shape (n, S), which sum to 1."""
    if batch.weights is None:
        return np.full((len(batch), batch.size), 1 / batch.size)
    weights = to_numpy(batch.weights).astype(np.float64)
    return weights / weights.sum(axis=1, keepdims=True)


def _of_draws(batch: Samples, *, fair: bool) -> Scores:
    draws, weights = to_numpy(batch.draws).astype(np.float64), _weights_of(batch)
    if fair and ((weights > 0).sum(axis=1) < 2).any():
        row = int(np.argmax((weights > 0).sum(axis=1) < 2))
        raise InputError(f"fair=True needs at least two draws of positive weight, row {row} has one")
    between = np.empty(len(draws))
    for part in row_slices(len(draws), max(1, _NUMBERS // (batch.size**2 * batch.dimension))):
        x, w = draws[part], weights[part]
        apart = np.linalg.norm(x[:, :, None] - x[:, None], axis=3)
        between[part] = np.einsum("ns,nst,nt->n", w, apart, w)
    between /= 2 * (1 - (weights**2).sum(axis=1) if fair else 1)

    def scores(y: np.ndarray) -> np.ndarray:
        distance = np.empty(y.shape[:-1])
        for part in row_slices(len(draws), max(1, _NUMBERS // (batch.size * int(np.prod(y.shape)) // len(draws) + 1))):
            away = np.linalg.norm(draws[part] - y[..., part, None, :], axis=-1)
            distance[..., part] = (weights[part] * away).sum(axis=-1)
        return distance - between

    return scores


def _of_normals(weights: np.ndarray, parts: list[VectorNormal]) -> Scores:
    means, covariances = zip(*map(_moments, parts), strict=True)
    between = np.zeros(len(weights))
    for k, j in zip(*np.tril_indices(len(parts)), strict=True):
        pair = _ExpectedLength(covariances[k] + covariances[j])(means[k] - means[j])
        between += weights[:, k] * weights[:, j] * pair * (0.5 if j == k else 1.0)
    lengths = [_ExpectedLength(covariance) for covariance in covariances]

    def scores(y: np.ndarray) -> np.ndarray:
        triples = zip(weights.T, lengths, means, strict=True)
        return np.asarray(sum(w * length(mean - y) for w, length, mean in triples) - between)

    return scores


def _moments(part: VectorNormal) -> tuple[np.ndarray, np.ndarray]:
    """Means (n, d) and covariances (n, d, d)."""
    d = part.dimension
    wide = part.map_arrays(lambda x: to_numpy(x).astype(np.float64))
    columns = np.stack([wide.spread(np.broadcast_to(e, (len(part), d))) for e in np.eye(d)], axis=-1)
    return np.asarray(wide.mean), columns @ np.swapaxes(columns, 1, 2)


class _ExpectedLength:
    """E|Z| of normal vectors with given covariances, by the integral in the notes of `energy_score`."""

    def __init__(self, covariance: np.ndarray) -> None:
        variances, self.axes = np.linalg.eigh(covariance)
        variances = np.maximum(variances, 0.0)
        spread = np.sqrt(variances.sum(axis=1))
        self.scale = np.where(spread > 0, spread, 1.0)
        self.variances = variances / self.scale[:, None] ** 2

    def __call__(self, mean: np.ndarray) -> np.ndarray:
        """Expected lengths for means of shape (..., n, d)."""
        squares = (np.einsum("...nd,nde->...ne", mean, self.axes) / self.scale[:, None]) ** 2
        far = math.log(max(1.0, float(squares.max(initial=0.0)))) / 2  # further to the left for means far from 0
        total = np.zeros(mean.shape[:-1])
        for x in np.arange(-_REACH - far, _REACH, _STEP):
            t = math.exp(2 * x)
            widened = 2 * t * self.variances
            exponent = np.einsum("...nd,nd->...n", squares, t / (1 + widened))
            total -= np.expm1(-exponent - 0.5 * np.log1p(widened).sum(axis=1)) * math.exp(-x)
        return np.asarray(self.scale * total * 2 * _STEP / math.sqrt(4 * math.pi))


def _differences_of_draws(batch: Samples, order: float) -> np.ndarray:
    """E|X_i - X_j|^p over the draws, shape (n, d, d)."""
    draws, weights = to_numpy(batch.draws).astype(np.float64), _weights_of(batch)
    expected = np.empty((len(draws), batch.dimension, batch.dimension))
    for part in row_slices(len(draws), max(1, _NUMBERS // (batch.size * batch.dimension**2))):
        apart = np.abs(draws[part, :, :, None] - draws[part, :, None]) ** order
        expected[part] = np.einsum("ns,nsij->nij", weights[part], apart)
    return expected


def _differences_of_normals(weights: np.ndarray, parts: list[VectorNormal], order: float) -> np.ndarray:
    """E|X_i - X_j|^p of a mixture of normal vectors, shape (n, d, d)."""
    expected = 0.0
    for k, part in enumerate(parts):
        mean, covariance = _moments(part)
        own = np.diagonal(covariance, axis1=1, axis2=2)
        variance = own[:, :, None] + own[:, None] - 2 * covariance
        moments = _absolute_moment(mean[:, :, None] - mean[:, None], np.sqrt(np.maximum(variance, 0.0)), order)
        expected = expected + weights[:, k, None, None] * moments
    return np.asarray(expected)


def _absolute_moment(mean: np.ndarray, std: np.ndarray, order: float) -> np.ndarray:
    """E|Z|^p of normal numbers; far from 0 by the series of ``(1 + s z / m)^p``, whose terms fall fast there."""
    from scipy.special import gamma, hyp1f1  # imported when needed: the import of kernelcal stays light

    spread = np.where(std > 0, std, 1.0)
    ratio = 0.5 * (mean / spread) ** 2
    near = np.minimum(ratio, _FAR)
    front = spread**order * 2 ** (order / 2) * gamma((order + 1) / 2) / math.sqrt(math.pi)
    by_function = front * hyp1f1(-order / 2, 0.5, -near)
    inverse = np.where(ratio > _FAR, spread / np.where(mean == 0, 1.0, mean), 0.0) ** 2
    term, series = np.ones_like(inverse), np.ones_like(inverse)
    for k in range(1, 13):  # E (1 + s z / m)^p = sum_k C(p, 2 k) (2 k - 1)!! (s / m)^(2 k)
        term = term * inverse * (order - 2 * k + 2) * (order - 2 * k + 1) / (2 * k)
        series = series + term
    far = np.abs(mean) ** order * series
    return np.where(std > 0, np.where(ratio > _FAR, far, by_function), np.abs(mean) ** order)
