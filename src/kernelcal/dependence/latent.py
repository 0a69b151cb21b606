"""Latent normal numbers behind outcomes: how strongly they depend, and uniform numbers that depend alike."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.dependence.structure import Dependence
from kernelcal.predictions import Bernoulli

__all__ = [
    "Coupling",
    "Parts",
    "Scores",
    "SharedPart",
    "Stretches",
    "lagged_correlations",
    "less_error",
    "shared_correlation",
]


_TERMS = 12  # of the expansion; the rest is below 2 % for correlations up to 0.8
_GRID = np.linspace(-0.98, 0.98, 197)
_NODES = np.linspace(-6.0, 6.0, 241)  # latent numbers at which laws with jumps are looked at
_ROWS = 2_000  # of which nodes are held at once
_MOST = 0.98  # correlation in a cluster


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of outcomes with mean 0 and variance 1 under calibration, and how they come from latent normal numbers.

    Outcomes are ``y_i = F_i^{-1}(Phi(g_i))``. A score is a function of the latent number,
    ``s_i(g) = sum_j c_ij h_j(g)`` with the orthonormal Hermite polynomials ``h_j = He_j / sqrt(j!)``: latent numbers of
    correlation rho have scores with ``E s_i s_k = sum_j c_ij c_kj rho^j`` (Mehler).

    Attributes
    ----------
    predictions : Predictions
        What the outcomes were predicted by.
    coefficients : numpy.ndarray of shape (n, J)
        ``c_i1, ..., c_iJ``. Where distribution functions are continuous the score is the latent number: J = 1, c = 1.
    mean, spread : numpy.ndarray of shape (n,), or None
        By which outcomes of other laws are standardised; rows without spread have the score 0.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.dependence import Scores
    >>> normal = Scores(kc.Normal(np.zeros(3), 1.0), np.ones((3, 1)))
    >>> normal.coefficients.shape
    (3, 1)
    """

    predictions: Any
    coefficients: np.ndarray
    mean: np.ndarray | None = None
    spread: np.ndarray | None = None

    @classmethod
    def of(cls, predictions: Any) -> Self:
        """Normal scores where distribution functions are continuous, standardised outcomes where they jump."""
        n = len(predictions)
        if isinstance(predictions, Bernoulli):
            return cls(predictions, *_of_events(to_numpy(predictions.p).astype(np.float64)))
        if getattr(predictions, "has_cdf", False) and getattr(predictions, "continuous", False):
            return cls(predictions, np.ones((n, 1)))
        found = [_of_jumps(predictions[first : first + _ROWS]) for first in range(0, n, _ROWS)]
        return cls(predictions, *(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def __call__(self, targets: np.ndarray) -> np.ndarray:
        """Scores of outcomes, shape (..., n)."""
        if self.mean is None or self.spread is None:
            return np.asarray(self.predictions.normal_scores(targets))
        away = np.asarray(targets, dtype=np.float64) - self.mean
        return np.where(self.spread > 0, away / np.where(self.spread > 0, self.spread, 1.0), 0.0)

    def correlation(self, values: np.ndarray, earlier: np.ndarray, later: np.ndarray) -> float:
        """Correlation of latent numbers at which products of these scores have the mean that they have."""
        mean = float((values**2).mean())
        wanted = float(values[earlier] @ values[later]) / mean if mean > 0 else 0.0
        return _solved((self.coefficients[earlier] * self.coefficients[later]).sum(axis=0), wanted)


def _solved(by_order: np.ndarray, wanted: float) -> float:
    """Return the rho of the grid at which ``sum_j rho^j by_order_j`` is nearest to what is wanted."""
    if len(by_order) == 1:
        return float(np.clip(wanted / by_order[0], _GRID[0], _GRID[-1])) if by_order[0] else 0.0
    expected = np.power.outer(_GRID, np.arange(1, len(by_order) + 1)) @ by_order
    nearest = np.abs(expected - wanted)
    return float(_GRID[np.flatnonzero(nearest == nearest.min())[0]]) if by_order.any() else 0.0


def _hermite(g: np.ndarray, terms: int) -> np.ndarray:
    """Orthonormal polynomials of order 0 to terms - 1, last axis."""
    values = [np.ones_like(g), g]
    for j in range(1, terms - 1):
        values.append((g * values[j] - math.sqrt(j) * values[j - 1]) / math.sqrt(j + 1))
    return np.stack(values[:terms], axis=-1)


def _of_events(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``c_j = phi(a) He_{j-1}(a) / sqrt(j! p (1 - p))`` at ``a = Phi^{-1}(1 - p)``, mean and spread."""
    certain = (p <= 0) | (p >= 1)
    inner = np.where(certain, 0.5, p)
    a, spread = -_normal(inner), np.sqrt(inner * (1 - inner))
    density = np.exp(-0.5 * a * a) / math.sqrt(2 * math.pi)
    coefficients = (density / spread)[:, None] * _hermite(a, _TERMS) / np.sqrt(np.arange(1, _TERMS + 1))
    coefficients[certain] = 0.0
    return coefficients, p, np.where(certain, 0.0, spread)


def _of_jumps(predictions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients by a sum over latent numbers, mean and spread, of laws with jumps."""
    weights = np.exp(-0.5 * _NODES**2)
    weights /= weights.sum()
    levels = np.repeat(_uniform(_NODES)[:, None], len(predictions), axis=1)
    outcomes = np.asarray(predictions.draw(levels), dtype=np.float64)
    mean = weights @ outcomes
    outcomes -= mean
    spread = np.sqrt(weights @ outcomes**2)
    coefficients = (outcomes * weights[:, None]).T @ _hermite(_NODES, _TERMS + 1)[:, 1:]
    coefficients /= np.where(spread > 0, spread, 1.0)[:, None]
    return np.where(spread[:, None] > 0, coefficients, 0.0), mean, spread


def lagged_correlations(scores: Scores, values: np.ndarray, rows: Dependence) -> np.ndarray:
    """Correlations of latent numbers k = 1 to h - 1 steps apart, each times 1 - k / T for series of T steps.

    Forecasts h steps ahead that are calibrated given what was known have errors that are uncorrelated from h steps on.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.dependence import Dependence, Scores, lagged_correlations
    >>> values = np.convolve(np.random.default_rng(0).normal(size=101), [0.7, 0.7], "valid")
    >>> rows = Dependence(None, np.zeros(100, int), np.arange(100), horizon=2)
    >>> lagged_correlations(Scores(kc.Normal(np.zeros(100), 1.0), np.ones((100, 1))), values, rows).round(1)
    array([0.6])
    """
    lengths = rows.lengths
    found = []
    for lag in range(1, rows.horizon):
        earlier, later = rows.pairs(lag)
        share = np.maximum(lengths - lag, 0).sum() / lengths.sum()
        found.append(share * scores.correlation(values, earlier, later) if len(earlier) > 1 else 0.0)
    return np.array(found)


_CLEAR, _ROUGH = 2.0, 20  # standard errors, beyond which an error is one of the forecasts; stretches that tell them


def less_error(values: np.ndarray, by: np.ndarray, rows: Dependence) -> np.ndarray:
    """Residuals less what a regression on predictions finds beyond some standard errors.

    Errors of the forecasts, such as a bias, make products of residuals large at every lag and would count as
    dependence. The standard error of a coefficient ``sum_t q_t e_t``, q of length 1, is that of sums that are
    uncorrelated from h steps on, divided by ``1 - (2 h - 1) / n`` for what the regression takes away, and not below
    that of independent rows. A coefficient is an error beyond two of them, or beyond ``2 sqrt(20 / s)`` where there are
    fewer than 20 stretches, s of h steps, and standard errors are rough.
    """
    q = np.linalg.qr(by)[0]
    found = q.T @ values
    e, n = values - q @ found, len(values)
    parts = q * e[:, None]
    variances = (parts**2).sum(axis=0)
    least = np.full(len(found), float((e**2).mean()))
    for lag in range(1, rows.horizon):
        earlier, later = rows.pairs(lag)
        variances += 2 * (parts[earlier] * parts[later]).sum(axis=0)
    clear = _CLEAR * math.sqrt(max(1.0, _ROUGH * rows.horizon / n))
    left = max(1 - (2 * rows.horizon - 1) / n, 0.1)
    beyond = np.maximum(np.abs(found) - clear * np.sqrt(np.maximum(variances / left, least)), 0.0)
    return np.asarray(values - q @ (np.sign(found) * beyond))


def shared_correlation(scores: Scores, values: np.ndarray, rows: Dependence) -> float:
    """Correlation of latent numbers of two rows of one cluster, between 0 and 0.98.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.dependence import Dependence, Scores, shared_correlation
    >>> values = np.repeat(np.random.default_rng(0).normal(size=20), 2)
    >>> rows = Dependence(np.repeat(np.arange(20), 2), np.zeros(40, int), np.arange(40))
    >>> shared_correlation(Scores(kc.Normal(np.zeros(40), 1.0), np.ones((40, 1))), values, rows)
    0.98
    """
    assert rows.clusters is not None
    by_cluster = np.zeros((rows.groups, 1 + scores.coefficients.shape[1]))
    columns = np.column_stack([values, scores.coefficients])
    np.add.at(by_cluster, rows.clusters, columns)
    pairs = 0.5 * ((by_cluster**2).sum(axis=0) - (columns**2).sum(axis=0))
    mean = float((values**2).mean())
    wanted = float(pairs[0]) / mean if mean > 0 else 0.0
    return float(np.clip(_solved(pairs[1:], wanted), 0.0, _MOST))


_LEAST = 1e-4  # spectrum of a path; estimated correlations need not be those of any path


class Coupling(ABC):
    """Turns independent uniform numbers into as many as rows, each uniform, that depend on each other."""

    size: int
    """How many independent numbers one draw of all rows takes."""

    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        """Uniform numbers of rows, shape (B, n), from independent ones, shape (B, size)."""
        return _uniform(self.latent(_normal(uniforms)))

    @abstractmethod
    def latent(self, g: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """Normal numbers of all rows, or of some, from independent ones, shape (B, size)."""


class Parts(Coupling):
    """Several sets of rows, one after the other, each with correlations of its own, from the same numbers.

    Parameters
    ----------
    parts : sequence of (Coupling, numpy.ndarray)
        Couplings of all rows, and the rows of each set.
    """

    def __init__(self, parts: Sequence[tuple[Coupling, np.ndarray]]) -> None:
        self.parts, self.size = tuple(parts), parts[0][0].size

    def latent(self, g: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """Normal numbers of the sets, one after the other."""
        return np.concatenate([coupling.latent(g, own) for coupling, own in self.parts], axis=1)[:, rows]


class SharedPart(Coupling):
    """``g_i = sqrt(rho) u_c(i) + sqrt(1 - rho) e_i``: rows of one cluster have the correlation rho.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.dependence import Dependence, SharedPart
    >>> rows = Dependence(np.array([0, 0, 1]), np.zeros(3, int), np.arange(3))
    >>> SharedPart(rows, 0.5).rho
    0.5
    """

    def __init__(self, rows: Dependence, rho: float) -> None:
        assert rows.clusters is not None
        self.clusters, self.rho, self.size = rows.clusters, rho, len(rows) + rows.groups

    def latent(self, g: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """Normal numbers of rows, shape (B, n)."""
        n = len(self.clusters)
        own, shared = g[:, :n][:, rows], g[:, n:][:, self.clusters[rows]]
        return np.asarray(np.sqrt(1 - self.rho) * own + np.sqrt(self.rho) * shared)


class Stretches(Coupling):
    """Paths with the correlations ``rho_1, ..., rho_{h-1}`` and none from h steps on, one a series.

    A circulant of length T + 2 h with this first row; its transform is held at 1e-4 at least, and has mean 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.dependence import Dependence, Stretches
    >>> rows = Dependence(None, np.zeros(4, int), np.arange(4), horizon=2)
    >>> Stretches(rows, np.array([0.4])).correlations
    array([0.4])
    """

    def __init__(self, rows: Dependence, correlations: np.ndarray) -> None:
        self.rows, self.correlations = rows, correlations
        self.lengths = rows.lengths + 2 * rows.horizon
        self.size = int(self.lengths.sum())

    @cached_property
    def _places(self) -> np.ndarray:
        """Where rows lie in the paths, one after the other."""
        return np.asarray((np.cumsum(self.lengths) - self.lengths)[self.rows.series] + self.rows.time)

    def _roots(self, length: int) -> np.ndarray:
        """Root of the spectrum of a path of this length."""
        row = np.zeros(length)
        row[0] = 1.0
        lags = np.arange(1, len(self.correlations) + 1)
        row[lags] = row[-lags] = self.correlations
        spectrum = np.maximum(np.fft.fft(row).real, _LEAST)
        return np.sqrt(spectrum / spectrum.mean())[: length // 2 + 1]

    def latent(self, g: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """Normal numbers of rows, shape (B, n), of the series that they belong to."""
        paths, starts = np.empty_like(g), np.cumsum(self.lengths) - self.lengths
        for series in np.unique(self.rows.series[rows]).tolist():
            length = int(self.lengths[series])
            part = slice(int(starts[series]), int(starts[series]) + length)
            paths[:, part] = np.fft.irfft(self._roots(length) * np.fft.rfft(g[:, part], axis=1), n=length, axis=1)
        return np.asarray(paths[:, self._places[rows]])


def _normal(uniforms: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

    return np.asarray(ndtri(np.maximum(uniforms, 2.0**-54)))


def _uniform(normal: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return np.asarray(ndtr(normal))
