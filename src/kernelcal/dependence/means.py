"""Means of rows that depend on each other: standard errors by stretches or clusters, and the law of their t."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cache, cached_property

import numpy as np

from kernelcal.dependence.structure import Dependence

__all__ = ["ClusterMeans", "MeanLaw", "StretchMeans", "errors_aside", "mean_law"]


_WINDOW = 1.3  # times the root of the length: Lazarus, Lewis, Stock, Watson (2018)
_LARGEST = 600  # rows whose spectrum is computed; the law of more is that of so many of them
_CLUSTERS = 200  # the same for clusters of different sizes, whose spectrum depends on t
_SMALLEST = 1e-300
_FEW = 10  # stretches or clusters


class MeanLaw(ABC):
    """Standard error of a mean of rows that depend on each other, and the law of ``t = mean / standard error``.

    An error that is estimated from few independent stretches or clusters is not the error: the same t of normal
    numbers without dependence tells how large it becomes by chance, and its law is the one that p-values are taken
    from, exactly and without draws. This is fixed-b inference (Kiefer and Vogelsang), which for differences of scores
    of two forecasts is the test of Diebold and Mariano with a law that allows for few stretches; of clusters it is
    Student's law, and one like it where sizes differ.
    """

    def __init__(self, rows: Dependence) -> None:
        self.rows, self.n = rows, len(rows)

    def error(self, values: np.ndarray) -> float:
        """Standard error of the mean of numbers, one a row; NaN of one cluster alone."""
        square = self._square(values - values.mean())
        return math.nan if math.isnan(square) else math.sqrt(max(square, 0.0)) / self.n

    @abstractmethod
    def _square(self, e: np.ndarray) -> float:
        """Estimate of the variance of the sum of numbers, from what is left without their mean."""

    @abstractmethod
    def _ratios(self, square: float) -> np.ndarray:
        """Numbers ``a_k >= 0`` for which t^2 is at least this square if ``z_0^2 > sum_k a_k z_k^2``, z normal."""

    @property
    @abstractmethod
    def parts(self) -> float:
        """How many independent rows of equal weight the rows count like at least: stretches, or clusters."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """What was done, and where it is rough, for results."""

    def pvalue(self, t: float) -> float:
        """Two-sided p-value of ``|mean| / error``, never 0.

        ``P(z_0^2 > sum_k a_k z_k^2) = (2 / pi) int_0^{pi/2} prod_k (1 + a_k / sin^2 u)^{-1/2} du``: the formula of
        Craig for the normal tail, and the mean of ``exp(-s z^2)``.
        """
        if not t > 0:
            return 1.0
        ratios = self._ratios(t * t)
        nodes, weights = _nodes()
        squares = np.sin(0.25 * math.pi * (nodes + 1)) ** 2
        logs = np.log1p(ratios[:, None] / squares).sum(axis=0)
        return float(min(max(0.5 * weights @ np.exp(-0.5 * logs), _SMALLEST), 1.0))

    def quantile(self, level: float) -> float:
        """How many standard errors an interval of a level goes to both sides; infinite where rows tell no error."""
        from scipy.optimize import brentq  # imported when needed: the import of kernelcal stays light

        low, high = 0.5, 4.0
        while self.pvalue(high) > 1 - level:
            low, high = high, 4 * high
            if high > _FAR:
                return math.inf  # a single row, or stretch, is its own mean
        while self.pvalue(low) < 1 - level:
            low /= 4
        return float(brentq(lambda t: math.log(self.pvalue(t) / (1 - level)), low, high, xtol=1e-9, rtol=1e-6))

    def interval(self, values: np.ndarray, level: float) -> tuple[float, float]:
        """Interval of the mean of numbers, one a row; NaN where no error is known."""
        error, mean = self.error(values), float(values.mean())
        half = error if error == 0 or math.isnan(error) else self.quantile(level) * error
        return mean - half, mean + half


_FAR = 1e9  # standard errors
_NODES = 200


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(_NODES)


class StretchMeans(MeanLaw):
    """Means along time: the weights of Bartlett up to ``max(1.3 sqrt(T), 2 h)`` steps, T the longest series.

    ``v = sum_ij max(0, 1 - |t_i - t_j| / M) e_i e_j`` over rows of one series, which is the mean over windows of M
    steps of the squared sums inside them; rows that are missing count as 0. Series are taken as independent of each
    other.
    """

    def __init__(self, rows: Dependence) -> None:
        super().__init__(rows)
        self.window = math.ceil(max(_WINDOW * math.sqrt(rows.lengths.max()), 2 * rows.horizon))

    @property
    def parts(self) -> float:
        """Stretches of h steps."""
        return max(self.n / self.rows.horizon, 1.0)

    @property
    def notes(self) -> tuple[str, ...]:
        """The window, few stretches, and what is assumed of several series."""
        said = [
            f"differences of models: standard errors along time, over windows of {self.window} steps (Bartlett), and "
            "p-values by their fixed-b law, a Diebold-Mariano test that allows for few stretches"
        ]
        if self.parts < _FEW:
            said.append(
                f"few independent stretches: {self.n:,} rows of forecasts {self.rows.horizon} steps ahead are about "
                f"{self.parts:.0f}, and p-values of differences are rough"
            )
        if self.rows.groups > 1:
            said.append(
                f"the {self.rows.groups:,} series are taken as independent of each other: where they share shocks, "
                "differences are less certain"
            )
        return tuple(said)

    def _square(self, e: np.ndarray) -> float:
        return float(self._squares(e[None])[0])

    @cached_property
    def _places(self) -> tuple[np.ndarray, int]:
        """Where rows lie in a line of all series, M empty steps before each, and its length."""
        lengths = self.rows.lengths + self.window
        return (np.cumsum(lengths) - self.rows.lengths)[self.rows.series] + self.rows.time, int(lengths.sum())

    def _squares(self, e: np.ndarray) -> np.ndarray:
        places, length = self._places
        line = np.zeros((len(e), length + self.window))
        line[:, places] = e
        sums = np.cumsum(line, axis=1)
        inside = sums[:, self.window :] - sums[:, : -self.window]
        return np.asarray((inside**2).sum(axis=1) / self.window)

    @cached_property
    def _spectrum(self) -> np.ndarray:
        """Eigenvalues of the centred weights over n; those of many rows by every so many-th of them."""
        order = np.lexsort((self.rows.time, self.rows.series))
        some = order[np.linspace(0, self.n - 1, min(self.n, _LARGEST)).round().astype(np.intp)]
        series, time = self.rows.series[some], self.rows.time[some]
        apart = np.abs(time[:, None] - time) / self.window
        weights = np.where(series[:, None] == series, np.maximum(1 - apart, 0.0), 0.0)
        weights -= weights.mean(axis=0)
        weights -= weights.mean(axis=1)[:, None]
        return np.maximum(np.linalg.eigvalsh(weights), 0.0) / len(some)

    def _ratios(self, square: float) -> np.ndarray:
        return square * self._spectrum


class ClusterMeans(MeanLaw):
    """Means over clusters: ``v = G / (G - 1) sum_g (sum_{i in g} e_i)^2``.

    With clusters of one size the law is that of Student with G - 1 degrees of freedom. Sums over large clusters vary
    more, and the law of t then depends on how much more: it is that of rows that are independent inside clusters, or
    that are all alike there, whichever has the larger p-value.
    """

    def __init__(self, rows: Dependence) -> None:
        super().__init__(rows)
        assert rows.clusters is not None
        self.sizes = np.bincount(rows.clusters).astype(np.float64)

    @property
    def parts(self) -> float:
        """Clusters of equal size that they count like, if rows of one are alike."""
        squares = self.sizes**2
        return float(squares.sum() ** 2 / (squares**2).sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """Sums over clusters, and few of them."""
        said = (
            f"differences of models: standard errors by sums over {len(self.sizes):,} clusters, p-values by their t law"
        )
        if self.parts >= _FEW:
            return (said,)
        return said, (
            f"few clusters: they count like at least {self.parts:.1f} of equal size, and p-values of differences are "
            "rough"
        )

    def _square(self, e: np.ndarray) -> float:
        assert self.rows.clusters is not None
        g = len(self.sizes)
        if g < 2:
            return math.nan
        return g / (g - 1) * float((np.bincount(self.rows.clusters, e, g) ** 2).sum())

    def _ratios(self, square: float) -> np.ndarray:
        every, g = np.sort(self.sizes), len(self.sizes)
        if every[0] == every[-1]:  # the law of Student: t^2 is z_0^2 over a mean of g - 1 squares
            return np.full(g - 1, square / max(g - 1, 1))
        sizes = every[np.linspace(0, g - 1, min(g, _CLUSTERS)).round().astype(np.intp)]
        found = [_of_clusters(sizes, variances, square) for variances in (sizes, sizes**2)]
        return min(found, key=lambda ratios: float(np.log1p(ratios).sum()))


def _of_clusters(sizes: np.ndarray, variances: np.ndarray, square: float) -> np.ndarray:
    """Eigenvalues of ``(sum_g Y_g)^2 - t^2 v`` below 0 over the one above, sums Y_g of some variances."""
    g, share, roots = len(sizes), sizes / sizes.sum(), np.sqrt(variances)
    left = np.eye(g) - share[:, None]  # sums of what is left: Y_g - n_g mean
    form = (np.ones((g, g)) - square * g / (g - 1) * left.T @ left) * roots[:, None] * roots
    values = np.linalg.eigvalsh(form)
    return np.maximum(-values[:-1], 0.0) / values[-1]


def errors_aside(level: float, law: MeanLaw | None = None) -> float:
    """How many standard errors an interval of a level goes to both sides; without a law those of the normal law.

    Examples
    --------
    >>> from kernelcal.dependence import errors_aside
    >>> round(errors_aside(0.95), 4)
    1.96
    """
    if law is not None:
        return law.quantile(level)
    from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

    return float(ndtri(0.5 + level / 2))


def mean_law(rows: Dependence) -> MeanLaw:
    """Law of means of these rows."""
    return StretchMeans(rows) if rows.clusters is None else ClusterMeans(rows)
