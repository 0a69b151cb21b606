"""Lengthscale of the target kernel inside a distance between predictions: the second-order median heuristic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import Array, concrete, row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import IsotropicNormal, Normal, RealPredictions, Samples, as_predictions
from kernelcal.randomness import generator_of

__all__ = ["chi_medians", "ground_lengthscale"]


_SECANTS, _STEPS = 25, 100  # after so many secants bisection takes over

_PRECISION = 1e-11  # relative size of the last step; a secant that small leaves an error of rounding only

_NOTHING = 1e-20

_OUT_OF_REACH = 38.5  # the normal distribution function at minus this is 0 in float64

_DRAWS = 50  # of each of the two draws Z and Z'

_NUMBERS_AT_ONCE = 2**20  # 8 MiB of differences of draws


def ground_lengthscale(predictions: Any, max_pairs: int | None = 5000, rng: int = 0) -> float:
    """Median over pairs of predictions of the median distance of two draws of their equal mixture.

    The usual first choice of the lengthscale of the target kernel in `MMD` and `KernelFisherDivergence`: at this
    distance two outcomes differ, of one prediction or of two. In the unit of the targets.

    Parameters
    ----------
    predictions : Predictions or what `as_predictions` takes
        Predictions of numbers or vectors. The observed targets are not looked at.
    max_pairs : int or None
        Above this many pairs of different rows, as many pairs are drawn at random; None takes all.
    rng : int or numpy.random.Generator
        Source of the pairs and of draws.

    Returns
    -------
    float
        Positive; 1.0 if no two draws differ.

    Raises
    ------
    InputError
        For class predictions, for families without draws, and inside ``jax.jit``.

    Notes
    -----
    With independent Z and Z' from ``(P_i + P_j) / 2`` the median of ``|Z - Z'|`` is a root of a mixture of chi
    distributions for `Normal` and `IsotropicNormal`, found to rounding: about 20 milliseconds for 5,000 pairs. Other
    families give 200 seeded distances a pair, a fourth of them inside each of the two predictions and half across. The
    one row of a batch is paired with itself.

    References
    ----------
    Glaser, Widmann, Lindsten, Gretton (2023), Sec. 6.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import ground_lengthscale
    >>> round(ground_lengthscale(kc.Normal([0.0, 0.0, 0.0], 1.0)), 4)  # sqrt(2) times 0.6745
    0.9539
    """
    batch = as_predictions(predictions)
    if not isinstance(batch, RealPredictions):
        raise InputError(
            f"ground_lengthscale is a distance between outcomes that are numbers; {type(batch).__name__} predicts "
            "classes: use kernelcal.median_lengthscale"
        )
    if max_pairs is not None and (not isinstance(max_pairs, int | np.integer) or max_pairs < 1):
        raise InputError(f"max_pairs must be a positive whole number or None, got {max_pairs!r}")
    if len(batch) == 0:
        raise InputError("ground_lengthscale needs at least one prediction, got none")
    source = generator_of(rng, "pairs of a lengthscale of outcomes")
    i, j = _pairs(len(batch), max_pairs, source)
    medians = _chi(batch, i, j) if isinstance(batch, Normal | IsotropicNormal) else _drawn(batch, i, j, source)
    return float(np.median(medians[medians > 0])) if (medians > 0).any() else 1.0


def _pairs(n: int, max_pairs: int | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of different rows, or as many as are wanted at random."""
    if n == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    if max_pairs is None or n * (n - 1) // 2 <= max_pairs:
        return np.triu_indices(n, 1)
    i = rng.integers(n, size=max_pairs)
    return i, (i + rng.integers(1, n, size=max_pairs)) % n


