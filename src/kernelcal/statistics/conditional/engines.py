"""The engines of the CKCE: exact pairs, or low rank in place of K by Fourier features or a pivoted Cholesky factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, like, namespace, row_slices
from kernelcal.errors import InputError
from kernelcal.kernels import AlignedPairs, Euclidean, Kernel, Linear, Points, Scaled, Stationary, Sum, positive
from kernelcal.pairs import BlockPoints, ExactPairs, RandomFourier, Tile
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.randomness import generator_of
from kernelcal.residuals import residual_of
from kernelcal.statistics.conditional.kernel import MeanEmbedding, mean_features, refuse_not_finite

__all__ = [
    "ConditionalEngine",
    "Features",
    "IncompleteCholesky",
    "fourier_features",
    "incomplete_cholesky",
    "pivoted_factor",
    "refuse_other_engines",
]


@dataclass(frozen=True)
class IncompleteCholesky:
    """Pivoted incomplete Cholesky factor of the kernel matrix, ``K ~ G'G`` with G of few rows: an engine of the `CKCE`.

    Parameters
    ----------
    tolerance : float
        Share of the trace of K that may be left out; the CKCE is then wrong by at most
        ``3 tolerance tr(K) tr(R) / (lambda n)^2``, and in practice by far less.
    rank : int, optional
        Most rows of G; the result says what share of the trace is left out. Default: as many as the tolerance takes.

    Raises
    ------
    InputError
        For a tolerance that is not positive, and a rank that is no whole number from 1 on.

    Notes
    -----
    Works for every kernel that is positive definite. Cost for n rows, m features of the targets and rank D:
    n D (m + D) multiplications and 8 n D bytes once, n D m for every set of targets.

    References
    ----------
    Fine and Scheinberg (2001), Efficient SVM training using low-rank kernel representations.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = [0, 1, 1, 2], [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]]
    >>> estimate = kc.ckce(y, p, engine=kc.IncompleteCholesky(rank=2))
    >>> estimate.engine.split(",")[0]
    'incomplete Cholesky factor of rank 2'
    >>> abs(float(kc.ckce(y, p, engine=kc.IncompleteCholesky(tolerance=1e-12))) - float(kc.ckce(y, p))) < 1e-10
    True
    """

    tolerance: float = 1e-4
    rank: int | None = None

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        if self.rank is not None:
            _refuse_no_count("rank", self.rank, 1)


ConditionalEngine = ExactPairs | RandomFourier | IncompleteCholesky


def refuse_other_engines(engine: Any) -> None:
    """Refuse what does not compute a CKCE; the seed of frequencies is a number, for they are drawn more than once."""
    if not isinstance(engine, ConditionalEngine):
        raise InputError(
            "engine of a CKCE must be ExactPairs(), RandomFourier(100) or IncompleteCholesky(), all of kernelcal, got "
            f"{engine!r}"
        )
    if isinstance(engine, RandomFourier):
        _refuse_no_count("frequencies", engine.frequencies, 1)
        _refuse_no_count("rng", engine.rng, 0)


def _refuse_no_count(name: str, given: Any, least: int) -> None:
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not (whole and given >= least):
        raise InputError(f"{name} must be a whole number, at least {least}, got {given!r}")


Features = Callable[[slice], Array]  # rows -> their features, shape (rows, D)
_DIAGONAL_ROWS = 4096
_COLUMNS = 32  # of the worst rows, of which a dozen serve
_NEGATIVE = -1e-8  # of the largest diagonal entry: below, it is no rounding


def fourier_features(kernel: Kernel, predictions: Predictions, frequencies: int, rng: int) -> Features:
    """``[p, cos(w.p) / sqrt(D), sin(w.p) / sqrt(D)]``: the linear parts as they are, profiles by their spectrum."""
    parts = _parts(kernel, predictions, frequencies, generator_of(rng, "random Fourier features of the CKCE"))

    def features(rows: slice) -> Array:
        found = [part(rows) for part in parts]
        return namespace(*found).concat(found, axis=1)

    return features


def _parts(kernel: Kernel, predictions: Predictions, size: int, rng: np.random.Generator) -> list[Features]:
    if isinstance(kernel, Sum):
        return [p for k in (kernel.left, kernel.right) for p in _parts(k, predictions, size, rng)]
    if isinstance(kernel, Scaled):
        root, inside = kernel.factor**0.5, _parts(kernel.kernel, predictions, size, rng)
        return [lambda rows, part=part: root * part(rows) for part in inside]  # type: ignore[misc]
    if isinstance(kernel, Stationary):
        return [_waves(kernel, predictions, size, rng)]
    x = _linear(kernel, predictions)
    return [lambda rows: x[rows, ...]]


def _waves(kernel: Stationary, predictions: Predictions, size: int, rng: np.random.Generator) -> Features:
    x = Points(predictions).coordinates(kernel.metric)
    xp, w = namespace(x), like(kernel.frequencies(rng, size, x.shape[1]).T, x)
    amplitude = (kernel.amplitude / size) ** 0.5

    def features(rows: slice) -> Array:
        phase = x[rows, ...] @ w
        return xp.concat([amplitude * xp.cos(phase), amplitude * xp.sin(phase)], axis=1)

    return features


def _linear(kernel: Kernel, predictions: Predictions) -> Array:
    if isinstance(kernel, Linear):
        return Euclidean().coordinates(predictions)
    if isinstance(kernel, MeanEmbedding):
        means = mean_features(residual_of(predictions, kernel.kernel, None, kernel.integrator), kernel.kernel)
        if means is not None:
            return means
        cure = "target_kernel=kernelcal.kernels.Spectral(kernelcal.Gaussian()) or prediction_kernel=Gaussian()"
    else:
        cure = "sums of Linear() and profiles such as Gaussian()"
    raise InputError(
        f"{kernel} has no Fourier features: use {cure}, or engine=kernelcal.IncompleteCholesky(), which serves any "
        "kernel"
    )


def incomplete_cholesky(
    kernel: Kernel, predictions: Predictions, roots: np.ndarray | None, tolerance: float, rank: int | None
) -> tuple[np.ndarray, float]:
    """Pivoted incomplete Cholesky factor of the kernel matrix of predictions, times the roots of their weights."""
    weights, points = np.ones(len(predictions)) if roots is None else roots, BlockPoints(predictions)

    def columns(rows: np.ndarray) -> np.ndarray:
        values = kernel.evaluate(Tile(points, rows, slice(None), shared=False))
        return np.asarray(values * weights * weights[rows, None])

    at_once = _COLUMNS if isinstance(predictions, ClassPredictions) else 1  # kernel values of numbers may cost more
    return pivoted_factor(columns, _diagonal(kernel, predictions) * weights**2, tolerance, rank, kernel, at_once)


def pivoted_factor(
    columns: Callable[[np.ndarray], np.ndarray],
    diagonal: np.ndarray,
    tolerance: float,
    rank: int | None,
    kernel: Kernel,
    at_once: int = 1,
) -> tuple[np.ndarray, float]:
    """Pivoted incomplete Cholesky factor G of shape (rank, n), ``A ~ G'G``, and the share of the trace it leaves out.

    ``A - G'G`` is positive semi-definite, so its trace bounds its norm. Each step takes the row that is worst
    explained, until the trace that is left is at most `tolerance` times that of A, or `rank` is reached. What earlier
    steps leave of the columns of the `at_once` worst rows is found by one product, which serves until another row is
    worst.
    """
    n, left = len(diagonal), diagonal.copy()
    trace, largest = left.sum(), left.max()
    factor, begun = np.empty((64, n)), 0
    place: dict[int, int] = {}
    rest = np.empty((0, n))
    for k in range(min(n, rank or n)):
        pivot = int(np.argmax(left))
        _refuse_negative(kernel, left, largest)
        if left.sum() <= tolerance * trace or left[pivot] <= 1e-14 * largest:
            return factor[:k], max(float(left.sum() / trace), 0.0)
        if k == len(factor):
            factor = np.concatenate([factor, np.empty_like(factor)])
        if pivot not in place:
            worst = np.array([pivot]) if at_once == 1 else np.argpartition(left, -min(at_once, n))[-min(at_once, n) :]
            worst[0] = pivot if pivot not in worst else worst[0]  # of equally bad rows
            place, begun = {int(row): j for j, row in enumerate(worst)}, k
            rest = columns(worst) - factor[:k, worst].T @ factor[:k]
        own = rest[place[pivot]] - factor[begun:k, pivot] @ factor[begun:k]
        factor[k] = own / left[pivot] ** 0.5
        left -= factor[k] ** 2
        left[pivot] = 0.0
    return factor[: min(n, rank or n)], max(float(left.sum() / trace), 0.0)


def _diagonal(kernel: Kernel, predictions: Predictions) -> np.ndarray:
    points, parts = Points(predictions), row_slices(len(predictions), _DIAGONAL_ROWS)
    values = np.concatenate([np.asarray(kernel.evaluate(AlignedPairs(points, part, part))) for part in parts])
    refuse_not_finite(kernel, values)
    return values.astype(np.float64)


def _refuse_negative(kernel: Kernel, left: np.ndarray, largest: float) -> None:
    if not left.min() >= _NEGATIVE * largest or not largest > 0:
        raise InputError(
            f"{kernel} is not positive definite over these predictions: choose another metric or profile, such as "
            "Gaussian()"
        )
