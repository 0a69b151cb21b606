"""Negative binomial distributions of counts: Poisson with more spread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import Array, namespace, to_numpy
from kernelcal.predictions.border import finite_numbers, positive_numbers, refuse_rows, rows_of, together
from kernelcal.predictions.counts.base import CountPredictions, mean_difference, not_negative_numbers
from kernelcal.predictions.distributions import SCIPY, Reading

__all__ = ["NegativeBinomial"]


_NEARLY_POISSON = 100.0


def _of_successes(count: Any, probability: Any) -> tuple[Any, Any]:
    """PyTorch counts successes before `count` failures."""
    return count * probability / (1 - probability), count


@dataclass(frozen=True, eq=False)
class NegativeBinomial(CountPredictions):
    """Negative binomial predictions of counts: a Poisson distribution whose rate is gamma distributed.

    Parameters
    ----------
    mean : array of shape (n,)
        Expected counts m, not negative.
    dispersion : array of shape (n,), or number
        Size r, positive: the variance is ``m + m^2 / r``, so that large r is nearly Poisson. One number serves all
        rows.

    Raises
    ------
    InputError
        If a value is missing or out of range, with the row.

    Notes
    -----
    ``P(Y = y) = Gamma(y + r) / (Gamma(r) y!) (r / (r + m))^r (m / (r + m))^y``.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.NegativeBinomial([3.0], 2.0)
    >>> (predictions.std**2).round(6)
    array([7.5])
    """

    given_by: ClassVar[tuple[str, ...]] = ("mean", "dispersion")
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("nbinom", "NegativeBinomial"), ("n", "p"), constructor="from_probability"),
        Reading(("torch",), ("NegativeBinomial",), ("total_count", "probs"), _of_successes),
        Reading(
            ("numpyro",),
            ("NegativeBinomialProbs", "NegativeBinomialLogits", "NegativeBinomial2", "GammaPoisson"),
            ("concentration", "rate"),
            lambda concentration, rate: (concentration / rate, concentration),
        ),
    )

    mean: Array
    dispersion: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        mean, dispersion = together(mean=self.mean, dispersion=self.dispersion)
        mean = not_negative_numbers(mean, "the mean")
        remedy = " (a row without extra spread is Poisson)"
        dispersion = positive_numbers(dispersion, "the dispersion", ndim=1, remedy=remedy)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "dispersion", dispersion)

    @classmethod
    def from_probability(cls, size: Array, probability: Array) -> NegativeBinomial:
        """Predictions of the number of failures before the `size`-th success, as in scipy's ``nbinom(n, p)``.

        Parameters
        ----------
        size : array of shape (n,), or number
            Number of successes, positive; not necessarily whole.
        probability : array of shape (n,)
            Probability of a success, above 0 and at most 1.
        """
        p = finite_numbers(probability, "the probability of a success", ndim=1)
        values = to_numpy(p)
        refuse_rows((values <= 0) | (values > 1), "the probability of a success", values, "a number in (0, 1]")
        size = positive_numbers(rows_of(size, p), "the size", ndim=1)
        return cls(size * (1 - p) / p, size)

    @property
    def std(self) -> Array:
        """Standard deviations ``sqrt(m + m^2 / r)``."""
        return namespace(self.mean).sqrt(self.mean + self.mean * self.mean / self.dispersion)

    def cumulative(self, k: np.ndarray) -> np.ndarray:
        """Regularised incomplete beta function ``I_p(r, k + 1)`` at ``p = r / (r + m)``."""
        from scipy.special import betainc, betaincc  # imported when needed: the import of kernelcal stays light

        mean, size = self.in_numpy()
        total = mean + size
        values = betainc(size, k + 1, size / total)
        # nearly Poisson: 1 - p would lose the digits that count, so the slower complement starts from m / (r + m)
        nearly = np.broadcast_to((size > _NEARLY_POISSON) & (size > mean), values.shape)
        if nearly.any():
            k, size, q = (np.broadcast_to(x, values.shape)[nearly] for x in (k, size, mean / total))
            values[nearly] = betaincc(k + 1, size, q)
        return values

    def log_probability(self, k: np.ndarray) -> np.ndarray:
        """Logarithm of the formula in the notes; the gamma functions as one beta function, which keeps digits."""
        from scipy.special import betaln, xlogy

        mean, size = self.in_numpy()
        binomial = -np.log(k + size) - betaln(k + 1, size)
        return binomial - size * np.log1p(mean / size) + xlogy(k, mean / (mean + size))

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``(1 - (m / r) (exp(i w) - 1))^-r``."""
        mean, size = (x[:, None] for x in self.in_numpy())
        return np.exp(-size * np.log1p(-mean / size * np.expm1(1j * frequencies)))

    def crps(self, y: np.ndarray) -> np.ndarray:
        """From ``E X 1[X <= y] = mean F(y - 1; size + 1)`` with the same success probability.

        ``E|X - X'|`` is one integral by the trapezoidal rule (`mean_difference`), error about 1e-12 of the mean.
        """
        mean, size = self.in_numpy()
        biased = NegativeBinomial(mean * ((size + 1) / size), size + 1)
        distance = y * (2 * self.cdf(y) - 1) + mean * (1 - 2 * biased.cdf_below(y))
        variance = mean * (1 + mean / size)
        return distance - 0.5 * mean_difference(lambda gap: -size * np.log1p(4 * variance * gap / size), variance)
