"""Experts that bet: maps that are fixed, and kernel regressions that learn from the past alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from kernelcal.monitor.cells import CellBets, Kind

__all__ = ["Expert", "experts_of"]


_SLOPES = (0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.45, 1.8, 2.4)
_SHIFTS = (-0.8, -0.4, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4, 0.8)
_WIDTHS = (0.5, 0.65, 0.8, 0.9, 1.0, 1.12, 1.3, 1.6, 2.2)
_UNIFORM = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)  # shares of equal probabilities
_OF_KERNELS, _OF_UNIFORM = 0.25, 0.1  # of the money
_FEATURES = 64
_FARTHEST = 3.0  # of a bet, in logits
_LARGEST_LOGIT = 40.0
_MOST_CLASSES = 40  # whose biases a map learns
_FORGOTTEN = 1000.0  # rows after which kernel experts of the second kind have forgotten
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

    def learn(self, bets: CellBets) -> None:
        """Take rows in, which change nothing yet: the state is that of the beginning of the block."""

    def turn(self, rows: int) -> None:
        """End a block of so many rows: what was taken in changes the state."""

    def state(self) -> dict[str, np.ndarray]:
        """Return what was learned."""
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take back what was learned."""

    def join(self, other: Any) -> None:
        """Add what another one has learned from other rows."""


def _of_outcomes(values: np.ndarray, bets: CellBets) -> np.ndarray:
    """Values of shape (n, J, ...) at the outcome; where it may lie in several cells the least of them."""
    rows = np.arange(len(bets))
    found = values[rows, bets.low]
    for k in np.flatnonzero(bets.high > bets.low):
        found[k] = values[k, bets.low[k] : bets.high[k] + 1].min(axis=0)
    return found


class LogitMaps(Expert):
    """``logit q = a logit p + b`` for two classes."""

    def __init__(self) -> None:
        self.slopes, self.shifts = (x.ravel() for x in np.meshgrid(_SLOPES, _SHIFTS, indexing="ij"))
        self.number, self.share = len(self.slopes), 1 - _OF_KERNELS - _OF_UNIFORM

    def log_bets(self, bets: CellBets) -> np.ndarray:
        """Return log q - log p of the label."""
        with np.errstate(divide="ignore"):
            logs = np.log(bets.p)
        logit = np.clip(logs[:, 1] - logs[:, 0], -_LARGEST_LOGIT, _LARGEST_LOGIT)
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
        self.number, self.share = len(_SLOPES), (1 - _OF_KERNELS - _OF_UNIFORM) / 2

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


