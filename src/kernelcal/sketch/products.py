"""Features times residuals as whole numbers, for the observed targets and for drawn ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kernelcal.arrays import Array, like, namespace, place_of, row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import (
    Dirac,
    Euclidean,
    Hellinger,
    Kernel,
    Points,
    Stationary,
    TotalVariation,
    class_matrix,
)
from kernelcal.pairs import RandomFourier
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.residuals import FeatureResidual
from kernelcal.sketch.draws import DrawnLabels
from kernelcal.sketch.exact import digits_of, in_units, products
from kernelcal.sketch.turns import CIRCLE_BITS, Turns

__all__ = [
    "BLOCK",
    "FEATURE_BITS",
    "PROBABILITY_BITS",
    "TURNED_BLOCK",
    "ClassGram",
    "ClassTotals",
    "WholeFeatures",
    "block_rows",
    "diagonal_bits",
    "means_of",
    "number_sums",
    "residual_bits",
    "squares_of",
    "whole_probabilities",
]


_IN_CACHE = 256  # rows of features
BLOCK = 1_024  # rows, whose products are exact: of features and probabilities, 12 + 31 + 10 bits
TURNED_BLOCK = 4 * BLOCK  # whose features add up exactly in single precision; of long steps two threads wait less
FEATURE_BITS, PROBABILITY_BITS, RESIDUAL_BITS = 12, 31, 16
_TURN = 2**16  # places of a cosine
_NEAR, _WHOLE = 2.0**50, 1.5 * 2.0**52  # added to a number that is nearer to 0, its lowest bits are the nearest whole
_WAVE_BITS, _POINT_BITS = 25, 26  # of a frequency and of each half of a coordinate: their products add up exactly
_BOUNDED = (Euclidean, Hellinger, TotalVariation)  # whose coordinates of class predictions lie between -2 and 2
_DIGIT = 12  # bits of the two columns that make up the diagonal
_SLACK = 1e-6  # of a bit: what a bound is off by rounding
_TOGETHER = 2**18  # sums in single precision: what a cache holds of them
_PRODUCTS_UP_TO = 12  # classes; above, adding rows label by label beats a matrix product a class
_AT_ONCE = 2**20  # sums by turns of the groups of a block, 4 MiB
_ROWS_OF_A_GROUP = 128  # from which on a group is worth its own steps
_ALIGNED = 8  # columns of a product


@lru_cache(maxsize=1)
def _cosines() -> np.ndarray:
    """``2^12 cos`` at 2^16 places of a turn, to the nearest whole number."""
    turns = np.arange(_TURN) * (2 * np.pi / _TURN)
    return np.rint(2.0**FEATURE_BITS * np.cos(turns)).astype(np.float32)


class WholeFeatures:
    """Random Fourier features of a kernel between predictions, ``rint(2^12 cos(w.x + b))``: of a row alone.

    Where coordinates are bounded, as those of class predictions are, ``w.x`` is a matrix product of whole numbers, the
    same in any batch. Else it is summed coordinate by coordinate.
    """

    def __init__(self, engine: RandomFourier, kernel: Kernel, batch: Predictions) -> None:
        assert isinstance(kernel, Stationary)  # for the type checker: others were refused
        dimension = Points(batch[:1]).coordinates(kernel.metric).shape[1]
        waves, shifts, _ = engine.waves(kernel, dimension)
        self.metric, self.number = kernel.metric, engine.frequencies
        self.turns, self.shifts = waves / (2 * np.pi), shifts / (2 * np.pi)
        self.bounded = isinstance(batch, ClassPredictions) and type(kernel.metric) in _BOUNDED
        self.far = True  # from 0: whole turns must be taken off
        if self.bounded:
            _, exponents = np.frexp(np.abs(self.turns).max(axis=0))
            self.scale = np.ldexp(1.0, exponents - _WAVE_BITS)
            self.whole = np.rint(self.turns / self.scale)
            self.bits = _POINT_BITS - math.ceil(math.log2(dimension)) - 1
            # of the two halves of a coordinate, in places of a turn: powers of 2 change no rounding
            self.upper = self.whole * (self.scale * np.ldexp(float(_TURN), -self.bits))
            self.lower = self.upper * 2.0**-_WAVE_BITS
            self.far = 2 * float(np.abs(self.turns).sum(axis=0).max()) * _TURN >= _NEAR

    def of(self, batch: Predictions, out: np.ndarray | None = None) -> np.ndarray:
        """Features of rows in NumPy, float32, shape (n, D); `out` has room for them."""
        x = np.ascontiguousarray(Points(batch).coordinates(self.metric), dtype=np.float64)
        found = np.empty((len(x), self.number), dtype=np.float32) if out is None else out[: len(x)]
        for part in row_slices(len(x), _IN_CACHE):
            places = self._bounded(x[part]) if self.bounded else self._column_by_column(x[part])
            if not self.bounded:
                refuse_unknown(places, part.start)
            places += self.shifts * _TURN
            if self.far:
                places -= _TURN * np.floor(places / _TURN)
            places += _WHOLE
            rows = places.view(np.int64)
            rows &= _TURN - 1
            np.take(_cosines(), rows, out=found[part], mode="clip")  # which does without a copy of `found`
        return found

    def _bounded(self, x: np.ndarray) -> np.ndarray:
        """Places of turns, from the upper and the lower half of the bits of the coordinates."""
        upper = np.rint(x * 2.0**self.bits)
        lower = np.rint((x * 2.0**self.bits - upper) * 2.0**_WAVE_BITS)
        found = upper @ self.upper
        found += lower @ self.lower
        return found

    def _column_by_column(self, x: np.ndarray) -> np.ndarray:
        found = x[:, :1] * self.turns[0]
        for k in range(1, len(self.turns)):
            found += x[:, k : k + 1] * self.turns[k]
        found *= _TURN
        return found


def refuse_unknown(x: np.ndarray, first: int = 0) -> None:
    """Refuse rows, from number `first` on, of which something is no finite number: no whole number is near it."""
    wrong = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if len(wrong):
        raise InputError(
            f"what row {first + wrong[0]} adds to the SKCE is not a number: look for predictions and targets of extreme"
            " size"
        )


def squares_of(phi: np.ndarray) -> np.ndarray:
    """``|phi|^2`` of features in float64 as a share of ``D 2^24``, shape (n,)."""
    return np.einsum("nd,nd->n", phi, phi) / (phi.shape[1] * 4.0**FEATURE_BITS)


def whole_probabilities(batch: ClassPredictions) -> np.ndarray:
    """``rint(2^31 p)`` of every class, in float64, shape (n, m)."""
    return in_units(batch.table(), PROBABILITY_BITS)


@dataclass(frozen=True, eq=False)
class ClassGram:
    """Kernel between classes, and what it makes of residuals ``e_y - p``.

    Attributes
    ----------
    matrix : numpy.ndarray of shape (m, m), or None
        None stands for the identity.
    most : float
        The most that ``|r|^2`` can be.
    """

    matrix: np.ndarray | None
    most: float

    @classmethod
    def of(cls, kernel: Kernel, classes: int, most: float) -> ClassGram:
        """Kernel of a sketch between so many classes."""
        matrix = None if isinstance(kernel, Dirac) else class_matrix(kernel, classes)
        return cls(matrix, most)

    def squares(self, one: bool, whole: np.ndarray) -> np.ndarray:
        """``|e_k - p|^2`` in the kernel, of every label k, shape (n, m); of `one` probability that of two labels."""
        p = np.ldexp(whole, -PROBABILITY_BITS)
        if one:
            return self.most * np.stack([p[:, 1] ** 2, (1 - p[:, 1]) ** 2], axis=1)
        if self.matrix is None:
            return 1 - 2 * p + (p * p).sum(axis=1, keepdims=True)
        entries, along = self._along(whole)
        return np.diag(entries) - 2 * along + (p * along).sum(axis=1, keepdims=True)

    def _along(self, whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Entries in multiples of 2^-20 of the largest one, and p times them: a product of whole numbers."""
        assert self.matrix is not None  # for the type checker: it was asked before
        bits = 20 - math.ceil(math.log2(max(float(np.abs(self.matrix).max()), 1e-300)))
        entries = in_units(self.matrix, bits)
        return np.ldexp(entries, -bits), np.ldexp(whole @ entries, -PROBABILITY_BITS - bits)

    def lengths(self, one: bool, whole: np.ndarray) -> np.ndarray:
        """``|E psi|^2``, as a share of the largest length of a label, shape (n,)."""
        p = np.ldexp(whole, -PROBABILITY_BITS)
        if one:
            return np.asarray(p[:, 1] ** 2)
        if self.matrix is None:
            return np.asarray((p * p).sum(axis=1))
        return np.asarray((p * self._along(whole)[1]).sum(axis=1) / self.longest)

    @property
    def longest(self) -> float:
        """Largest squared length of the features of a label; of one probability, whose first label has none, `most`."""
        return 1.0 if self.matrix is None else max(float(np.diag(self.matrix).max()), 1e-300)


