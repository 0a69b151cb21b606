"""Experts that learn how outcomes differ from predictions, from the past alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.special import ndtri

from kernelcal.monitor.cells import CellBets, Kind
from kernelcal.monitor.experts import LARGEST_LOGIT, OF_KERNELS, OF_UNIFORM, Expert
from kernelcal.randomness import generator_of

__all__ = ["ClassScales", "Kernels", "Learner"]


_FEATURES = 64
_FARTHEST = 3.0  # of a bet, in logits
_MOST_CLASSES = 40  # whose biases a map learns
_FORGOTTEN = 1000.0  # rows after which kernel experts of the second kind have forgotten


class Learner(Expert):
    """Experts with a state, which changes after whole blocks of rows.

    Arrays of the state are replaced, never written into: a shallow copy is a copy.
    """

    def learn(self, bets: CellBets) -> None:
        """Take a whole block in: the bets on its rows were made by the state before."""
        raise NotImplementedError

    def state(self) -> dict[str, np.ndarray]:
        """Return what was learned."""
        raise NotImplementedError

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take it back."""
        raise NotImplementedError

    def join(self, other: Any) -> None:
        """Add what another one has learned from other rows."""
        raise NotImplementedError


class ClassScales(Learner):
    """``q ~ p exp(t log p + s 1[top] + b_class)``, learned, for several classes: a normal prior of sd tau.

    A block adds slope and curvature of its log likelihood, and a step of Newton's method follows:
    ``Lambda += sum Cov_q(x)``, ``theta += Lambda^-1 sum (x_y - E_q x)``.
    """

    def __init__(self, classes: int) -> None:
        self.spreads = np.array([0.1, 0.3])
        self.classes, self.biases = classes, classes if classes <= _MOST_CLASSES else 0
        self.number, self.share = 2, (1 - OF_KERNELS - OF_UNIFORM) / 2
        size = 2 + self.biases
        self.precision = np.stack([np.eye(size) / s**2 for s in self.spreads])
        self.theta = np.zeros((2, size))

    def _told(self, bets: CellBets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tables of log p and of the most probable class, (n, J, 2); log e-values and q, each (2, n, J)."""
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(bets.p), -LARGEST_LOGIT)
        top = np.zeros_like(logs)
        top[np.arange(len(bets)), bets.p.argmax(axis=1)] = 1.0
        two = np.stack([logs, top], axis=2)
        scores = np.moveaxis(two @ self.theta[:, :2].T, 2, 0)
        if self.biases:
            scores = scores + self.theta[:, None, 2:]
        scores = np.clip(scores, -10 * _FARTHEST, 10 * _FARTHEST)
        q = bets.p * np.exp(scores)
        totals = q.sum(axis=2, keepdims=True)
        return two, scores - np.log(totals), q / totals

    def log_bets(self, bets: CellBets) -> np.ndarray:
        """Return what both bet."""
        return np.asarray(self._told(bets)[1][:, np.arange(len(bets)), bets.low].T)

    def learn(self, bets: CellBets) -> None:
        """Take a step of Newton's method with the precision of all rows so far."""
        two, _, told = self._told(bets)
        rows = np.arange(len(bets))
        slope, more = np.zeros_like(self.theta), np.zeros_like(self.precision)
        for k, q in enumerate(told):
            mean = (q[:, :, None] * two).sum(axis=1)
            slope[k, :2] = (two[rows, bets.low] - mean).sum(axis=0)
            more[k, :2, :2] = np.einsum("nj,nja,njb->ab", q, two, two) - mean.T @ mean
            if self.biases:
                slope[k, 2:] = np.bincount(bets.low, minlength=self.classes) - q.sum(axis=0)
                more[k, :2, 2:] = np.einsum("nj,nja->aj", q, two) - mean.T @ q
                more[k, 2:, :2] = more[k, :2, 2:].T
                more[k, 2:, 2:] = np.diag(q.sum(axis=0)) - q.T @ q
        self.precision = self.precision + more
        self.theta = self.theta + np.linalg.solve(self.precision, slope[:, :, None])[:, :, 0]

    def state(self) -> dict[str, np.ndarray]:
        """Return precision and coefficients."""
        return {"precision": _triangles(self.precision), "theta": self.theta}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take them back."""
        self.theta = state["theta"]
        self.precision = _squares(state["precision"], self.theta.shape[1])

    def join(self, other: ClassScales) -> None:
        """Weigh both by their precision, the prior counted once."""
        prior = np.eye(self.theta.shape[1]) / self.spreads[:, None, None] ** 2
        weighed = self.precision @ self.theta[:, :, None] + other.precision @ other.theta[:, :, None]
        self.precision = self.precision + other.precision - prior
        self.theta = np.linalg.solve(self.precision, weighed)[:, :, 0]


@dataclass(frozen=True)
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

    def with_rows(self, x: np.ndarray) -> _Scale:
        """Take rows in."""
        mean = x.mean(axis=0)
        return self.with_scale(_Scale(float(len(x)), mean, ((x - mean) ** 2).sum(axis=0)))

    def with_scale(self, other: _Scale) -> _Scale:
        """Both together."""
        if not other.n:
            return self
        apart, total = other.mean - self.mean, self.n + other.n
        squares = self.squares + other.squares + apart**2 * self.n * other.n / total
        return _Scale(total, self.mean + apart * other.n / total, squares)


class Kernels(Learner):
    """``q ~ p exp(B f)``, ``f = clip(W phi(prediction), +-3)``: W learned by Newton steps from a normal prior.

    phi are D random Fourier features of a kernel on what is known of the prediction, at L lengthscales. Each is used by
    G experts, one for every spread tau of the prior that remembers all rows, and one that forgets them. A block adds
    ``Lambda += Phi' V Phi`` and ``W += Lambda^-1 Phi' (B_y - E_q B)``; of one precision matrix for all M directions the
    curvature V is the largest variance of any of them. Those that forget let the precision of old rows fall by
    exp(-rows / 1,000) first.

    Attributes
    ----------
    precision : numpy.ndarray of shape (L, G, D, D)
        Lambda.
    w : numpy.ndarray of shape (L, G, M, D)
        W.
    """

    def __init__(self, kind: Kind) -> None:
        self.basis, self.standardised = kind.basis, kind.ordered
        self.plain = not kind.ordered and kind.name != "binary"  # the basis is the identity
        lengths, spreads, columns = [0.1, 0.3, 1.0], [0.1, 0.3], kind.cells
        if kind.name == "binary":
            lengths, spreads, columns = [0.05, 0.2, 0.8], [0.3, 1.0], 1
        elif kind.ordered:
            lengths, spreads, columns = [0.5, 2.0], [0.1, 0.3], 2
        self.lengths = lengths
        self.spreads = np.array([*spreads, *spreads])
        self.forgets = np.repeat([False, True], len(spreads))
        self.frequencies = np.concatenate([_frequencies(kind, length, columns) for length in self.lengths])
        self.shape = (len(self.lengths), len(self.spreads))
        self.number, self.share = self.shape[0] * self.shape[1], OF_KERNELS
        self.precision = np.tile(self._priors(), (self.shape[0], 1, 1, 1))
        self.w = np.zeros((*self.shape, self.basis.shape[1], _FEATURES))
        self.scale = _Scale(0.0, np.zeros(columns), np.zeros(columns))
        self._last: tuple[CellBets, np.ndarray, np.ndarray] | None = None

    def _priors(self) -> np.ndarray:
        return np.asarray(np.eye(_FEATURES) / self.spreads[:, None, None] ** 2)

    def _features(self, bets: CellBets) -> np.ndarray:
        """phi, shape (L, n, D)."""
        x = self.scale(bets.features) if self.standardised else bets.features
        angles = (x @ self.frequencies.T).reshape(len(bets), len(self.lengths), -1).swapaxes(0, 1)
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=2) * np.sqrt(2 / _FEATURES)

    def _told(self, bets: CellBets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """phi; log e-value of every cell, and q, each of shape (L, n, G, J)."""
        phi, (lengths, copies) = self._features(bets), self.shape
        f = phi @ self.w.reshape(lengths, -1, _FEATURES).swapaxes(1, 2)
        f = np.clip(f, -_FARTHEST, _FARTHEST).reshape(lengths, len(bets), copies, -1)
        scores = f if self.plain else f @ self.basis.T
        q = bets.p[:, None] * np.exp(scores)
        totals = q.sum(axis=3, keepdims=True)
        return phi, scores - np.log(totals), q / totals

    def log_bets(self, bets: CellBets) -> np.ndarray:
        """Return what every expert bets."""
        phi, scores, q = self._told(bets)
        self._last = bets, phi, q  # most often the whole block, which is learned next
        found = scores[:, np.arange(len(bets)), :, bets.low]  # (n, L, G)
        for k in np.flatnonzero(bets.high > bets.low):
            found[k] = scores[:, k, :, bets.low[k] : bets.high[k] + 1].min(axis=2)
        return found.reshape(len(bets), self.number)

    def learn(self, bets: CellBets) -> None:
        """Take a Newton step."""
        if self._last is None or self._last[0] is not bets:
            self.log_bets(bets)
        assert self._last is not None
        _, phi, q = self._last
        mean = q if self.plain else q @ self.basis
        v = ((q if self.plain else q @ self.basis**2) - mean**2).max(axis=3)  # (L, n, G)
        apart = (_mean_of_cells(self.basis, bets)[:, None] - mean).reshape(len(self.lengths), len(bets), -1)
        slopes = (apart.swapaxes(1, 2) @ phi).reshape(self.w.shape)
        roots = phi[:, None] * np.sqrt(np.maximum(v, 0.0)).swapaxes(1, 2)[..., None]
        kept = np.where(self.forgets, np.exp(-len(bets) / _FORGOTTEN), 1.0)[:, None, None]
        precision, places = self.precision * kept, np.arange(_FEATURES)
        precision[..., places, places] += ((1 - kept) / self.spreads[:, None, None] ** 2)[
            ..., 0
        ]  # the prior's diagonal
        precision += roots.swapaxes(2, 3) @ roots
        self.precision = precision
        steps = np.empty_like(self.w)
        for at in np.ndindex(self.shape):
            steps[at] = _solved(self.precision[at], slopes[at])
        self.w = self.w + steps
        if self.standardised:
            self.scale = self.scale.with_rows(bets.features)
        self._last = None

    def state(self) -> dict[str, np.ndarray]:
        """Return what was learned, and the running scale."""
        scale = np.stack([np.full(len(self.scale.mean), self.scale.n), self.scale.mean, self.scale.squares])
        return {"precision": _triangles(self.precision), "w": self.w, "scale": scale}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take it back."""
        self.precision, self.w = _squares(state["precision"], _FEATURES), state["w"]
        n, mean, squares = state["scale"]
        self.scale, self._last = _Scale(float(n[0]), mean, squares), None

    def join(self, other: Kernels) -> None:
        """Weigh both by their precision, the prior counted once; the scale is that of all rows."""
        weighed = self.w @ self.precision + other.w @ other.precision
        self.precision = self.precision + other.precision - self._priors()
        self.w = np.stack(
            [[_solved(self.precision[a, b], weighed[a, b]) for b in range(self.shape[1])] for a in range(self.shape[0])]
        )
        self.scale, self._last = self.scale.with_scale(other.scale), None


def _solved(precision: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Solve ``x Lambda = rows`` by Cholesky's factors of a positive definite matrix, of which one triangle is read."""
    found, info = dposv(precision.T, rows.T)[1:]
    if info:
        raise np.linalg.LinAlgError("the precision of an expert is not positive definite")
    return np.asarray(found.T)


def _triangles(matrices: np.ndarray) -> np.ndarray:
    """Lower triangles of symmetric matrices (..., D, D) as (..., D (D + 1) / 2)."""
    return np.asarray(matrices[(..., *np.tril_indices(matrices.shape[-1]))])


def _squares(triangles: np.ndarray, size: int) -> np.ndarray:
    """Symmetric matrices of their lower triangles."""
    full, (rows, columns) = np.empty((*triangles.shape[:-1], size, size)), np.tril_indices(size)
    full[..., rows, columns] = triangles
    full[..., columns, rows] = triangles
    return full


def _mean_of_cells(basis: np.ndarray, bets: CellBets) -> np.ndarray:
    """Directions at the outcome; where it may lie in several cells their mean under the prediction."""
    found = basis[bets.low]
    for k in np.flatnonzero(bets.high > bets.low):
        cells = slice(bets.low[k], bets.high[k] + 1)
        found[k] = bets.p[k, cells] @ basis[cells] / bets.p[k, cells].sum()
    return found


def _frequencies(kind: Kind, length: float, columns: int) -> np.ndarray:
    """Frequencies of the kernel, shape (D / 2, columns).

    Of one dimension quantiles of the Cauchy law; of place and width normal scores of Halton's sequence, which cover the
    plane more evenly than random ones; else random ones.
    """
    half = _FEATURES // 2
    if columns == 1:
        return np.asarray(np.tan(np.pi / 2 * (np.arange(half) + 0.5) / half) / length)[:, None]
    if kind.ordered:
        return np.asarray(ndtri([[_mirrored(k, base) for base in (2, 3)] for k in range(1, half + 1)]) / length)
    rng = generator_of(0, "features of a monitor")  # alike everywhere
    normal = rng.standard_normal((half, columns))
    return np.asarray(normal / np.abs(rng.standard_normal((half, 1))) / length)  # Laplacian of the Euclidean distance


def _mirrored(k: int, base: int) -> float:
    """Digits of a number in reverse order behind the point (van der Corput)."""
    found, share = 0.0, 1.0
    while k:
        share /= base
        found, k = found + share * (k % base), k // base
    return found
