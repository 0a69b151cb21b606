"""Variances of means over pairs, and pseudo-surprises: what noise could have been where few outcomes surprised."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.pairs import PairMatrix, threaded_map
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import ClassResidual

__all__ = [
    "FEWEST",
    "DifferenceSums",
    "Error",
    "LabelLaw",
    "ScoreSurprises",
    "Surprises",
    "deepest",
    "depth",
    "expected",
    "far_surprises",
    "hoeffding",
    "hoeffding_parts",
    "hoeffding_sums",
    "label_law",
    "label_law_of_sums",
    "larger",
    "pseudo_rows",
    "strips",
    "surprises_of",
]


FEWEST = 2.0  # surprises that are added: those of Agresti and Coull at 95 %
Error = Callable[[float], float]  # standard error for a number of surprises
_DEEPEST = 38.0  # standard deviations: beyond, the normal tail is 0 in float64


def expected(z: float) -> float:
    """Pseudo-surprises at z standard deviations, ``max(2, z^2 / 2)``: a deeper level asks for more of them."""
    return max(FEWEST, z * z / 2) if z > 0 else FEWEST


def deepest(meets: Callable[[float], bool], most: float = _DEEPEST) -> float:
    """Return the z from 0 at which a condition begins to be met, by bisection up to the most."""
    low, high = 0.0, most
    if meets(low) or not meets(high):
        return low if meets(low) else high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return low


def larger(own: float, surprised: Error | None, surprises: float) -> float:
    """Standard error of what was seen, or that with so many surprises where it is known and larger."""
    return own if surprised is None else max(own, surprised(surprises))


def depth(difference: float, own: float, surprised: Error | None) -> float:
    """Standard deviations z by which a difference is away from 0, the error being the larger one with surprises of z.

    A deeper level asks for more of them. Where it does, the depth is a rounding less, which is the safe side.
    """
    usual = difference / larger(own, surprised, FEWEST)
    if usual <= 2:  # as many surprises for all smaller z
        return usual

    def gap(z: float) -> float:
        return z * larger(own, surprised, expected(z)) - difference

    from scipy.optimize import brentq  # imported when needed: the import of kernelcal stays light

    if gap(_DEEPEST) < 0:
        return _DEEPEST
    held = [gap]  # SciPy's wrapper holds itself, and until Python looks for circles all draws that the error comes from
    found = float(brentq(lambda z: held[0](z), 0.0, _DEEPEST, xtol=1e-12, rtol=1e-12))
    held.clear()
    return found * (1 - 1e-11)


def hoeffding_parts(matrix: PairMatrix) -> tuple[float, float]:
    """Linear and degenerate part of the variance of the unbiased SKCE.

    They are ``4 (n-2) z1 / (n (n-1))`` and ``2 z2 / (n (n-1))``.

    With row sums ``s_i = sum_{j != i} h_ij``, ``S`` and ``Q`` the sums of h and h^2 over i != j:
    ``a = (sum s_i^2 - Q) / (n (n-1) (n-2))``, ``t = (S^2 - 4 (sum s_i^2 - Q) - 2 Q) / (n (n-1) (n-2) (n-3))``,
    ``z1 = max(a - t, 0)``, ``z2 = max(Q / (n (n-1)) - t, 0)``.
    """
    return hoeffding_sums(matrix.row_sums - matrix.diagonal, matrix.square_sum)


def hoeffding_sums(sums: np.ndarray, squares: float) -> tuple[float, float]:
    """Return the same from the row sums s_i and the sum Q of the squares."""
    return hoeffding(len(sums), float(sums.sum()), float((sums**2).sum()), squares)


def hoeffding(n: float, total: float, rows: float, squares: float) -> tuple[float, float]:
    """Return the same from the sum of the s_i, the sum of their squares, and Q; n may be a sum of weights."""
    if n < 4:
        raise InputError(f"the variance of the SKCE needs at least 4 rows, got {n:g}")
    pairs = n * (n - 1)
    squared_mean = (total**2 - 4 * (rows - squares) - 2 * squares) / (pairs * (n - 2) * (n - 3))
    first = max((rows - squares) / (pairs * (n - 2)) - squared_mean, 0.0)
    second = max(squares / pairs - squared_mean, 0.0)
    return 4 * (n - 2) / pairs * first, 2 / pairs * second


@dataclass(frozen=True, eq=False)
class DifferenceSums:
    """Sums of the difference d of two h over pairs with pseudo-rows: polynomials in their weight eps, its powers up.

    Attributes
    ----------
    n, rows : int
        Rows, and those of them that have pseudo-outcomes.
    each : float
        Pseudo-outcomes that make one surprise.
    total, squared_sums, squares : tuple of float
        Sums over all rows of their sums of d, of the squares of these, and over all pairs of d^2.
    """

    n: int
    rows: int
    each: float
    total: tuple[float, ...]
    squared_sums: tuple[float, ...]
    squares: tuple[float, ...]

    def error(self, surprises: float) -> float:
        """Standard error of the mean of d with so many surprises."""
        eps = surprises * self.each / self.rows
        total, sums, squares = (
            sum(c * eps**k for k, c in enumerate(own)) for own in (self.total, self.squared_sums, self.squares)
        )
        return math.sqrt(sum(hoeffding(self.n + eps * self.rows, total, sums, max(squares, 0.0))))


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
    tables = [batch.table() for batch in batches]
    n, m = tables[0].shape
    rows, labels = np.arange(n), np.asarray(targets).astype(np.intp)
    w = np.ones(n) if weights is None else weights / weights.mean()
    seen = [p[rows, labels].astype(np.float64) for p in tables]
    surprised = np.sort([1 - own for own in seen], axis=0).mean(axis=0)  # whatever the order of models
    share = np.sort([_weighed(w, p) for p in tables], axis=0).mean(axis=0)
    return label_law_of_sums(np.bincount(labels, w * surprised, minlength=m), share, n)


def _weighed(w: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Weighted sum of rows in float64, of single precision some rows at a time."""
    if p.dtype == np.float64:
        return np.asarray(w @ p)
    return np.sum([w[part] @ p[part].astype(np.float64) for part in row_slices(len(p), _ROWS, p.shape[1])], axis=0)


