"""Statistics of uniformity of PIT values: any deviation, a shift, a wrong width."""

from __future__ import annotations

import math

import numpy as np

from kernelcal.statistics.base import Prepared

__all__ = ["PreparedUniformity", "kuiper", "normal_quantiles"]


_LEAST, _MOST = 2.0**-54, 1 - 2.0**-53  # the range of uniform draws


class PreparedUniformity(Prepared):
    """Statistics of n numbers in (0, 1), large where they are not uniform.

    - ``Anderson-Darling``: squared distance of the empirical distribution function from the diagonal, divided by its
      variance there; sees all deviations, those of the tails too.
    - ``Kuiper``: sum of the largest distances above and below the diagonal; sees a wrong width well.
    - ``bias``: size of the mean normal quantile.
    - ``dispersion``: distance of the cube root of the variance of the normal quantiles about their mean from its mean
      under calibration. In the cube root too wide and too narrow are seen alike (Wilson and Hilferty 1931), and about
      their mean a shift is not taken for a wrong width. Needs two rows.
    """

    engine = "one sort of the PIT values"

    def __init__(self, n: int) -> None:
        self.n, self.bytes_per_draw = n, 48 * n
        self.names = ("Anderson-Darling", "Kuiper", "bias", *(("dispersion",) if n > 1 else ()))

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Statistics of numbers of shape (B, n): shape (B, statistics)."""
        ordered = np.sort(_inside(targets), axis=1)
        mean, spread = self.signed(targets)
        columns = [_anderson_darling(ordered), kuiper(ordered), np.abs(mean)]
        return np.stack([*columns, np.abs(spread)] if self.n > 1 else columns, axis=1)

    def signed(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean normal quantile, above 0 where outcomes are high, and dispersion, above 0 for narrow predictions."""
        quantiles = normal_quantiles(targets)
        freedom = max(self.n - 1, 1)
        variance = quantiles.var(axis=1) * self.n / freedom
        return quantiles.mean(axis=1), np.cbrt(variance) - (1 - 2 / (9 * freedom))


def normal_quantiles(values: np.ndarray) -> np.ndarray:
    """Normal quantiles of PIT values: standard normal under calibration.

    Values of exactly 0 and 1 are counted as the nearest that a uniform draw can take, about 8 standard deviations out.
    """
    from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

    return ndtri(_inside(values))


def _inside(values: np.ndarray) -> np.ndarray:
    return np.clip(values, _LEAST, _MOST)


def _anderson_darling(ordered: np.ndarray) -> np.ndarray:
    n = ordered.shape[1]
    odd = 2 * np.arange(1, n + 1) - 1
    return -n - (np.log(ordered) + np.log1p(-ordered[:, ::-1])) @ odd / n


def kuiper(ordered: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Root n times the largest distances above and below the diagonal of sorted numbers of shape (B, n).

    Weights of shape (B, n), in the same order, are the steps of the distribution function; None means 1 / n each.
    """
    n = ordered.shape[1]
    if weights is None:
        before, after = np.arange(n) / n, np.arange(1, n + 1) / n
    else:
        after = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
        before = np.pad(after, ((0, 0), (1, 0)))[:, :-1]
    return math.sqrt(n) * ((after - ordered).max(axis=1) + (ordered - before).max(axis=1))