class ClassScales(Expert):
    """``q ~ p exp(t log p + s 1[top] + b_class)``, learned, for several classes: a normal prior of sd tau."""

    def __init__(self, classes: int) -> None:
        self.spreads = np.array([0.1, 0.3])
        self.classes, self.biases = classes, classes if classes <= _MOST_CLASSES else 0
        self.number, self.share = 2, (1 - _OF_KERNELS - _OF_UNIFORM) / 2
        size = 2 + self.biases
        self.precision = np.stack([np.eye(size) / s**2 for s in self.spreads])
        self.theta = np.zeros((2, size))
        self._more, self._slope = np.zeros_like(self.precision), np.zeros_like(self.theta)

    def _scores(self, bets: CellBets) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore"):
            logs = np.log(bets.p)
        logs = np.maximum(logs, -_LARGEST_LOGIT)
        top = np.zeros_like(logs)
        top[np.arange(len(bets)), bets.p.argmax(axis=1)] = 1.0
        return logs, top

    def _told(self, bets: CellBets, k: int, logs: np.ndarray, top: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scores = self.theta[k, 0] * logs + self.theta[k, 1] * top
        if self.biases:
            scores = scores + self.theta[k, 2:]
        scores = np.clip(scores, -10 * _FARTHEST, 10 * _FARTHEST)
        totals = np.log((bets.p * np.exp(scores)).sum(axis=1))
        return scores - totals[:, None], bets.p * np.exp(scores - totals[:, None])

    def log_bets(self, bets: CellBets) -> np.ndarray:
        """Return what both bet."""
        logs, top = self._scores(bets)
        rows = np.arange(len(bets))
        return np.stack([self._told(bets, k, logs, top)[0][rows, bets.low] for k in range(2)], axis=1)

    def learn(self, bets: CellBets) -> None:
        """Add slope and curvature of the log likelihood."""
        logs, top = self._scores(bets)
        rows, n = np.arange(len(bets)), len(bets)
        for k in range(2):
            q = self._told(bets, k, logs, top)[1]
            two = np.stack([logs, top], axis=2)
            mean = (q[:, :, None] * two).sum(axis=1)
            self._slope[k, :2] += (two[rows, bets.low] - mean).sum(axis=0)
            self._more[k, :2, :2] += np.einsum("nj,nja,njb->ab", q, two, two) - mean.T @ mean
            if self.biases:
                hot = np.zeros((n, self.classes))
                hot[rows, bets.low] = 1.0
                self._slope[k, 2:] += (hot - q).sum(axis=0)
                cross = np.einsum("nj,nja->aj", q, two) - mean.T @ q
                self._more[k, :2, 2:] += cross
                self._more[k, 2:, :2] += cross.T
                self._more[k, 2:, 2:] += np.diag(q.sum(axis=0)) - q.T @ q

    def turn(self, rows: int) -> None:
        """Take a step of Newton's method with the precision of all rows so far."""
        self.precision += self._more
        self.theta += np.linalg.solve(self.precision, self._slope[:, :, None])[:, :, 0]
        self._more[:], self._slope[:] = 0.0, 0.0

    def state(self) -> dict[str, np.ndarray]:
        """Return precision, coefficients, and what waits for the end of the block."""
        return {"precision": self.precision, "theta": self.theta, "more": self._more, "slope": self._slope}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take them back."""
        self.precision, self.theta = state["precision"].copy(), state["theta"].copy()
        self._more, self._slope = state["more"].copy(), state["slope"].copy()

    def join(self, other: ClassScales) -> None:
        """Weigh both by their precision, the prior counted once."""
        prior = np.stack([np.eye(len(t)) / s**2 for t, s in zip(self.theta, self.spreads, strict=True)])
        weighed = self.precision @ self.theta[:, :, None] + other.precision @ other.theta[:, :, None]
        self.precision = self.precision + other.precision - prior
        self.theta = np.linalg.solve(self.precision, weighed)[:, :, 0]
        self._more, self._slope = self._more + other._more, self._slope + other._slope


class Uniformed(Expert):
    """``q = (1 - eps) p + eps / J`` for classes: somebody else is right in a share of the rows."""

    def __init__(self) -> None:
        self.shares, self.number, self.share = np.array(_UNIFORM), len(_UNIFORM), _OF_UNIFORM

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
        self.number, self.share = len(self.shifts), 1 - _OF_KERNELS
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


@dataclass
class _Scale:
    """Running mean and spread of features, of the past alone."""

    n: float
    mean: np.ndarray
    squares: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        if self.n < 2:
            return np.clip(x - (self.mean if self.n else x[0]), -10, 10)
        spread = np.sqrt(self.squares / self.n)
        return np.asarray(np.clip((x - self.mean) / np.where(spread > 0, spread, 1.0), -10, 10))

    def add(self, x: np.ndarray) -> None:
        """Take rows in."""
        n, mean = len(x), x.mean(axis=0)
        apart, total = mean - self.mean, self.n + n
        self.squares = self.squares + ((x - mean) ** 2).sum(axis=0) + apart**2 * self.n * n / total
        self.mean, self.n = self.mean + apart * n / total, total


class Kernels(Expert):
    """``q ~ p exp(B f)``, ``f = clip(W phi(prediction), +-3)``: W learned by Newton steps from a normal prior.

    phi are D random Fourier features of a kernel on what is known of the prediction, at several lengthscales. Of one
    precision matrix for all directions the curvature is the largest variance of any of them.
    """

    def __init__(self, kind: Kind, *, forgets: bool) -> None:
        self.basis, self.forgets = kind.basis, forgets
        self.standardised = kind.ordered
        if kind.name == "binary":
            pairs, columns = [(length, tau) for length in (0.05, 0.2, 0.8) for tau in (0.3, 1.0)], 1
        elif kind.ordered:
            pairs, columns = [(length, tau) for length in (1.0, 3.0) for tau in (0.1, 0.3)], 2
        else:
            pairs, columns = [(length, tau) for length in (0.1, 0.3, 1.0) for tau in (0.1, 0.3)], kind.cells
        self.lengths = sorted({length for length, _ in pairs})
        self.at = [self.lengths.index(length) for length, _ in pairs]
        self.spreads = np.array([tau for _, tau in pairs])
        self.frequencies = [_frequencies(kind, length, columns) for length in self.lengths]
        self.number, self.share = len(pairs), _OF_KERNELS / 2
        directions = self.basis.shape[1]
        self.prior = 1 / self.spreads**2
        self.precision = np.stack([np.eye(_FEATURES) * prior for prior in self.prior])
        self.w = np.zeros((self.number, directions, _FEATURES))
        self._more, self._slope = np.zeros_like(self.precision), np.zeros_like(self.w)
        self.scale = _Scale(0.0, np.zeros(columns), np.zeros(columns))
        self._seen = _Scale(0.0, np.zeros(columns), np.zeros(columns))

    def _features(self, bets: CellBets) -> list[np.ndarray]:
        x = self.scale(bets.features) if self.standardised else bets.features
        found = []
        for frequencies in self.frequencies:
            angles = x @ frequencies.T
            found.append(np.concatenate([np.cos(angles), np.sin(angles)], axis=1) * np.sqrt(2 / _FEATURES))
        return found

    def _told(self, bets: CellBets, k: int, phi: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Log e-value of every cell, and q."""
        f = np.clip(phi[self.at[k]] @ self.w[k].T, -_FARTHEST, _FARTHEST)
        scores = f @ self.basis.T
        totals = np.log((bets.p * np.exp(scores)).sum(axis=1, keepdims=True))
        scores -= totals
        return scores, bets.p * np.exp(scores)

    def log_bets(self, bets: CellBets) -> np.ndarray:
        """Return what every expert bets."""
        phi = self._features(bets)
        return np.stack([_of_outcomes(self._told(bets, k, phi)[0], bets) for k in range(self.number)], axis=1)

    def learn(self, bets: CellBets) -> None:
        """Add residuals and curvature of rows."""
        phi, basis = self._features(bets), self.basis
        happened = _mean_of_cells(basis, bets)
        for k in range(self.number):
            q, own = self._told(bets, k, phi)[1], phi[self.at[k]]
            mean = q @ basis
            v = (q @ basis**2 - mean**2).max(axis=1)
            self._more[k] += (own * v[:, None]).T @ own
            self._slope[k] += (happened - mean).T @ own
        if self.standardised:
            self._seen.add(bets.features)

    def turn(self, rows: int) -> None:
        """Take a Newton step; those that forget let the weight of old rows fall by exp(-rows / 1,000)."""
        if self.forgets:
            kept = np.exp(-rows / _FORGOTTEN)
            self.precision *= kept
            self.precision += (1 - kept) * self.prior[:, None, None] * np.eye(_FEATURES)
        self.precision += self._more
        self.w += np.swapaxes(np.linalg.solve(self.precision, np.swapaxes(self._slope, 1, 2)), 1, 2)
        self._more[:], self._slope[:] = 0.0, 0.0
        self.scale = _Scale(self._seen.n, self._seen.mean.copy(), self._seen.squares.copy())

    def state(self) -> dict[str, np.ndarray]:
        """Return what was learned, what waits, and the running scale."""
        own = {"precision": self.precision, "w": self.w, "more": self._more, "slope": self._slope}
        for name, scale in (("scale", self.scale), ("seen", self._seen)):
            own[name] = np.stack([np.full(len(scale.mean), scale.n), scale.mean, scale.squares])
        return own

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take it back."""
        self.precision, self.w = state["precision"].copy(), state["w"].copy()
        self._more, self._slope = state["more"].copy(), state["slope"].copy()
        self.scale, self._seen = (
            _Scale(float(x[0, 0]), x[1].copy(), x[2].copy()) for x in (state["scale"], state["seen"])
        )

    def join(self, other: Kernels) -> None:
        """Weigh both by their precision, the prior counted once; scales are those of all rows."""
        weighed = self.w @ self.precision + other.w @ other.precision
        self.precision = self.precision + other.precision - self.prior[:, None, None] * np.eye(_FEATURES)
        self.w = np.swapaxes(np.linalg.solve(self.precision, np.swapaxes(weighed, 1, 2)), 1, 2)
        self._more, self._slope = self._more + other._more, self._slope + other._slope
        if other._seen.n:
            apart, total = other._seen.mean - self._seen.mean, self._seen.n + other._seen.n
            squares = self._seen.squares + other._seen.squares + apart**2 * self._seen.n * other._seen.n / total
            self._seen = _Scale(total, self._seen.mean + apart * other._seen.n / total, squares)


def _mean_of_cells(basis: np.ndarray, bets: CellBets) -> np.ndarray:
    """Directions at the outcome; where it may lie in several cells their mean under the prediction."""
    found = basis[bets.low].copy()
    for k in np.flatnonzero(bets.high > bets.low):
        cells = slice(bets.low[k], bets.high[k] + 1)
        found[k] = bets.p[k, cells] @ basis[cells] / bets.p[k, cells].sum()
    return found


def _frequencies(kind: Kind, length: float, columns: int) -> np.ndarray:
    """Frequencies of the kernel, shape (D / 2, columns): quantiles of the Cauchy law in one dimension, else drawn."""
    half, rng = _FEATURES // 2, np.random.default_rng(20210414)
    if columns == 1:
        return np.asarray(np.tan(np.pi / 2 * (np.arange(half) + 0.5) / half) / length)[:, None]
    normal = rng.standard_normal((half, columns))
    if kind.ordered:
        return np.asarray(normal / length)  # Gaussian
    return np.asarray(normal / np.abs(rng.standard_normal((half, 1))) / length)  # Laplacian of the Euclidean distance


def experts_of(kind: Kind) -> list[Expert]:
    """Return the experts of a kind; their shares sum to 1."""
    kernels: list[Expert] = [Kernels(kind, forgets=False), Kernels(kind, forgets=True)]
    if kind.name == "binary":
        return [LogitMaps(), Uniformed(), *kernels]
    if kind.ordered:
        return [NormalMaps(kind), *kernels]
    return [PowerMaps(), ClassScales(kind.cells), Uniformed(), *kernels]
