"""The Brier score and its scaled form, net benefit at a threshold, and the statistic of Hosmer and Lemeshow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.errors import InputError
from kernelcal.measures.base import Measure, PreparedMeasure, positive_probabilities

__all__ = ["Brier", "HosmerLemeshow", "NetBenefit", "ScaledBrier"]


class _OfProbability(PreparedMeasure):
    def __init__(self, measure: Measure, predictions: Any, weights: np.ndarray | None) -> None:
        self.p = positive_probabilities(predictions)
        super().__init__(measure, bytes_per_draw=32 * len(self.p))
        self.w = np.ones(len(self.p)) if weights is None else weights

    def _means(self, values: np.ndarray) -> np.ndarray:
        """Weighted means of rows of values, (B, n) to (B,)."""
        return np.asarray(values @ self.w / self.w.sum())


class _PreparedBrier(_OfProbability):
    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Mean squares."""
        return self._means((targets - self.p) ** 2)

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """Squares less their mean."""
        return np.asarray((targets - self.p) ** 2 - self.measured(targets[None])[0])


class _PreparedScaled(_OfProbability):
    def measured(self, targets: np.ndarray) -> np.ndarray:
        """One less the ratio of both scores."""
        share = self._means(np.asarray(targets, dtype=np.float64))
        best = share * (1 - share)
        own = self._means((targets - self.p) ** 2)
        return 1 - np.divide(own, best, out=np.full(len(own), np.nan), where=best > 1e-15)

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """Those of a ratio of means."""
        y = np.asarray(targets, dtype=np.float64)
        share = self._means(y[None])[0]
        best, squares = share * (1 - share), (y - self.p) ** 2
        own = self._means(squares[None])[0]
        return np.asarray(-(squares - own) / best + own * (1 - 2 * share) * (y - share) / best**2)


class _PreparedBenefit(_OfProbability):
    def __init__(self, measure: NetBenefit, predictions: Any, weights: np.ndarray | None) -> None:
        super().__init__(measure, predictions, weights)
        self.treated, self.odds = self.p >= measure.threshold, measure.threshold / (1 - measure.threshold)

    def _each(self, targets: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(self.treated, np.where(targets > 0.5, 1.0, -self.odds), 0.0))

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Means of 1 for a treated event and of minus the odds for another treated row."""
        return self._means(self._each(targets))

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """The same less their mean."""
        return np.asarray(self._each(targets) - self.measured(targets[None])[0])


class _PreparedHosmerLemeshow(_OfProbability):
    def __init__(self, measure: HosmerLemeshow, predictions: Any, weights: np.ndarray | None) -> None:
        super().__init__(measure, predictions, weights)
        cuts = np.quantile(self.p, np.arange(1, measure.groups) / measure.groups)
        of = np.unique(np.searchsorted(np.unique(cuts), self.p, side="left"), return_inverse=True)[1]
        self.inside = np.zeros((len(self.p), int(of.max()) + 1))
        self.inside[np.arange(len(self.p)), of] = self.w
        self.bytes_per_draw += 16 * self.inside.shape[1]
        self.variance = (self.p * (1 - self.p)) @ self.inside
        size, mean = self.inside.sum(axis=0), self.p @ self.inside
        with np.errstate(divide="ignore", invalid="ignore"):
            self.variance = np.where(size > 0, mean * (1 - mean / size), 0.0)
        self.variance[self.variance <= 1e-13 * size] = 0.0  # certain, up to rounding

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Sums of squared differences over binomial variances; infinite where a group was certain and is not right."""
        apart = (np.asarray(targets, dtype=np.float64) - self.p) @ self.inside
        known = self.variance > 0
        sums = np.asarray((apart[:, known] ** 2 / self.variance[known]).sum(axis=1))
        return np.where((np.abs(apart[:, ~known]) > 1e-9).any(axis=1), np.inf, sums)

    def remark(self, value: float) -> str:
        """The p-value of the chi-square law, which is not exact; of weighted rows it says nothing."""
        from scipy.special import chdtrc  # imported when needed: the import of kernelcal stays light

        df = int((self.variance > 0).sum())
        if df == 0 or not np.isfinite(value) or np.ptp(self.w) > 0:
            return ""
        fitted = f" (p = {float(chdtrc(df - 2, value)):.3g} with {df - 2})" if df > 2 else ""
        return (
            f"the chi-square law says p = {float(chdtrc(df, value)):.3g} with {df} degrees of freedom, one a group, as "
            f"for independent rows that the model was not fitted to{fitted}; the p-value in the table needs no such law"
        )