def _chi(predictions: Normal | IsotropicNormal, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Medians of isotropic normals, by roots."""
    shape = (len(predictions), predictions.dimension)
    scale = predictions.std if isinstance(predictions, Normal) else predictions.scale
    mean, scale = (_values(x) for x in (predictions.mean, scale))
    difference = mean.reshape(shape)[i] - mean.reshape(shape)[j]
    return chi_medians(scale[i], scale[j], np.linalg.norm(difference, axis=1), shape[1])


def _drawn(predictions: RealPredictions, i: np.ndarray, j: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Medians of distances between draws, which all pairs share."""
    predictions.map_arrays(_known)
    rows, places = np.unique(np.stack([i, j]), return_inverse=True)
    left, right = places.reshape(2, -1)
    draws = _drawable(predictions)[rows].sample(rng, 2 * _DRAWS).astype(np.float64)
    draws = np.moveaxis(draws.reshape(2, _DRAWS, len(rows), predictions.dimension), 2, 0)
    one, two = draws[:, 0], draws[:, 1]  # two independent draws of every row, shape (rows, draws, d)
    inside = np.linalg.norm(one - two, axis=-1)
    medians = []
    for part in row_slices(len(i), _NUMBERS_AT_ONCE // (_DRAWS * predictions.dimension)):
        a, b = left[part], right[part]
        across = [np.linalg.norm(x[a] - y[b], axis=-1) for x, y in ((one, two), (two, one))]
        medians.append(np.median(np.concatenate([inside[a], inside[b], *across], axis=1), axis=1))
    return np.concatenate(medians)


def _drawable(predictions: RealPredictions) -> RealPredictions:
    """Predictions that can be drawn from: a score-only batch by its sampler, or by the draws that it was given."""
    draws = getattr(predictions, "draws", None)
    if isinstance(draws, Samples):
        return draws
    if not predictions.drawable:
        raise InputError(
            f"{type(predictions).__name__} has neither a sampler nor draws whose distances could be measured: give the "
            "lengthscale as a number, of the size of the distance between two outcomes"
        )
    return predictions


def _values(x: Array) -> np.ndarray:
    return to_numpy(_known(x)).astype(np.float64)


def _known(x: Array) -> Array:
    if concrete(x) is None:
        raise InputError("a lengthscale from predictions needs values, which jax.jit does not have: give a number")
    return x


def chi_medians(first: np.ndarray, second: np.ndarray, apart: np.ndarray, dimension: int) -> np.ndarray:
    """Medians of ``|Z - Z'|`` for independent Z, Z' of ``N(m, s^2 I) / 2 + N(m', s'^2 I) / 2``, shape (k,).

    Both draws come from the first half with probability 1/4, from the second with 1/4, else from different halves:
    ``F(r) = 1/4 C(r / (sqrt(2) s)) + 1/4 C(r / (sqrt(2) s')) + 1/2 C(r / t; |m - m'| / t)``, where ``t^2 = s^2 + s'^2``
    and C is the distribution function of a chi variable of d degrees of freedom, central or not.

    Parameters
    ----------
    first, second : array of shape (k,)
        Standard deviations s and s'.
    apart : array of shape (k,)
        Distances ``|m - m'|``.
    dimension : int
        d.
    """
    unit = np.maximum(first, second)
    first, second, apart = first / unit, second / unit, apart / unit
    start, highest = _approximate(first, second, apart, dimension)

    def function(r: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        return _imbalance(r, first[pairs], second[pairs], apart[pairs], dimension)

    with np.errstate(over="ignore"):  # distributions out of each other's reach
        return unit * _roots(function, start, highest)


def _imbalance(r: np.ndarray, first: np.ndarray, second: np.ndarray, apart: np.ndarray, dimension: int) -> np.ndarray:
    """Logarithm of how often different halves are nearer than r, minus that of how often one half is farther.

    It increases, and is 0 where F is 1/2. Logarithms keep digits where far halves leave a gap that holds little mass.
    """
    between = np.hypot(first, second)
    nearer = _nearer(r / between, apart / between, dimension)
    farther = 0.5 * (_farther(r / (math.sqrt(2) * first), dimension) + _farther(r / (math.sqrt(2) * second), dimension))
    empty = (nearer < _NOTHING) & (farther < _NOTHING)  # to all digits of float64 every point of the gap is a median
    with np.errstate(divide="ignore"):
        return np.log(np.where(empty, 1.0, nearer)) - np.log(np.where(empty, 1.0, farther))


def _nearer(r: np.ndarray, centre: np.ndarray, dimension: int) -> np.ndarray:
    """Distribution function of the noncentral chi variable."""
    from scipy.special import chndtr, ndtr  # imported when needed: the import of kernelcal stays light

    if dimension == 1:
        return ndtr(r - centre) - ndtr(-r - centre)
    reached = centre - r < _OUT_OF_REACH  # beyond, the value is 0, which takes long
    return np.where(reached, chndtr(r**2, dimension, np.where(reached, centre, 0.0) ** 2), 0.0)


def _farther(r: np.ndarray, dimension: int) -> np.ndarray:
    """One minus the distribution function of the chi variable."""
    from scipy.special import erfc, gammaincc

    return erfc(r / math.sqrt(2)) if dimension == 1 else gammaincc(dimension / 2, 0.5 * r**2)


def _approximate(
    first: np.ndarray, second: np.ndarray, apart: np.ndarray, dimension: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where normal laws in place of the chi laws put the median, and a bound: a root mean square is above a median."""
    widest, between = np.maximum(first, second), np.hypot(first, second)
    inside, across = math.sqrt(2 * dimension) * widest, np.hypot(math.sqrt(dimension) * between, apart)
    spread = between * np.hypot(math.sqrt(dimension) * between, math.sqrt(2) * apart) / (math.sqrt(2) * across)
    return (inside / widest + across / spread) / (1 / widest + 1 / spread), np.maximum(inside, across)


def _roots(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray], start: np.ndarray, highest: np.ndarray
) -> np.ndarray:
    """Roots of increasing functions between 0 and a bound, all at once: secants inside a bracket, for what is left."""
    roots, left = start.copy(), np.arange(len(start))
    low, high, before, root = np.zeros_like(start), highest, start * (1 - 1e-3), start
    value_before = function(before, left)
    for step in range(_STEPS):
        value = function(root, left)
        low, high = np.where(value <= 0, root, low), np.where(value >= 0, root, high)
        new = _next(value, root, value_before, before, 0.5 * (low + high), step >= _SECANTS)
        new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        roots[left] = new
        more = np.abs(new - root) > _PRECISION * root
        if not more.any():
            break
        left, low, high = left[more], low[more], high[more]
        before, value_before, root = root[more], value[more], new[more]
    return roots


def _next(
    value: np.ndarray, root: np.ndarray, value_before: np.ndarray, before: np.ndarray, middle: np.ndarray, bisect: bool
) -> np.ndarray:
    """Where the secant is 0, or the middle of the bracket; a root that is met stays."""
    with np.errstate(divide="ignore", invalid="ignore"):
        secant = root - value * (root - before) / (value - value_before)
    sloped = np.isfinite(secant) & np.isfinite(value_before) & (not bisect)
    return np.where(value == 0, root, np.where(sloped, secant, middle))
