"""Distribution functions that are linear between knots, with tails: the mathematics of `Quantiles`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.predictions.special_functions import count_below

__all__ = ["Piecewise"]


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Distribution functions with ``F(values) = levels``, linear between them.

    Attributes
    ----------
    values : numpy.ndarray of shape (n, Q)
        Knots, not decreasing; equal ones are point masses.
    levels : numpy.ndarray of shape (Q,)
        Increasing levels in [0, 1].
    exponential : bool
        Whether tails decay exponentially or have constant density.
    """

    values: np.ndarray
    levels: np.ndarray
    exponential: bool

    @property
    def lower(self) -> np.ndarray:
        """Lengths of the lower tails, shape (n,): mass over density at the edge; 0 beside a point mass."""
        v, q = self.values, self.levels
        return (v[:, 1] - v[:, 0]) * (q[0] / (q[1] - q[0]))

    @property
    def upper(self) -> np.ndarray:
        """Lengths of the upper tails, shape (n,)."""
        v, q = self.values, self.levels
        return (v[:, -1] - v[:, -2]) * ((1 - q[-1]) / (q[-1] - q[-2]))

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the distributions, shape (n,): infinite only where an exponential tail has mass."""
        low, high = self.values[:, 0] - self.lower, self.values[:, -1] + self.upper
        endless = self.exponential & (np.stack([self.lower, self.upper]) > 0)
        return np.where(endless[0], -np.inf, low), np.where(endless[1], np.inf, high)

    def cdf(self, y: np.ndarray, *, equal: bool) -> np.ndarray:
        """P(Y <= y) if `equal`, else P(Y < y), shape (..., n)."""
        count = count_below(self.values, y, equal=equal)
        k, start, end = self._segment(count - 1)
        share = (y - start) / np.where(end > start, end - start, 1.0)  # no target lies inside a segment that is a point
        inner = (1 - share) * self.levels[k] + share * self.levels[k + 1]
        first, last = self.levels[0], self.levels[-1]
        below = first * self._decay(_ratio(self.values[:, 0] - y, self.lower))
        above = last + (1 - last) * (1 - self._decay(_ratio(y - self.values[:, -1], self.upper)))
        return np.where(count == 0, below, np.where(count == len(self.levels), above, inner))

    def quantile(self, levels: np.ndarray) -> np.ndarray:
        """Smallest value whose distribution function reaches the levels, shape (..., n)."""
        q = self.levels
        k, start, end = self._segment(np.searchsorted(q, levels) - 1)
        share = (levels - q[k]) / (q[k + 1] - q[k])
        inner = np.where(share < 1, start + share * (end - start), end)  # both knots are hit exactly
        first, last = self.values[:, 0], self.values[:, -1]
        lower, upper = self.lower, self.upper
        with np.errstate(divide="ignore", invalid="ignore"):  # levels 0 and 1, and tails without mass
            below = first - np.where(lower > 0, lower * self._distance(levels / q[0]), 0.0)
            above = last + np.where(upper > 0, upper * self._distance((1 - levels) / (1 - q[-1])), 0.0)
        return np.where(levels <= q[0], below, np.where(levels > q[-1], above, inner))

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Logarithm of the density, shape (..., n), for rows without point masses."""
        count = count_below(self.values, y, equal=True)
        k, start, end = self._segment(count - 1)
        inside = np.log((self.levels[k + 1] - self.levels[k]) / (end - start))
        below, above = self.values[:, 0] - y, y - self.values[:, -1]
        beyond = np.maximum(below, above)
        ratio = np.where(below > above, _ratio(below, self.lower), _ratio(above, self.upper))
        tail = -ratio if self.exponential else np.where(ratio <= 1, 0.0, -np.inf)
        return inside + np.where(beyond > 0, tail, 0.0)

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """E exp(i w Y), shape (n, D): a sum over segments, stable for short ones since sinc is."""
        knots, masses = self._knots()
        total = np.zeros((len(self.values), len(frequencies)), dtype=np.complex128)
        for k, mass in enumerate(masses):
            start, end = knots[:, k, None], knots[:, k + 1, None]
            wave = np.exp(0.5j * (start + end) * frequencies)
            total += mass * wave * np.sinc((end - start) * frequencies / (2 * np.pi))
        return total + self._exponential_tails(frequencies) if self.exponential else total

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Integral of ``(F(x) - 1[y <= x])^2``, shape (n,)."""
        values, levels, low_mass, high_mass = (
            self.values,
            self.levels,
            float(self.levels[0]),
            float(1 - self.levels[-1]),
        )
        below, above = values[:, 0] - self.lower, values[:, -1] + self.upper
        if not self.exponential:  # the tails are two more segments, with nothing beyond
            values = np.column_stack([below, values, above])
            levels = np.concatenate([[0.0], levels, [1.0]])
            low_mass = high_mass = 0.0
        tails = ((values[:, 0] - y, low_mass, self.lower), (y - values[:, -1], high_mass, self.upper))
        score = _segments(values, levels, y)
        for outside, mass, length in tails:
            score = score + _tail(np.maximum(outside, 0), mass, length)
        return score

    def _knots(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends and masses of all uniform pieces, to which linear tails belong."""
        if self.exponential:
            return self.values, np.diff(self.levels)
        low, high = self.support
        return np.column_stack([low, self.values, high]), np.diff(self.levels, prepend=0.0, append=1.0)

    def _exponential_tails(self, frequencies: np.ndarray) -> np.ndarray:
        below = np.exp(1j * self.values[:, :1] * frequencies) / (1 + 1j * self.lower[:, None] * frequencies)
        above = np.exp(1j * self.values[:, -1:] * frequencies) / (1 - 1j * self.upper[:, None] * frequencies)
        return self.levels[0] * below + (1 - self.levels[-1]) * above

    def _segment(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number, start and end of segments, shape (..., n); beyond the knots the outermost ones."""
        k = np.clip(index, 0, len(self.levels) - 2)
        rows = np.arange(len(self.values))
        return k, self.values[rows, k], self.values[rows, k + 1]

    def _decay(self, ratio: np.ndarray) -> np.ndarray:
        """Share of the mass of a tail beyond a distance, given in lengths of the tail."""
        return np.exp(-np.maximum(ratio, 0.0)) if self.exponential else np.clip(1 - ratio, 0.0, 1.0)

    def _distance(self, share: np.ndarray) -> np.ndarray:
        """Inverse of the decay."""
        return -np.log(share) if self.exponential else 1 - share


def _ratio(distance: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Distance in lengths of a tail; a tail without length has ended at once."""
    some = length > 0
    return np.where(some, distance / np.where(some, length, 1.0), np.inf)


def _segments(values: np.ndarray, levels: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Integral between the first and the last value; the square of a linear function from a to b is (a²+ab+b²)/3."""
    start, end = values[:, :-1], values[:, 1:]
    middle = np.clip(y[:, None], start, end)
    width = end - start
    share = np.divide(middle - start, width, out=np.zeros_like(width), where=width > 0)
    at_middle = levels[:-1] + share * np.diff(levels)
    left = (middle - start) * _square(levels[:-1], at_middle)
    right = (end - middle) * _square(1 - at_middle, 1 - levels[1:])
    return (left + right).sum(axis=1)


def _square(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * a + a * b + b * b) / 3


def _tail(outside: np.ndarray, mass: float, length: np.ndarray) -> np.ndarray:
    """Integral over a tail ``mass e^{-x / length}`` with the outcome at the distance `outside` in it (0: not in it).

    ``int_0^d (1 - q e^{-x/l})^2 dx + int_d^inf (q e^{-x/l})^2 dx = d - 2 q l (1 - e^{-d/l}) + q^2 l / 2``.
    """
    ratio = np.divide(outside, length, out=np.zeros_like(outside), where=length > 0)
    return outside + mass * length * (2 * np.expm1(-ratio) + mass / 2)
