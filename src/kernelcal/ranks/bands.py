"""The band in which an empirical distribution function lies at several points at once, without random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError

__all__ = ["SimultaneousBand", "chance_inside", "simultaneous_band"]


_HALVINGS = 24


@dataclass(frozen=True, eq=False)
class SimultaneousBand:
    """Numbers of n uniform values at or below K points: where all of them lie at once.

    Attributes
    ----------
    points : numpy.ndarray of shape (K,)
        Points, from 0 to 1.
    low, high : numpy.ndarray of shape (K,)
        Ends of the numbers at or below each, which belong to the band.
    coverage : float
        Exact chance that all numbers lie inside, at least the confidence level.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.ranks import simultaneous_band
    >>> band = simultaneous_band(20, np.array([0.25, 0.5, 0.75]), 0.95)
    >>> band.low, band.high
    (array([ 1,  5, 11]), array([ 9, 15, 19]))
    """

    points: np.ndarray
    low: np.ndarray
    high: np.ndarray
    coverage: float

    def outside(self, counts: np.ndarray) -> np.ndarray:
        """Which numbers lie outside, shape (K,)."""
        return np.asarray((counts < self.low) | (counts > self.high))


def simultaneous_band(n: int, points: Any, confidence_level: float) -> SimultaneousBand:
    """Narrowest band of equal tails that holds the numbers of n uniform values at or below all points at once.

    At every point the number is binomial, and the band holds those whose two tails are at least a / 2. The a is the
    largest for which the chance that all lie inside is at least the confidence level. The chance is not simulated: the
    numbers are a Markov chain, and of n points of a Poisson process given their number.

    Parameters
    ----------
    n : int
        Values.
    points : array of shape (K,)
        Increasing points between 0 and 1. For ranks 0 to L those at multiples of 1 / (L + 1), where the values
        ``(rank + 1) / (L + 1)`` have the law of uniform ones.
    confidence_level : float
        Between 0 and 1.

    Notes
    -----
    Cost: some 25 times K convolutions of about ``4 sqrt(n)`` numbers.

    References
    ----------
    Saeilynoja, Buerkner, Vehtari (2022), section 2.3, who optimise the same band.

    Examples
    --------
    >>> from kernelcal.ranks import simultaneous_band
    >>> band = simultaneous_band(100, [0.25, 0.5, 0.75], 0.95)
    >>> band.low, band.high, round(band.coverage, 4)
    (array([15, 39, 65]), array([35, 61, 85]), 0.9554)
    """
    z = np.asarray(points, dtype=np.float64)
    if z.ndim != 1 or len(z) == 0 or not ((z > 0) & (z < 1)).all() or (np.diff(z) <= 0).any():
        raise InputError(f"points must be increasing numbers between 0 and 1, got {np.round(z[:5], 4)}")
    least, most = np.log(1e-12), np.log(1 - confidence_level)  # a band of all points is no narrower than one of each
    best = _ends(n, z, np.exp(least))
    for _ in range(_HALVINGS):
        middle = 0.5 * (least + most)
        tried = _ends(n, z, np.exp(middle))
        if chance_inside(n, z, *tried) >= confidence_level:
            least, best = middle, tried
        else:
            most = middle
    return SimultaneousBand(z, *best, chance_inside(n, z, *best))


def _ends(n: int, z: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest number whose binomial tails are at least half the level."""
    from scipy.special import bdtr  # imported when needed: the import of kernelcal stays light

    reach = int(8 * np.sqrt(n * z * (1 - z)).max()) + 40  # further out no tail is above 1e-13
    window = np.arange(-reach, reach + 1)

    def reached(p: np.ndarray) -> np.ndarray:
        first = np.floor(n * p).astype(np.int64)[:, None]
        k = np.clip(first + window, 0, n)
        return np.asarray(k[np.arange(len(p)), (bdtr(k, n, p[:, None]) < level / 2).sum(axis=1)])

    return reached(z), n - reached(1 - z)


def chance_inside(n: int, points: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Chance that the numbers of n uniform values at or below all points lie from low to high, exact to rounding.

    Numbers between points are multinomial: independent Poisson numbers of mean n times the widths, given that they add
    up to n. So the chances of numbers at a point are a convolution of those at the point before, cut at the band.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.ranks import chance_inside
    >>> round(chance_inside(2, np.array([0.5]), np.array([1]), np.array([1])), 12)  # one value of two below 1/2
    0.5
    """
    from scipy.special import gammaln

    widths = np.diff(np.concatenate([[0.0], points, [1.0]]))
    low, high = np.append(low, n), np.append(high, n)
    first, chances = 0, np.ones(1)
    for width, bottom, top in zip(widths, low, high, strict=True):
        if top < max(bottom, first):  # numbers never fall: an end below a lower end before it leaves none
            return 0.0
        steps = np.arange(top - first + 1)
        mean = n * width
        poisson = np.exp(steps * np.log(mean) - mean - gammaln(steps + 1))
        moved = np.convolve(chances, poisson)[: top - first + 1]
        start = max(bottom - first, 0)
        chances, first = moved[start:], first + start
    whole = np.exp(n * np.log(n) - n - gammaln(n + 1))
    return float(min(chances.sum() / whole, 1.0))
