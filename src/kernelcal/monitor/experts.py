"""Experts that bet by maps of the predictions, which are fixed: they keep nothing but money."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtr

from kernelcal.monitor.cells import CellBets, Kind

__all__ = ["LARGEST_LOGIT", "OF_KERNELS", "OF_UNIFORM", "Expert", "LogitMaps", "NormalMaps", "PowerMaps", "Uniformed"]


_SLOPES = (0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.45, 1.8, 2.4)
_SHIFTS = (-0.8, -0.4, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4, 0.8)
_WIDTHS = (0.5, 0.65, 0.8, 0.9, 1.0, 1.12, 1.3, 1.6, 2.2)
_UNIFORM = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)  # shares of equal probabilities
OF_KERNELS, OF_UNIFORM = 0.25, 0.1  # of the money
LARGEST_LOGIT = 40.0
_IMPOSSIBLE = -1e300  # logarithm of a probability of 0, which sums can hold


class Expert:
    """A group of experts that share their work.

    Attributes
    ----------
    number : int
        How many there are.
    share : float
        Part of the money of all of them.
    """

    number: int
    share: float

    def log_bets(self, bets: CellBets) -> np.ndarray:
        """Logarithms of e-values by the state as it is, shape (n, number); of ambiguous outcomes the least."""
        raise NotImplementedError


class LogitMaps(Expert):
    """``logit q = a logit p + b`` for two classes."""

    def __init__(self) -> None:
        self.slopes, self.shifts = (x.ravel() for x in np.meshgrid(_SLOPES, _SHIFTS, indexing="ij"))
        self.number, self.share = len(self.slopes), 1 - OF_KERNELS - OF_UNIFORM

    def log_bets(self, bets: CellBets) -> np.ndarray:
        """Return log q - log p of the label."""
        with np.errstate(divide="ignore"):
            logs = np.log(bets.p)
        logit = np.clip(logs[:, 1] - logs[:, 0], -LARGEST_LOGIT, LARGEST_LOGIT)
        sign = np.where(bets.low == 1, 1.0, -1.0)[:, None]
        score = np.multiply.outer(logit, self.slopes) + self.shifts
        own = np.maximum(logs[np.arange(len(bets)), bets.low], _IMPOSSIBLE)
        return -np.logaddexp(0.0, -sign * score) - own[:, None]

    def words(self, weights: np.ndarray) -> tuple[float, float]:
        """Mean slope and shift of experts of these weights."""
        return float(weights @ self.slopes), float(weights @ self.shifts)


class PowerMaps(Expert):
    """``q ~ p^a`` for several classes."""

    def __init__(self) -> None:
        self.slopes, self.shifts = np.array(_SLOPES), np.zeros(len(_SLOPES))
        self.number, self.share = len(_SLOPES), (1 - OF_KERNELS - OF_UNIFORM) / 2

    def log_bets(self, bets: CellBets) -> np.ndarray:
        """Return log q - log p of the label."""
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(bets.p), _IMPOSSIBLE)
        own = logs[np.arange(len(bets)), bets.low]
        found = np.empty((len(bets), self.number))
        for k, a in enumerate(self.slopes):
            found[:, k] = (a - 1) * own - np.log(np.exp(a * np.maximum(logs, -700 / a)).sum(axis=1))
        return np.where((own <= _IMPOSSIBLE)[:, None], np.inf, found)

    def words(self, weights: np.ndarray) -> tuple[float, float]:
        """Mean power, and no shift."""
        return float(weights @ self.slopes), 0.0


class Uniformed(Expert):
    """``q = (1 - eps) p + eps / J`` for classes: somebody else is right in a share of the rows."""

    def __init__(self) -> None:
        self.shares, self.number, self.share = np.array(_UNIFORM), len(_UNIFORM), OF_UNIFORM

    def log_bets(self, bets: CellBets) -> np.ndarray:
        """Return log(1 - eps + eps / (J p))."""
        own = bets.p[np.arange(len(bets)), bets.low]
        with np.errstate(divide="ignore"):
            odds = 1 / (bets.p.shape[1] * own)
            return np.asarray(np.log(1 - self.shares + np.multiply.outer(odds, self.shares)))


class NormalMaps(Expert):
    """Normal scores of outcomes that are N(m, s^2) in place of N(0, 1), for ordered cells."""

    def __init__(self, kind: Kind) -> None:
        self.shifts, self.slopes = (x.ravel() for x in np.meshgrid(_SHIFTS, _WIDTHS, indexing="ij"))
        self.number, self.share = len(self.shifts), 1 - OF_KERNELS
        z = (kind.edges[:, None] - self.shifts) / self.slopes
        upper = np.where(z[:-1] > 0, ndtr(-z[:-1]) - ndtr(-z[1:]), ndtr(z[1:]) - ndtr(z[:-1]))
        with np.errstate(divide="ignore"):
            table = np.log(upper) - np.log(kind.probabilities)[:, None]
        far = np.stack([log_ndtr(z[1]), *[np.full(self.number, -np.inf)] * (kind.cells - 2), log_ndtr(-z[-2])])
        self.table = np.maximum(table, far - np.log(kind.probabilities)[:, None])

    def log_bets(self, bets: CellBets) -> np.ndarray:
        """Return rows of the table."""
        found = self.table[bets.low]
        for k in np.flatnonzero(bets.high > bets.low):
            found[k] = self.table[bets.low[k] : bets.high[k] + 1].min(axis=0)
        return found

    def words(self, weights: np.ndarray) -> tuple[float, float]:
        """Mean width and shift of experts of these weights."""
        return float(weights @ self.slopes), float(weights @ self.shifts)
