"""Residuals where finitely many things can happen, classes or cells between quantiles: features are looked up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import device

from kernelcal.arrays import Array, like, namespace, row_slices, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import Dirac, Kernel, class_matrix
from kernelcal.predictions import Bernoulli, ClassPredictions, QuantileCells, Quantiles
from kernelcal.residuals.base import FeatureResidual

__all__ = ["ClassResidual", "LabelFeatures", "QuantileResidual"]


_LOOKED_UP = 2**18  # numbers at once, which stay in the cache


@dataclass(frozen=True, eq=False)
class LabelFeatures:
    """Features e_l of the labels l, the rows of a matrix L of shape (m, r).

    Under the `Dirac` kernel L is the identity. With thousands of classes it would fill gigabytes, and its products
    would take most of the time: here they are the other factor.

    Attributes
    ----------
    matrix : numpy.ndarray of shape (m, r), or None
        L; None stands for the identity.
    number : int
        Labels m.
    """

    matrix: np.ndarray | None
    number: int

    def __len__(self) -> int:
        return self.number

    def table(self) -> np.ndarray:
        """L itself: an array of m x m numbers under the `Dirac` kernel, for few classes only."""
        return np.eye(self.number) if self.matrix is None else self.matrix

    def of(self, labels: np.ndarray) -> np.ndarray:
        """Features of labels of shape (k,): shape (k, r)."""
        if self.matrix is not None:
            return self.matrix[labels]
        rows = np.zeros((len(labels), self.number))
        rows[np.arange(len(labels)), labels] = 1.0
        return rows

    def products(self, x: np.ndarray) -> np.ndarray:
        """``<x_i, e_l>`` for x of shape (n, r): shape (n, m). Not to be written into: it may be x."""
        return x if self.matrix is None else x @ self.matrix.T

    def mean(self, v: np.ndarray) -> np.ndarray:
        """``sum_l v_l e_l`` for weights of shape (m,), or of several sets in rows. Not to be written into."""
        return v if self.matrix is None else v @ self.matrix

    def weighed(self, v: np.ndarray, power: int = 1) -> np.ndarray:
        """``sum_l v_il <e_l, e_k>^power`` for v of shape (m,) or (n, m), of its shape. Not to be written into."""
        return v if self.gram is None else v @ self.gram**power

    @cached_property
    def gram(self) -> np.ndarray | None:
        """Inner products ``<e_l, e_k>``, shape (m, m); None stands for the identity."""
        return None if self.matrix is None else self.matrix @ self.matrix.T

    @cached_property
    def sizes(self) -> np.ndarray:
        """``|e_l|^2``, shape (m,)."""
        return np.ones(self.number) if self.matrix is None else (self.matrix**2).sum(axis=1)


@dataclass(frozen=True, eq=False)
class ClassResidual(FeatureResidual):
    """Residual features ``r_i = psi(y_i) - E psi(Z)``, ``Z ~ P_i``, with ``<r_i, r_j>`` the residual Gram matrix.

    With finitely many classes the feature map is a matrix: A = L L' for the target kernel's matrix A, and
    ``r_i = L[y_i] - p_i L``. For two classes with one probability the difference of the two rows is all that
    counts: one column, ``(y - p) |L[1] - L[0]|``.

    Attributes
    ----------
    class_features : numpy.ndarray of shape (m, r), or None
        L; None stands for the identity (Dirac kernel), which is never stored.
    mean : array of shape (n, r)
        E psi(Z) under every prediction.
    weights : numpy.ndarray of shape (n,), or None
        Case weights, by which the residuals are multiplied.
    """

    class_features: np.ndarray | None
    mean: Array
    weights: np.ndarray | None = None

    @classmethod
    def of(
        cls, predictions: ClassPredictions, target_kernel: Kernel, weights: np.ndarray | None = None
    ) -> ClassResidual:
        """Residual of class predictions under a kernel between class targets."""
        if isinstance(predictions, Bernoulli):
            a = class_matrix(target_kernel, 2)
            weight = float(np.sqrt(max(a[0, 0] - 2 * a[0, 1] + a[1, 1], 0.0)))
            return cls(np.array([[0.0], [weight]]), predictions.p[:, None] * weight, weights)
        if isinstance(target_kernel, Dirac):
            return cls(None, predictions.probabilities, weights)
        features = _root(class_matrix(target_kernel, predictions.n_classes))
        return cls(features, predictions.probabilities @ like(features, predictions.probabilities), weights)

    def __len__(self) -> int:
        return int(self.mean.shape[0])

    def __getitem__(self, index: Any) -> ClassResidual:
        weights = None if self.weights is None else self.weights[index]
        part = ClassResidual(self.class_features, self.mean[index, ...], weights)
        if "mean_squares" in self.__dict__:  # computed for all rows: those of some are known too
            part.__dict__["mean_squares"] = self.mean_squares[index]
        return part

    @property
    def dimension(self) -> int:
        """Number of features r."""
        return int(self.mean.shape[1])

    @cached_property
    def label_features(self) -> LabelFeatures:
        """Features of every label."""
        number = self.dimension if self.class_features is None else len(self.class_features)
        return LabelFeatures(self.class_features, number)

    @cached_property
    def _table(self) -> np.ndarray:
        """The mean in NumPy, without its gradient."""
        return self.mean if isinstance(self.mean, np.ndarray) else to_numpy(self.mean)

    def double(self) -> ClassResidual:
        """Return the same in NumPy and float64: itself where it is."""
        if self._table is self.mean and self._table.dtype == np.float64:
            return self
        return replace(self, mean=self._table.astype(np.float64, copy=False))

    def bound(self) -> float:
        """Bound of |<r_i, r_j>| without weights: the largest squared distance between two class features."""
        if self.class_features is None:
            return 2.0
        squares = (self.class_features**2).sum(axis=1)
        distances = squares[:, None] + squares - 2 * self.class_features @ self.class_features.T
        return float(distances.max())

    def features(self, targets: np.ndarray) -> Array:
        """Residuals of one set of targets, shape (n, r), in the library of the predictions."""
        if isinstance(self.mean, np.ndarray):
            return self.batch(targets[None])[:, 0]
        index = namespace(self.mean).asarray(targets.astype(np.int64), device=device(self.mean))
        if self.class_features is None:
            from array_api_extra import one_hot  # takes as long to import as all residuals, and is for this alone

            rows = one_hot(index, self.dimension, dtype=self.mean.dtype)
        else:
            rows = take_rows(like(self.class_features, self.mean), targets.astype(np.int64))
        residuals = rows - self.mean
        return residuals if self.weights is None else residuals * like(self.weights, self.mean)[:, None]

    def batch(self, targets: np.ndarray) -> np.ndarray:
        """Residuals of many sets of targets, shape (B, n), as one NumPy array of shape (n, B, r)."""
        mean = self._table
        rows = self._class_rows(targets.T).astype(mean.dtype, copy=False)
        rows -= mean[:, None, :]
        if self.weights is not None:
            rows *= self.weights.astype(mean.dtype)[:, None, None]
        return rows

    def scalars(self, targets: np.ndarray) -> np.ndarray:
        """Residuals of one feature for many sets of targets, shape (B, n): shape (B, n), rows in the fast axis."""
        if self.class_features is None or len(self.class_features) != 2:
            return super().scalars(targets)
        low, high = (float(value) for value in self.class_features[:, 0])
        rows = np.multiply(targets, high - low, dtype=np.float64)  # two labels: no look-up is needed
        rows -= self._table[:, 0] - low
        if self.weights is not None:
            rows *= self.weights
        return rows

    def squared_norms(self, targets: np.ndarray) -> np.ndarray:
        """|r_i|^2 of many sets of targets, shape (B, n), by looking up n x m numbers."""
        norms = self._squared_norms(targets)
        if self.weights is not None:
            norms *= self.weights**2
        return norms

    def _squared_norms(self, targets: np.ndarray) -> np.ndarray:
        mean, own = self._table, self.mean_squares
        if self.class_features is None:  # only what labels point at is made double
            norms = _of_label(mean, targets).astype(np.float64, copy=False)
            norms *= -2  # in place: of all draws of many rows each of these is as large as all features
            norms += 1
            norms += own
            return norms
        cross = mean @ self.class_features.T
        sizes = (self.class_features**2).sum(axis=1)
        return _of_label(sizes - 2 * cross + own[:, None], targets)

    @cached_property
    def mean_squares(self) -> np.ndarray:
        """``|mean_i|^2`` of every row, shape (n,)."""
        mean, found = self._table, np.empty(len(self))
        if mean.size <= _LOOKED_UP:
            return np.asarray((mean * mean).sum(axis=1, dtype=np.float64))
        for rows in row_slices(len(mean), max(1, _LOOKED_UP // max(mean.shape[1], 1))):
            found[rows] = (mean[rows] * mean[rows]).sum(axis=1, dtype=np.float64)
        return found

    def _class_rows(self, targets: np.ndarray) -> np.ndarray:
        if self.class_features is not None:
            return self.class_features[targets]
        rows = np.zeros((*targets.shape, self.dimension), dtype=np.float32 if _single(self.mean) else np.float64)
        np.put_along_axis(rows, targets[..., None].astype(np.intp), 1, axis=-1)
        return rows


def _of_label(table: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Entry of each row's label from a table of shape (n, m): shape (B, n). Of two classes a choice beats a look-up."""
    if table.shape[1] == 2:
        return np.where(targets == 1, table[:, 1], table[:, 0])
    found, flat = np.empty(targets.shape, dtype=table.dtype), table.ravel()
    for rows in row_slices(len(table), _LOOKED_UP // max(len(targets), 1)):
        first = table.shape[1] * np.arange(rows.start, rows.stop)
        found[:, rows] = flat.take(targets[:, rows] + first)  # of flat places: half the time of rows and columns
    return found


def _single(x: Array) -> bool:
    return "float32" in str(x.dtype)


def _root(matrix: np.ndarray) -> np.ndarray:
    """Return L with A = L L', without the directions in which A is zero."""
    values, vectors = np.linalg.eigh(matrix)
    largest = float(np.abs(values).max())
    if values[0] < -1e-10 * max(largest, 1e-300):
        raise InputError(
            f"the target kernel is not positive semi-definite over the classes (least eigenvalue {values[0]:.3g})"
        )
    kept = values > 1e-14 * largest
    kept[-1] = True  # a kernel of zeros still has one feature, which is zero
    return vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0))


