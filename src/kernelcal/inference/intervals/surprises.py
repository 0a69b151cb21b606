"""Pseudo-surprises: what noise could have been where few outcomes were surprising."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.inference.draws import multinomial_counts
from kernelcal.pairs import PairMatrix, threaded_map
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import ClassResidual, FeatureResidual, Residual

__all__ = [
    "MOST",
    "Flips",
    "LabelLaw",
    "Part",
    "Surprises",
    "deepest",
    "depth",
    "expected",
    "far_surprises",
    "label_law",
    "label_law_of_sums",
    "surprises_of",
]


MOST = 6.0  # standard deviations: draws do not tell deeper levels apart, and flips grow with their square
_AT_ONCE = 2**21  # numbers of one part of the flipped rows
_BYTES = 2**27

Part = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray] | None]  # features, and their factors of counts


@dataclass(frozen=True, eq=False)
class Flips:
    """Changes of ``sum_{i != j} M_ij <x_i, x_j>`` over drawn rows x where some of the rows have another outcome.

    Every drawn row has its outcome replaced with probability ``eps_i / (1 + eps_i)``, where ``eps_i = eps w_i`` for
    case weights w of mean 1 and ``n eps`` is the number of pseudo-outcomes; all replaced outcomes of a draw are the
    same label, which is drawn from the label law. Replacing the label of a row changes its residual by the difference
    of the features of two labels, so that only the rows of the matrix that are flipped are looked at: about ten a draw.

    Attributes
    ----------
    source : Draws
        Where the counts come from: the numbers 0 to n - 1 of a draw are its rows, n to 2 n - 1 say which of them are
        flipped, number 2 n is for the label.
    draws : int
        How many.
    rows : callable
        Rows of the matrix M, for a slice: an array that may be overwritten.
    parts : sequence of (features, factors)
        Drawn rows, ``x = sum_parts factors(counts) * features``; a factor that is None is 1.
    features : numpy.ndarray of shape (m, r)
        Of every label.
    scale : numpy.ndarray of shape (n,)
        By which residuals are multiplied.
    targets : numpy.ndarray of shape (n,)
        Observed labels.
    weights : numpy.ndarray of shape (n,)
        Case weights of mean 1.
    law : LabelLaw
        Of the labels.
    """

    source: Any
    draws: int
    rows: Callable[[slice], np.ndarray]
    parts: Sequence[Part]
    features: np.ndarray
    scale: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    law: LabelLaw
    _known: dict[float, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, request: Any, matrix: PairMatrix) -> Flips | None:
        """Flips of the bootstrap of all pairs; None for what is not classes."""
        case, residual = request.case, request.prepared.residual.double()
        if not isinstance(residual, ClassResidual) or not isinstance(case.predictions, ClassPredictions):
            return None
        weights = np.ones(len(case)) if case.weights is None else case.weights
        observed = np.asarray(residual.features(case.targets))
        matrix.ready  # noqa: B018
        return cls(
            request.source,
            request.run.draws,
            matrix.forms.kernel_rows,
            [(observed, lambda counts: counts)],
            class_features(residual),
            weights,
            np.asarray(case.targets).astype(np.intp),
            weights,
            label_law(case.targets, [case.predictions], case.weights),
        )

    def changes(self, z: float) -> np.ndarray:
        """Changes of every draw with the surprises of z standard deviations, shape (draws,)."""
        surprises = expected(min(z, MOST))
        if surprises not in self._known:
            n = len(self.targets)
            batches = row_slices(self.draws, max(1, _BYTES // (32 * n)))
            self._known[surprises] = np.concatenate([self._of(part, surprises) for part in batches])
        return self._known[surprises]

    def _of(self, part: slice, surprises: float) -> np.ndarray:
        n, draws = len(self.targets), part.stop - part.start
        uniforms = self.source.uniforms(part.start, part.stop, 2 * n + 1)
        counts = multinomial_counts(uniforms[:, :n])
        eps = surprises * self.law.each / n * self.weights / self.weights.mean()
        place = (uniforms[:, :n] * n).astype(np.intp)
        flipped = uniforms[:, n : 2 * n] < (eps / (1 + eps))[place]
        bounds = np.cumsum(self.law.labels)[:-1]
        labels = np.searchsorted(bounds, uniforms[:, 2 * n], side="right")
        flipped &= self.targets[place] != labels[:, None]
        flips = np.zeros((n, draws))
        draw, number = np.nonzero(flipped)
        np.add.at(flips, (place[draw, number], draw), 1.0)
        return self.of_flips(counts, flips, labels)

    def of_flips(self, counts: np.ndarray, flips: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Changes for how often each row is drawn and flipped, of shape (n, B), and the label of each draw."""
        total = np.zeros(counts.shape[1])
        factors = [None if factor is None else factor(counts) for _, factor in self.parts]
        for rows in strips(slice(0, len(self.targets), 1), len(self.targets)):
            row, draw = np.nonzero(flips[rows])
            if not len(row):
                continue
            strip = self.rows(rows)
            strip[np.arange(len(strip)), np.arange(rows.start, rows.stop)] = 0
            for some in row_slices(len(row), max(1, _AT_ONCE // len(self.targets))):
                r, b = row[some], draw[some]
                found = self._pairs(r + rows.start, b, strip[r], factors, flips, labels)
                np.add.at(total, b, 2 * flips[r + rows.start, b] * found)
        return total

    def _pairs(
        self,
        rows: np.ndarray,
        draws: np.ndarray,
        strip: np.ndarray,
        factors: Sequence[np.ndarray | None],
        flips: np.ndarray,
        labels: np.ndarray,
    ) -> np.ndarray:
        """``<delta_i, sum_j M_ij (x_j + f_j delta_j / 2)>`` of flipped rows, delta the change of a residual."""
        new = self.features[labels[draws]]
        delta = self.scale[rows, None] * (new - self.features[self.targets[rows]])
        seen = (delta @ self.features.T)[:, self.targets]
        total = 0.5 * flips[:, draws].T * self.scale * (np.einsum("pk,pk->p", delta, new)[:, None] - seen)
        for (features, _), factor in zip(self.parts, factors, strict=True):
            inner = delta @ features.T
            total += inner if factor is None else inner * factor[:, draws].T
        return np.einsum("pn,pn->p", strip, total)


_FEWEST = 2.0  # surprises that are added: those of Agresti and Coull at 95 %
_DEEPEST = 38.0  # standard deviations: beyond, the normal tail is 0 in float64


def expected(z: float) -> float:
    """Pseudo-surprises at z standard deviations, ``max(2, z^2 / 2)``: a deeper level asks for more of them."""
    return max(_FEWEST, z * z / 2) if z > 0 else _FEWEST


def deepest(meets: Callable[[float], bool], most: float = _DEEPEST) -> float:
    """Return the z from 0 at which a condition begins to be met, by bisection up to the most."""
    low, high = 0.0, most
    if meets(low) or not meets(high):
        return low if meets(low) else high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return low


def depth(gap: Callable[[float], float]) -> float:
    """Standard deviations at which a gap that grows with them closes; a rounding less, which is the safe side."""
    from scipy.optimize import brentq  # imported when needed: the import of kernelcal stays light

    if gap(_DEEPEST) < 0:
        return _DEEPEST
    return float(brentq(gap, 0.0, _DEEPEST, xtol=1e-12, rtol=1e-12)) * (1 - 1e-11)


@dataclass(frozen=True, eq=False)
class LabelLaw:
    """Law of the labels of pseudo-surprises.

    Attributes
    ----------
    labels : numpy.ndarray of shape (m,)
        Probability v of every label, ``v_l`` proportional to ``1/m + sum_{i: y_i = l} (1 - p_il)``: labels that
        surprised are likelier to do so again, and one outcome in advance goes to each.
    each : float
        Pseudo-outcomes that make one surprise, ``1 / mean_i (1 - <v, p_i>)``.
    """

    labels: np.ndarray
    each: float


def label_law(targets: np.ndarray, batches: Sequence[ClassPredictions], weights: np.ndarray | None = None) -> LabelLaw:
    """Label law of one model, or of several on the same outcomes, whose surprises are averaged."""
    n, m = len(targets), batches[0].n_classes
    rows, labels = np.arange(n), np.asarray(targets).astype(np.intp)
    w = np.ones(n) if weights is None else weights / weights.mean()
    tables = [to_numpy(batch.probabilities).astype(np.float64, copy=False) for batch in batches]
    surprised = np.sort([1 - p[rows, labels] for p in tables], axis=0).mean(axis=0)  # whatever the order of models
    share = np.sort([w @ p for p in tables], axis=0).mean(axis=0)
    return label_law_of_sums(np.bincount(labels, w * surprised, minlength=m), share, n)


def label_law_of_sums(surprised: np.ndarray, predicted: np.ndarray, n: int) -> LabelLaw:
    """Return the same from the sums of ``1 - p_il`` over rows with label l, and of p_il over all n rows."""
    v = 1 / len(surprised) + surprised
    v /= v.sum()
    return LabelLaw(v, 1 / max(1 - float(v @ predicted) / n, 1e-12))


@dataclass(frozen=True, eq=False)
class Surprises:
    """Sums over pairs with pseudo-rows, as polynomials in their weight eps.

    Each of k rows is given pseudo-outcomes of weight ``eps = c each / k`` in all, c the number of surprises that are
    added. Together with the n real rows they weigh ``W = n + k eps``.

    Attributes
    ----------
    n, rows : int
        Rows, and those of them that have pseudo-outcomes.
    each : float
        Pseudo-outcomes that make one surprise.
    total, squares : float
        Sums of h and h^2 over pairs of different real rows.
    linear, square, own : float
        Sums of h over pairs of a pseudo-row and a real one, over pairs of pseudo-rows, and over pairs of a pseudo-row
        with itself; the first two are 0 where only noise is added.
    mixed, both : float
        The first two of h^2, or bounds of them.
    moves : bool
        Whether pseudo-rows move the estimate.
    """

    n: int
    rows: int
    each: float
    total: float
    squares: float
    linear: float
    square: float
    own: float
    mixed: float
    both: float
    moves: bool = True

    def weight(self, z: float) -> tuple[float, float]:
        """Weight eps of the pseudo-outcomes of a row at z standard deviations, and W."""
        eps = expected(z) * self.each / self.rows
        return eps, self.n + self.rows * eps

    def value(self, z: float) -> float:
        """Unbiased mean over the pairs of all rows, real and pseudo."""
        if not self.moves:
            return self.total / (self.n * (self.n - 1))
        eps, w = self.weight(z)
        return (self.total + 2 * eps * self.linear + eps**2 * self.square - eps * self.own) / (w * (w - 1))

    def mean_square(self, z: float) -> float:
        """Mean of h^2 over the same pairs."""
        eps, w = self.weight(z)
        return (self.squares + 2 * eps * self.mixed + eps**2 * self.both) / (w * (w - 1))

    def noise(self, z: float) -> float:
        """Largest variance of the noise along one direction: the root of half the degenerate variance."""
        w = self.weight(z)[1]
        return math.sqrt(max(self.mean_square(z) - self.value(z) ** 2, 0.0) / (w * (w - 1)))

    def root(self, z: float) -> float:
        """Upper end of the root at z standard deviations."""
        noise = self.noise(z)
        return math.sqrt(max(self.value(z), 0.0) + noise) + z * math.sqrt(noise)

    def ball(self, z: float, centre: float, reach: float, noise: float) -> tuple[float, float]:
        """Ends of a ball of some centre and reach, whose pairs of a row with itself have the sum `noise`."""
        eps, w = self.weight(z)
        if self.moves:
            whole = self.total + noise + 2 * eps * self.linear + eps**2 * self.square
            centre = math.sqrt(max(whole, 0.0)) / w
        reach = math.sqrt(reach**2 + z**2 * eps * self.own / w**2)
        return centre - reach, centre + reach

    def inflation(self, linear: float, degenerate: float, z: float) -> float:
        """Ratio of the standard deviation with the noise of pseudo-rows to that without, at least 1."""
        variance = linear + degenerate
        return math.sqrt(max(1.0, (linear + 2 * self.noise(z) ** 2) / variance)) if variance > 0 else 1.0

    def of_blocks(self, size: int, z: float) -> float:
        """Upper end of the squared error at z standard deviations, for a mean over blocks of so many rows.

        It lies above the moved mean by what it does for all pairs, and by the noise that fewer pairs have besides.
        """
        value, pairs = self.value(z), self.noise(z) ** 2
        more = max(self.mean_square(z) / (self.n * (size - 1)) - pairs, 0.0)
        return value + math.hypot(self.root(z) ** 2 - value, z * math.sqrt(2 * more))


_AT_ONCE, _ROWS, _PAIRS = 2**19, 1024, 2**25


def pseudo_rows(n: int) -> slice:
    """Rows that have pseudo-outcomes: all up to 1,024, above so many evenly spaced, fewer of very many."""
    most = max(128, min(_ROWS, _PAIRS // n))
    return slice(0, n, -(-n // most))


def strips(rows: slice, n: int) -> list[slice]:
    """Slices of these rows whose strips of n columns fit the cache."""
    step, count = rows.step or 1, len(range(*rows.indices(n)))
    parts = row_slices(count, max(16, _AT_ONCE // n))
    return [slice(part.start * step, min(part.stop * step, n), step) for part in parts]


def surprises_of(
    matrix: PairMatrix, residual: Residual, case: Any, sums: tuple[float, float | None] | None = None
) -> Surprises | None:
    """Sums with pseudo-rows of the pairs of a matrix; None where residuals have no bound.

    `sums` are those of h and h^2 over pairs of different rows, where they are known already; of a sum of squares that
    is None at most 1,024 rows are looked at. Cost: kernel values of at most 1,024 rows with all others, times the
    residual features.
    """
    if sums is None:
        sums = float((matrix.row_sums - matrix.diagonal).sum()), float(matrix.row_squares.sum())
    total, squares = sums[0], _some_squares(matrix) if sums[1] is None else sums[1]
    residual = residual.double()
    if isinstance(residual, ClassResidual) and isinstance(case.predictions, ClassPredictions):
        law = label_law(case.targets, [case.predictions], case.weights)
        return _of_classes(matrix, residual, case, law, total, squares)
    norms = squared_lengths(residual, case.targets)
    return far_surprises(matrix, residual, norms, total, squares)


def _some_squares(matrix: PairMatrix) -> float:
    """Sum of h^2 over pairs of different rows, from some rows with all others."""
    n, some = len(matrix), pseudo_rows(len(matrix))

    def work(rows: slice) -> np.ndarray:
        strip = matrix.rows(rows)
        own = strip[np.arange(len(strip)), np.arange(*rows.indices(n))]
        return np.asarray((strip**2).sum() - (own**2).sum())

    matrix.ready  # noqa: B018  made before threads ask for it
    return float(np.sum(threaded_map(work, strips(some, n), None))) * n / len(range(*some.indices(n)))


def squared_lengths(residual: Residual, targets: np.ndarray) -> np.ndarray:
    """Return |r_i|^2, shape (n,)."""
    if isinstance(residual, FeatureResidual):
        r = np.asarray(residual.features(targets))
        return np.einsum("nk,nk->n", r, r)
    every = slice(None)
    return np.asarray(residual.inner(targets).aligned(every, every))


def class_features(residual: ClassResidual) -> np.ndarray:
    """Feature of every label, shape (m, r)."""
    return np.eye(residual.dimension) if residual.class_features is None else residual.class_features


def _of_classes(
    matrix: PairMatrix, residual: ClassResidual, case: Any, law: LabelLaw, total: float, squares: float
) -> Surprises:
    """Pseudo-outcomes are labels of their law, the same in all rows."""
    n, features, v = len(matrix), class_features(residual), law.labels
    r, mean = np.asarray(residual.features(case.targets)), np.asarray(residual.mean)
    centre, sizes = v @ features, float(v @ (features**2).sum(axis=1))
    d, lengths = centre - mean, sizes - 2 * mean @ centre + (mean**2).sum(axis=1)
    norms, some = np.einsum("nk,nk->n", r, r), pseudo_rows(n)

    def work(rows: slice) -> np.ndarray:
        strip, own = matrix.forms.kernel_rows(rows), lengths[rows]
        index = np.arange(*rows.indices(n))
        near, pseudo = strip @ r, strip[:, some] @ d[some]
        alone = own @ strip[np.arange(len(index)), index]
        squared = np.square(strip, out=strip)
        mixed, both = own @ (squared @ norms), own @ (squared[:, some] @ lengths[some])
        return np.array([(d[rows] * near).sum(), (d[rows] * pseudo).sum(), alone, mixed, both])

    matrix.ready  # noqa: B018  made before threads ask for it
    linear, square, alone, mixed, both = np.sum(threaded_map(work, strips(some, n), None), axis=0)
    mixed = min(mixed, math.sqrt(max(squares * both, 0.0)))
    rows = len(range(*some.indices(n)))
    return Surprises(n, rows, law.each, total, squares, linear, square, alone, mixed, both)


def far_surprises(
    matrix: PairMatrix, residual: Residual, norms: np.ndarray, total: float, squares: float
) -> Surprises | None:
    """Pseudo-outcomes of numbers, far from what was predicted: they add noise, and leave the estimate as it is."""
    far, n = residual.far_lengths(), len(matrix)
    if far is None:
        return None
    w = np.ones(n) if residual.weights is None else residual.weights
    far, some = far * w**2, pseudo_rows(n)

    def work(rows: slice) -> np.ndarray:
        strip, own = matrix.forms.kernel_rows(rows), w[rows] * far[rows]
        alone = own @ strip[np.arange(len(strip)), np.arange(*rows.indices(n))]
        squared = np.square(strip, out=strip)
        return np.array([alone, own @ (squared @ norms), own @ (squared[:, some] @ (w[some] * far[some]))])

    matrix.ready  # noqa: B018
    alone, mixed, both = np.sum(threaded_map(work, strips(some, n), None), axis=0)
    mixed = min(mixed, math.sqrt(max(squares * both, 0.0)))
    rows = len(range(*some.indices(n)))
    return Surprises(n, rows, 1.0, total, squares, 0.0, 0.0, alone, mixed, both, moves=False)  # each is a surprise