def _products(p: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Products of rows with numbers in float64, likewise."""
    if p.dtype == np.float64:
        return np.asarray(p @ v)
    return np.concatenate([p[part] @ v for part in row_slices(len(p), _ROWS, p.shape[1])])


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
    shared : float
        Variance of their noise as a multiple of that of independent rows, where several come together.
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
    shared: float = 1.0

    def weight(self, surprises: float) -> tuple[float, float]:
        """Weight eps of the pseudo-outcomes of a row that make so many surprises, and W."""
        eps = surprises * self.each / self.rows
        return eps, self.n + self.rows * eps

    def value(self, surprises: float) -> float:
        """Unbiased mean over the pairs of all rows, real and pseudo."""
        if not self.moves:
            return self.total / (self.n * (self.n - 1))
        eps, w = self.weight(surprises)
        return (self.total + 2 * eps * self.linear + eps**2 * self.square - eps * self.own) / (w * (w - 1))

    def mean_square(self, surprises: float) -> float:
        """Mean of h^2 over the same pairs."""
        eps, w = self.weight(surprises)
        return (self.squares + 2 * eps * self.mixed + eps**2 * self.both) / (w * (w - 1))

    def noise(self, surprises: float) -> float:
        """Largest variance of the noise along one direction: the root of half the degenerate variance."""
        w = self.weight(surprises)[1]
        noise = math.sqrt(max(self.mean_square(surprises) - self.value(surprises) ** 2, 0.0) / (w * (w - 1)))
        return self.shared * noise

    def root(self, z: float) -> float:
        """Upper end of the root at z standard deviations."""
        noise = self.noise(expected(z))
        return math.sqrt(max(self.value(expected(z)), 0.0) + noise) + z * math.sqrt(noise)

    def ball(self, z: float, centre: float, reach: float, noise: float) -> tuple[float, float]:
        """Ends of a ball of some centre and reach, whose pairs of a row with itself have the sum `noise`."""
        eps, w = self.weight(expected(z))
        if self.moves:
            whole = self.total + noise + 2 * eps * self.linear + eps**2 * self.square
            centre = math.sqrt(max(whole, 0.0)) / w
        reach = math.sqrt(reach**2 + z**2 * eps * self.own * self.shared / w**2)
        return centre - reach, centre + reach

    def inflation(self, linear: float, degenerate: float, surprises: float) -> float:
        """Ratio of the standard deviation with the noise of so many surprises to that without, at least 1."""
        variance = linear + degenerate
        return math.sqrt(max(1.0, (linear + 2 * self.noise(surprises) ** 2) / variance)) if variance > 0 else 1.0

    def of_blocks(self, size: int, z: float) -> float:
        """Upper end of the squared error at z standard deviations, for a mean over blocks of so many rows.

        It lies above the moved mean by what it does for all pairs, and by the noise that fewer pairs have besides.
        """
        value, pairs = self.value(expected(z)), self.noise(expected(z)) ** 2
        more = max(self.shared * self.mean_square(expected(z)) / (self.n * (size - 1)) - pairs, 0.0)
        return value + math.hypot(self.root(z) ** 2 - value, z * math.sqrt(2 * more))


_AT_ONCE, _ROWS, _PAIRS = 2**19, 1024, 2**25


def pseudo_rows(n: int) -> slice:
    """Rows that have pseudo-outcomes: all up to 1,024, above so many evenly spaced, fewer of very many."""
    most = max(128, min(_ROWS, _PAIRS // n))
    return slice(0, n, -(-n // most))


def strips(rows: slice, n: int) -> list[slice]:
    """Slices of these rows whose strips of n columns fit the cache."""
    first, stop, step = rows.indices(n)
    size = step * max(16, min(64, 2**22 // n), _AT_ONCE // n)  # of few rows a product of many classes is slow
    return [slice(start, min(start + size, stop), step) for start in range(first, stop, size)]


def surprises_of(matrix: PairMatrix, case: Case, sums: tuple[float, float | None] | None = None) -> Surprises | None:
    """Sums with pseudo-rows of the pairs of a matrix; None where residuals have no bound.

    `sums` are those of h and h^2 over pairs of different rows, where they are known already; of a sum of squares that
    is None at most 1,024 rows are looked at. Cost: kernel values of at most 1,024 rows with all others, times the
    residual features.
    """
    if sums is None:
        sums = float((matrix.row_sums - matrix.diagonal).sum()), matrix.square_sum
    total, squares = sums
    if isinstance(matrix.residual, ClassResidual) and isinstance(case.predictions, ClassPredictions):
        law = label_law(case.targets, [case.predictions], case.weights)
        return _of_classes(matrix, matrix.residual, law, total, squares)
    return far_surprises(matrix, total, _some_squares(matrix) if squares is None else squares)


def _some_squares(matrix: PairMatrix) -> float:
    """Sum of h^2 over pairs of different rows, from some rows with all others."""
    n, some = matrix.n, pseudo_rows(matrix.n)

    def work(rows: slice) -> np.ndarray:
        strip = matrix.rows(rows)
        own = strip[np.arange(len(strip)), np.arange(*rows.indices(n))]
        return np.asarray((strip**2).sum() - (own**2).sum())

    matrix.ready  # noqa: B018  made before threads ask for it
    return float(np.sum(threaded_map(work, strips(some, n), None))) * n / len(range(*some.indices(n)))


def _of_classes(
    matrix: PairMatrix, residual: ClassResidual, law: LabelLaw, total: float, squares: float | None
) -> Surprises:
    """Pseudo-outcomes are labels of their law, the same in all rows; squares of h that are not known are added too."""
    n, features, v = matrix.n, residual.label_features, law.labels
    r, mean = np.asarray(matrix.features), np.asarray(residual.mean)
    centre, sizes = features.mean(v), float(v @ features.sizes)
    norms, some = np.einsum("nk,nk->n", r, r).astype(np.float64, copy=False), pseudo_rows(n)
    own = (mean**2).sum(axis=1) if mean.dtype == np.float64 else residual.mean_squares
    lengths, d = sizes - 2 * _products(mean, centre) + own, centre - mean[some]

    def work(rows: slice) -> np.ndarray:
        strip, own = matrix.forms.kernel_rows(rows), lengths[rows]
        index = np.arange(*rows.indices(n))
        away, near, pseudo = centre - mean[rows], strip @ r, strip[:, some] @ d
        seen = 0.0
        if squares is None:
            h = strip * matrix.inner.block(rows, slice(None))
            h[np.arange(len(index)), index] = 0.0
            seen = float(np.sum(np.square(h, out=h), dtype=np.float64))
        alone = own @ strip[np.arange(len(index)), index]
        squared = np.square(strip, out=strip)
        mixed, both = own @ (squared @ norms), own @ (squared[:, some] @ lengths[some])
        return np.array([(away * near).sum(), (away * pseudo).sum(), alone, mixed, both, seen])

    matrix.ready  # noqa: B018  made before threads ask for it
    linear, square, alone, mixed, both, seen = np.sum(threaded_map(work, strips(some, n), None), axis=0)
    rows = len(range(*some.indices(n)))
    squares = float(seen) * n / rows if squares is None else squares
    mixed = min(mixed, math.sqrt(max(squares * both, 0.0)))
    return Surprises(n, rows, law.each, total, squares, linear, square, alone, mixed, both)


def far_surprises(matrix: PairMatrix, total: float, squares: float) -> Surprises | None:
    """Pseudo-outcomes of numbers, far from what was predicted: they add noise, and leave the estimate as it is."""
    residual, n = matrix.residual, matrix.n
    far, every = residual.far_lengths(), slice(None)
    if far is None:
        return None
    norms = np.asarray(matrix.inner.aligned(every, every))
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


_FLOOR = 1e-12  # of a probability: no surprise is worth more than its logarithm


class ScoreSurprises:
    """Pseudo-differences of log scores: outcomes other than the likeliest, over all rows as the models expect them.

    Parameters
    ----------
    batches : sequence of ClassPredictions
        One a model, of the same rows.
    scores : callable, optional
        Scores of all classes by their probabilities, of the same shape, in the place of log scores.
    """

    def __init__(
        self, batches: Sequence[ClassPredictions], scores: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> None:
        whole = [batch.table() for batch in batches]
        n = len(whole[0])
        some = pseudo_rows(n)
        tables = np.stack([table[some].astype(np.float64) for table in whole])
        likely = tables.mean(axis=0)
        likely[np.arange(len(likely)), likely.argmax(axis=1)] = 0
        self.n, total = n, float(likely.sum())
        self.weights = likely / total if total > 0 else likely  # of one surprise
        self.scores = -np.log(np.maximum(tables, _FLOOR)) if scores is None else scores(tables)

    def errors(self, rows: np.ndarray, a: int, b: int | None = None) -> Error:
        """Standard error of the mean of differences of two models, or of scores of one, for a number of surprises."""
        mean, n = float(rows.mean()), self.n
        own = float(((rows - mean) ** 2).sum())
        scores = self.scores[a] if b is None else self.scores[a] - self.scores[b]
        more = float((self.weights * (scores - mean) ** 2).sum())
        return lambda surprises: math.sqrt((own + surprises * more) / ((n + surprises - 1) * (n + surprises)))