def diagonal_bits(most: float) -> int:
    """Bits after the point of ``|phi|^2 |r|^2``, which is at most `most`: 23 in all."""
    return 2 * _DIGIT - 1 - math.ceil(math.log2(most) - _SLACK) if most > 0 else 0


class ClassTotals:
    """Sums of features by label and draw, and of ``|phi|^2 |r|^2``, made block by block.

    Draw by draw from labels, or of many rows by where on a circle of turns labels change: the same whole numbers.

    Attributes
    ----------
    totals : numpy.ndarray of shape (m - 1, B + 1, D)
        ``sum_i phi_i 1[y_i = k]`` for classes 1 to m - 1; the sum of all features tells that of class 0.
    diagonal : numpy.ndarray of shape (B + 1,)
        In units of 2^-bits.
    """

    def __init__(self, classes: int, turns: Turns, features: int, bits: int) -> None:
        self.classes, self.turns, self.bits = classes, turns, bits
        draws = turns.places.shape[1]
        self._diagonal = np.zeros(draws + 1)  # all of them sums of whole numbers below 2^53
        self._by_label = np.zeros((classes, draws + 1, features))  # of class 0 some only: nobody asks for it
        self._changes: np.ndarray | None = None  # of draws: sums over rows that came to a class
        self._unturned = np.zeros((classes, features))

    def turning_pays(self, rows: int) -> bool:
        """Tell whether so many rows are better grouped by their turns than labelled draw by draw."""
        apart = self.turns.before.shape[1] * self.classes < 2**CIRCLE_BITS
        return apart and rows >= self.turns.groups * max(_ROWS_OF_A_GROUP, 6 * self.classes)

    @property
    def groups_at_once(self) -> int:
        """Groups of a block, whose sums by turns are held beside each other."""
        features, draws = self._unturned.shape[1], self.turns.places.shape[1]
        return max(1, _AT_ONCE // (draws * self.classes * features))

    def add(self, phi: np.ndarray, squares: np.ndarray, labels: DrawnLabels, place: Array | None = None) -> None:
        """Add a block of rows: `squares` has ``|phi|^2 |r|^2`` of every label, shape (n, m)."""
        own, every = in_units(squares, self.bits), labels.every()
        if place is None and self.classes <= _PRODUCTS_UP_TO:
            self._add_products(phi, own, every)
            return
        self._diagonal += np.take_along_axis(own, every.astype(np.intp), axis=1).sum(axis=0)
        if place is None:
            self._add_row_by_row(phi, every)
        else:
            self._add_elsewhere(phi, every, place)

    def _add_products(self, phi: np.ndarray, own: np.ndarray, labels: np.ndarray) -> None:
        """Add ``1[y = k]`` times features, and times what class k adds to the diagonal more than class 0, in digits."""
        n, d = phi.shape
        ones, columns = np.empty(labels.shape, dtype=np.float32), np.zeros((n, _aligned(d + 2)), dtype=np.float32)
        product = np.empty((labels.shape[1], columns.shape[1]), dtype=np.float32)
        columns[:, :d] = phi
        self._diagonal += own[:, 0].sum()
        for k in range(1, self.classes):
            more = own[:, k] - own[:, 0]
            columns[:, d] = high = np.floor(more * 2.0**-_DIGIT)
            columns[:, d + 1] = more - high * 2.0**_DIGIT
            np.equal(labels, k, out=ones, casting="unsafe")
            np.matmul(ones.T, columns, out=product)
            self._by_label[k] += product[:, :d]
            self._diagonal += product[:, d].astype(np.float64) * 2.0**_DIGIT + product[:, d + 1]

    def _add_row_by_row(self, phi: np.ndarray, labels: np.ndarray) -> None:
        step = max(1, _TOGETHER // (self.classes * phi.shape[1]))  # draws whose sums lie in the cache
        for draws in row_slices(labels.shape[1], step):
            number = labels[:, draws].shape[1]
            chosen = labels[:, draws].astype(np.int32) * number + np.arange(number, dtype=np.int32)
            found = _sums_at(chosen, self.classes * number, phi)
            self._by_label[:, draws] += found.reshape(self.classes, number, -1)

    def add_turned(self, phi: np.ndarray, squares: np.ndarray, labels: DrawnLabels) -> None:
        """The same of rows that stand by groups: sums of what comes to a class, up to draws in the order of turns."""
        (n, d), m, draws, groups = phi.shape, self.classes, self.turns.places.shape[1], labels.groups
        own, changes, unturned = in_units(squares, self.bits), labels.changes(), labels.unturned()
        begins = np.append(True, groups[1:] != groups[:-1])
        each, number, rows = self.turns.places[groups[begins]], int(begins.sum()), np.arange(n)
        at = changes * number + (np.cumsum(begins) - 1)[:, None]  # of a block of few groups, by places and by groups
        long = math.isqrt(draws) + 1
        size = long * long * number
        chosen = np.empty((n, m + 2), dtype=np.int32)  # changes, labels without a turn, observed ones
        chosen[:, :m] = at * m + np.arange(m)
        chosen[:, m], chosen[:, m + 1] = size * m + unturned, (size + 1) * m + labels.labels
        found = _sums_at(chosen, (size + 2) * m, phi)
        came = _summed_along(found[: size * m].reshape(long, long, number, m * d))
        if self._changes is None:
            self._changes = np.zeros((draws, m * d))
        for k, places in enumerate(each):
            self._changes += came[places, k]
        self._unturned += found[size * m : (size + 1) * m]
        self._by_label[:, 0] += found[(size + 1) * m :]
        steps = own.copy()
        steps[:, 1:] -= own[:, :-1]
        steps[:, 0] -= own[:, -1]
        turned = np.bincount(at.ravel(), steps.ravel(), minlength=size).reshape(-1, number)
        along = np.take_along_axis(np.cumsum(turned, axis=0), each.T, axis=0)
        self._diagonal[1:] += along.sum(axis=1) + own[rows, unturned].sum()
        self._diagonal[0] += own[rows, labels.labels].sum()
        for i, b, label in zip(*labels.undecided(), strict=True):
            self._by_label[label, b] += phi[i]
            self._by_label[m - 1, b] -= phi[i]  # whose arc lies before these cells
            self._diagonal[b] += own[i, label] - own[i, m - 1]

    def _add_elsewhere(self, phi: np.ndarray, labels: np.ndarray, place: Array) -> None:
        """The same on an accelerator, in double precision, where products of whole numbers are exact too."""
        xp, features = namespace(place), like(phi.astype(np.float64), place)
        there = xp.asarray(np.ascontiguousarray(labels.T).astype(np.int64), device=place_of(place))
        for k in range(1, self.classes):
            self._by_label[k] += to_numpy(xp.astype(there == k, features.dtype) @ features)

    def arrays(self) -> dict[str, np.ndarray]:
        """Both sums in 64 bits."""
        totals = self._by_label[1:]
        if self._changes is not None:
            came = self._changes.reshape(-1, *self._unturned.shape).swapaxes(0, 1)
            totals[:, 1:] += came[1:] + self._unturned[1:, None]
            totals[:-1, 1:] -= came[2:]  # who left for the next class
            totals[-1, 1:] -= came[0]  # and from the last one, where the circle is closed
        return {"totals": totals.astype(np.int64), "diagonal": self._diagonal.astype(np.int64)}


def _summed_along(x: np.ndarray) -> np.ndarray:
    """Sums up to every row, in place, of rows that stand in a square: few long steps, where threads wait less."""
    for k in range(1, x.shape[1]):
        x[:, k] += x[:, k - 1]
    for k in range(1, len(x)):
        x[k] += x[k - 1, -1]
    return x.reshape(-1, *x.shape[2:])


def _aligned(columns: int) -> int:
    return -(-columns // _ALIGNED) * _ALIGNED


def _sums_at(places: np.ndarray, number: int, phi: np.ndarray) -> np.ndarray:
    """Sums of features over rows at the places that each row names, shape (n, any), from 0 to `number` - 1."""
    from scipy import sparse  # imported when needed: it would be a third of the time to import kernelcal

    n, each = places.shape
    ones, starts = np.ones(places.size, dtype=np.float32), np.arange(0, places.size + 1, each, dtype=np.int32)
    return np.asarray(sparse.csc_matrix((ones, places.ravel(), starts), shape=(number, n)) @ phi)


def means_of(phi: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Digits of ``sum_i phi_i`` and ``sum_i rint(2^31 p_ik) phi_i`` of a block in float64, shape (2, 1 + m, D)."""
    columns = np.column_stack([np.ones(len(whole)), whole])
    return np.sum([digits_of(products(columns[part], phi[part])) for part in row_slices(len(phi), BLOCK)], axis=0)


def residual_bits(most: float) -> int:
    """Bits after the point of a residual feature, whose square is at most `most`: 16 in all."""
    return RESIDUAL_BITS - math.ceil(math.log2(most) / 2 - _SLACK) if most > 0 else 0


def number_sums(phi: np.ndarray, residual: FeatureResidual, targets: np.ndarray, bits: int) -> dict[str, np.ndarray]:
    """``sum_i r_i x phi_i``, shape (r, B + 1, D), and ``sum_i |phi_i|^2 |r_i|^2`` of a block, in whole numbers.

    `targets` has shape (B + 1, n, ...); residual features are rounded to multiples of 2^-bits, and the second sum
    counts multiples of ``2^(8 - 2 bits)``.
    """
    r, phi = in_units(residual.batch(targets), bits), phi.astype(np.float64)
    n, sets, number = r.shape
    refuse_unknown(r.reshape(n, -1))
    totals = products(r.reshape(n, -1), phi).reshape(sets, number, -1)
    own = np.rint(squares_of(phi)[:, None] * np.einsum("nbk,nbk->nb", r, r) * 2.0**-8)
    return {
        "totals": np.ascontiguousarray(totals.swapaxes(0, 1)).astype(np.int64),
        "diagonal": own.sum(axis=0).astype(np.int64),
    }


def block_rows(sets: int, dimension: int) -> int:
    """Rows of a block of numbers, by the size of its residuals."""
    return max(64, min(BLOCK, 2**23 // (8 * sets * dimension)))