@dataclass(frozen=True, eq=False)
class QuantileResidual(FeatureResidual):
    """Residual features ``s_k / sqrt(Q)``, ``s_k = 1[y < q_k] - level_k``, over the Q levels inside (0, 1).

    Their inner product is ``(1/Q) sum_k s_k s'_k``. They have mean 0 under every claim ``P(Y < q_k) = level_k`` and
    need no expectation: the law of the cell of an outcome is the same in all rows, the spacings of the levels. The mean
    of ``k_P <r_i, r_j>`` over pairs is a squared probability.

    Outcomes must lie strictly between quantiles. Where they equal one, P(Y < q) and P(Y <= q) differ, the level lies
    anywhere between, and a residual has no value.

    Attributes
    ----------
    cells : QuantileCells
        Where outcomes lie.
    reference : array
        An array of the library of the predictions.
    weights : numpy.ndarray of shape (n,), or None
        Case weights.

    Notes
    -----
    Cost: O(n Q) a set of targets. Outcomes are numbers; whole numbers are codes of cells, as tests draw them.
    """

    cells: QuantileCells
    reference: Array
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, predictions: Quantiles, weights: np.ndarray | None = None) -> QuantileResidual:
        """Residual of quantile forecasts, or refuse rows with equal quantiles."""
        cells = predictions.cells
        if cells.tied.any():
            row, count = int(np.argmax(cells.tied)), int(cells.tied.sum())
            raise InputError(_tied(f"row {row} has equal quantiles ({count:,} of {len(cells):,} rows do)"))
        return cls(cells, predictions.values, weights)

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: Any) -> QuantileResidual:
        weights = None if self.weights is None else self.weights[index]
        return replace(self, cells=self.cells[index], weights=weights)

    @property
    def dimension(self) -> int:
        """Number of levels Q inside (0, 1)."""
        return len(self.cells.taus)

    def bound(self) -> float:
        """Bound of |<r_i, r_j>|: the largest mean over levels of ``max(level, 1 - level)^2``."""
        taus = self.cells.taus
        return float((np.maximum(taus, 1 - taus) ** 2).mean())

    def double(self) -> QuantileResidual:
        """Return the same in NumPy and float64."""
        return replace(self, reference=np.zeros(1))

    def features(self, targets: np.ndarray) -> Array:
        """Residuals of one set of targets, shape (n, Q), in the library of the predictions."""
        values = self._residuals(np.asarray(targets), self.weights)
        return values if isinstance(self.reference, np.ndarray) else like(values, self.reference)

    def batch(self, targets: np.ndarray) -> np.ndarray:
        """Residuals of many sets of targets, shape (B, n), as one array of shape (n, B, Q)."""
        weights = None if self.weights is None else self.weights[:, None]
        codes = np.ascontiguousarray(self.cells.codes(np.asarray(targets)).T)
        return self._residuals(codes, weights)

    def _residuals(self, targets: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        cells, number = self.cells, self.dimension
        lo, hi = cells.ends(cells.codes(targets))
        if not np.array_equal(lo, hi):
            at = np.argwhere(lo != hi)
            row = int(at[0, 0])
            rounded = f" up to its rounding of {cells.resolution:g}" * (cells.resolution > 0)
            raise InputError(_tied(f"the outcome of row {row} equals a quantile{rounded} ({len(at):,} outcomes do)"))
        below = np.arange(number + 1)[:, None] < np.arange(1, number + 1)
        rows = ((below - cells.taus) / np.sqrt(number))[hi]
        return rows if weights is None else rows * weights[..., None]


def _tied(found: str) -> str:
    return (
        f"{found}: levels then claim P(Y < q) <= level <= P(Y <= q) only, so that an error has bounds and no value. "
        "kernelcal.calibration_test (the default family) and kernelcal.evaluate test these claims and tell the least "
        "gap that agrees with them; of counts, more levels or the probabilities of the outcomes would show more"
    )
