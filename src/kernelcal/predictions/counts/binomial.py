"""Binomial distributions of counts: hits in a known number of trials."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, concrete, namespace
from kernelcal.predictions.base import trusted
from kernelcal.predictions.border import finite_numbers, refuse_rows, together
from kernelcal.predictions.counts.base import CountPredictions, mean_difference, not_negative_numbers
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading
from kernelcal.predictions.log_scale import tempered_probability

__all__ = ["Binomial"]


@dataclass(frozen=True, eq=False)
class Binomial(CountPredictions):
    """Binomial predictions of counts: the number of hits in n trials, each a hit with probability p.

    Parameters
    ----------
    n : array of shape (rows,), or number
        Numbers of trials, whole and not negative. One number serves all rows.
    p : array of shape (rows,), or number
        Probabilities of a hit, in [0, 1].

    Raises
    ------
    InputError
        If a value is missing or out of range, with the row.

    Notes
    -----
    ``P(Y = k) = n! / (k! (n - k)!) p^k (1 - p)^(n - k)``. A temperature makes the trials more or less sure, as that of
    `Bernoulli`: the power is one with respect to the number of ways, ``n! / (k! (n - k)!)``. It does not mend counts
    that spread more than independent trials do.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.Binomial(4, [0.5, 0.25])
    >>> predictions.cdf([2, 2]).round(4)
    array([0.6875, 0.9492])
    """

    given_by: ClassVar[tuple[str, ...]] = ("n", "p")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("binom", "Binomial"), ("n", "p")),
        Reading(BOTH, ("Binomial", "BinomialProbs", "BinomialLogits"), ("total_count", "probs")),
    )

    n: Array
    p: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        n, p = together(n=self.n, p=self.p)
        n = not_negative_numbers(n, "the number of trials")
        values = concrete(n)
        if values is not None:
            refuse_rows(values != np.floor(values), "the number of trials", values, "a whole number")
        p = finite_numbers(p, "the probability of a hit", ndim=1)
        values = concrete(p)
        if values is not None:
            wrong = (values < 0) | (values > 1)
            refuse_rows(wrong, "the probability of a hit", values, "a number in [0, 1] (n comes first)")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "p", p)

    @property
    def mean(self) -> Array:
        """Means ``n p``."""
        return self.n * self.p

    @property
    def std(self) -> Array:
        """Standard deviations ``sqrt(n p (1 - p))``."""
        return namespace(self.p).sqrt(self.n * self.p * (1 - self.p))

    def cumulative(self, k: np.ndarray) -> np.ndarray:
        """Regularised incomplete beta function ``1 - I_p(k + 1, n - k)``."""
        from scipy.special import betaincc  # imported when needed: the import of kernelcal stays light

        n, p = self.in_numpy()
        inside = k < n
        return np.where(inside, betaincc(np.where(inside, k + 1, 1.0), np.where(inside, n - k, 1.0), p), 1.0)

    def log_probability(self, k: np.ndarray) -> np.ndarray:
        """Logarithm of the formula in the notes; the factorials as one beta function, which keeps digits."""
        from scipy.special import betaln, xlog1py, xlogy

        n, p = self.in_numpy()
        rest = np.maximum(n - k, 0.0)
        with np.errstate(divide="ignore"):
            logs = xlogy(k, p) + xlog1py(rest, -p) - np.log1p(n) - betaln(k + 1, rest + 1)
        return np.where(k <= n, logs, -np.inf)

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """More hits than trials, a hit of probability 0, a miss of probability 0."""
        (n, p), y = self.in_numpy(), np.asarray(y)
        return (y > n) | ((p <= 0) & (y > 0)) | ((p >= 1) & (y < n))

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Smallest count whose distribution function reaches the levels; level 1 is the largest count that can be."""
        return np.minimum(super()._quantile(levels), np.where(self.in_numpy()[1] > 0, self.in_numpy()[0], 0.0))

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``(1 + p (exp(i w) - 1))^n``."""
        n, p = (x[:, None] for x in self.in_numpy())
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 to the power n, where p = 1/2 meets w = pi
            waves = np.exp(n * np.log1p(p * np.expm1(1j * frequencies)))
        return np.where(n > 0, np.nan_to_num(waves), 1.0)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """From ``E X 1[X <= y] = n p F(y - 1; n - 1)``, and one integral for ``E|X - X'|`` (`mean_difference`)."""
        n, p = self.in_numpy()
        biased = trusted(self, n=np.maximum(n - 1, 0.0), p=p)
        below = np.where(n > 0, biased.cdf_below(y), 0.0)
        distance = y * (2 * self.cdf(y) - 1) + n * p * (1 - 2 * below)
        square = 4 * p * (1 - p)

        def log_square(gap: float) -> np.ndarray:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(n > 0, n * np.log1p(-np.minimum(square * gap, 1.0)), 0.0)

        return distance - 0.5 * mean_difference(log_square, n * p * (1 - p))

    def tempered(self, temperature: float) -> Self:
        """The logit of the trials over T; 0 and 1 stay."""
        return trusted(self, p=tempered_probability(self.p, temperature))