@dataclass(frozen=True)
class Brier(Measure):
    """Brier score, the mean of ``(y - p)^2``.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.measures.Brier()([0, 1], [0.2, 0.6])), 4)
    0.1
    """

    name: ClassVar[str] = "Brier score"
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    signed: ClassVar[bool] = True
    mean_of_rows: ClassVar[bool] = True

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Keep the probabilities."""
        return _PreparedBrier(self, predictions, weights)


@dataclass(frozen=True)
class ScaledBrier(Measure):
    """Scaled Brier score (index of prediction accuracy), ``1 - Brier / (f (1 - f))`` with f the share of events.

    1 is perfect, 0 no better than the share for everybody.

    References
    ----------
    Steyerberg et al. (2010), Assessing the performance of prediction models; Kattan, Gerds (2018).

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.measures.ScaledBrier()([0, 1], [0.2, 0.6])), 4)
    0.6
    """

    name: ClassVar[str] = "scaled Brier score"
    limits: ClassVar[tuple[float, float]] = (-np.inf, 1.0)
    signed: ClassVar[bool] = True

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Keep the probabilities."""
        return _PreparedScaled(self, predictions, weights)


@dataclass(frozen=True)
class NetBenefit(Measure):
    """Net benefit of treating who has at least a risk: ``TP / n - FP / n t / (1 - t)``.

    Parameters
    ----------
    threshold : float
        Risk t from which on one treats, between 0 and 1.

    References
    ----------
    Vickers, Elkin (2006), Decision curve analysis.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.measures.NetBenefit(0.5)([0, 1, 1, 0], [0.6, 0.6, 0.7, 0.1]).value
    0.25
    """

    threshold: float = 0.2
    name: ClassVar[str] = "net benefit"
    limits: ClassVar[tuple[float, float]] = (-np.inf, 1.0)
    signed: ClassVar[bool] = True
    mean_of_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, int | float | np.number) or not 0 < self.threshold < 1:
            raise InputError(f"threshold must be a risk between 0 and 1, such as 0.2, got {self.threshold!r}")

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Find who is treated."""
        return _PreparedBenefit(self, predictions, weights)


@dataclass(frozen=True)
class HosmerLemeshow(Measure):
    """Statistic of Hosmer and Lemeshow over groups of equal size by their predictions, with an exact p-value.

    ``sum_g (O_g - E_g)^2 / (E_g (1 - E_g / n_g))``. Its chi-square law is that of many rows; the p-value is that of
    redrawn outcomes. It says nothing of the size or kind of an error, and grows with the number of rows. It is infinite
    where predictions of a group are all 0, or all 1, and an outcome says otherwise.

    Parameters
    ----------
    groups : int
        At most so many, cut at quantiles of the predictions; equal predictions share one.

    References
    ----------
    Hosmer, Lemeshow (1980).

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.measures.HosmerLemeshow(groups=2)([0, 1, 1, 1], [0.2, 0.2, 0.8, 0.8])), 4)
    1.625
    """

    groups: int = 10
    name: ClassVar[str] = "Hosmer-Lemeshow"
    no_interval: ClassVar[str] = "it is no size of an error, and grows with the number of rows"

    def __post_init__(self) -> None:
        if isinstance(self.groups, bool) or not isinstance(self.groups, int) or self.groups < 2:
            raise InputError(f"groups must be a whole number from 2, such as 10, got {self.groups!r}")

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Make the groups."""
        return _PreparedHosmerLemeshow(self, predictions, weights)
