"""Low rank: K is replaced by Phi Phi', and sums over pairs become sums over rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kernelcal.arrays import (
    Array,
    is_numpy,
    like,
    namespace,
    on_accelerator,
    place_of,
    row_slices,
    squared_lengths,
    to_numpy,
)
from kernelcal.errors import InputError
from kernelcal.kernels import Kernel
from kernelcal.pairs.base import Engine, QuadraticForms, Sums, threaded_map
from kernelcal.predictions import Predictions
from kernelcal.residuals import ClassResidual, FeatureResidual, Residual

__all__ = ["FEATURE", "FeatureEngine", "FeatureMap", "ResidentTotal", "Total", "total_of"]


_DENSE_UP_TO = 24  # classes; above, adding rows label by label beats a matrix product with one-hot columns
_SPARSE = 24  # columns of such a product that take as long

_KEEP_BYTES = 2**29  # features below this size are kept between batches of draws, above they are made anew

_CHUNK_BYTES = 2**26

_LABELS = 8  # bytes of a row of a part and draw: which rows have a label, and the squared lengths of residuals

_MADE = 2**25  # bytes of the values that features are made of

_MAKING = 1.5  # arrays of the size of a part at once while its features are made

_INDICATORS = 2**20  # of some rows in all draws: they stay in the cache, and sums of single precision are short

_RESIDUALS = 2**17  # of some rows in all draws: what they are made of stays in the cache

_SECONDS, FEATURE = 2e-8, 3e-11  # seconds of a feature of a row, and of one times a residual in a draw

_SINGLE_FROM = 50_000  # rows times residual features; above, features are held in float32

_ALL = slice(None)

FeatureMap = Callable[[slice], Array]  # rows -> their features of all kernels side by side, (rows, sum of D)


@dataclass(frozen=True)
class FeatureEngine(Engine):
    """An engine whose kernel is the product of two feature matrices."""

    @abstractmethod
    def maps(self, kernels: Sequence[Kernel], predictions: Predictions) -> tuple[FeatureMap, list[int]]:
        """Return the map from rows to features of all kernels, and the number of features of each."""

    def prepare(self, kernels: Sequence[Kernel], predictions: Predictions, residual: Residual) -> QuadraticForms:
        """Do what depends on the predictions alone."""
        if not isinstance(residual, FeatureResidual):
            raise InputError(
                f"{self.describe(predictions)}: this needs residuals with features: for predictions of "
                "numbers pass target_kernel=kernelcal.kernels.Spectral(kernel), or engine=ExactPairs()"
            )
        engine = self if residual.weights is None else self.counting(residual.weights)
        features, sizes = engine.maps(kernels, predictions)
        return _Features(features, sizes, predictions, residual, engine.describe(predictions))

    def counting(self, weights: np.ndarray) -> FeatureEngine:
        """Return the engine for rows of these weights: one that is made of rows leaves out those without weight."""
        return self

    @abstractmethod
    def describe(self, predictions: Predictions) -> str:
        """Name for the result."""


class _Features(QuadraticForms):
    """With S = Phi' R: sum over i != j is |S|^2 - sum_i |phi_i|^2 |r_i|^2, for each kernel's features."""

    def __init__(
        self,
        features: FeatureMap,
        sizes: list[int],
        predictions: Predictions,
        residual: FeatureResidual,
        label: str,
    ) -> None:
        self.label = label
        self.features, self.predictions, self.residual = features, predictions, residual
        self.bounds = np.concatenate([[0], np.cumsum(sizes)])
        self.resident = on_accelerator(predictions.reference)
        columns = max(predictions.columns, residual.dimension)
        self.bytes_per_draw = 24 * int(self.bounds[-1]) * columns
        self.held_bytes = self._kept_bytes()
        self.made_bytes = int(_MADE + _MAKING * min(_CHUNK_BYTES, 8 * len(predictions) * int(self.bounds[-1])))
        if isinstance(residual, ClassResidual):  # its residuals are never held for all rows
            self.bytes_per_draw += _LABELS * min(len(predictions), self._rows_at_once)
        else:
            self.bytes_per_draw += 16 * len(predictions) * residual.dimension
        self._kept: list[tuple[slice, np.ndarray]] | None = None
        self._mean_sum: np.ndarray | None = None  # features times means, which no labels change

    def _kept_bytes(self) -> int:
        """Features that are kept between batches of draws."""
        numbers = len(self.predictions) * int(self.bounds[-1])
        one = 4 if len(self.predictions) * self.residual.dimension > _SINGLE_FROM else 8
        return one * numbers if 4 * numbers <= _KEEP_BYTES else 0

    @property
    def _rows_at_once(self) -> int:
        """Rows of a part."""
        return max(1, _CHUNK_BYTES // (8 * int(self.bounds[-1]) or 1))

    @property
    def seconds(self) -> float:
        """Time of one set of targets, roughly: all features are made anew."""
        return _SECONDS * len(self.predictions) * int(self.bounds[1])

    @property
    def seconds_per_draw(self) -> float:
        """The same for each of many sets of targets and each kernel: a column of a product."""
        columns = max(self.predictions.columns, self.residual.dimension)
        if isinstance(self.residual, ClassResidual) and self.predictions.columns > _DENSE_UP_TO:
            columns = _SPARSE  # rows are added label by label
        return FEATURE * len(self.predictions) * int(self.bounds[-1]) / (len(self.bounds) - 1) * columns

    def of(self, targets: np.ndarray) -> Sums:
        r = self.residual.features(targets)
        xp = namespace(r)
        total, diagonal = 0.0, 0.0 * r[0, 0]
        for rows in row_slices(len(self.predictions), _CHUNK_BYTES // (8 * int(self.bounds[1]) or 1)):
            phi = self.features(rows)[:, : int(self.bounds[1])]
            total = total + phi.T @ r[rows, :]
            diagonal = diagonal + xp.sum(xp.sum(phi * phi, axis=1) * xp.sum(r[rows, :] ** 2, axis=1))
        return Sums(xp.sum(total * total) - diagonal, diagonal)

    def batch(self, targets: np.ndarray) -> Sums:
        diagonal, total = np.zeros((len(targets), len(self.bounds) - 1)), None
        for rows, phi in self._rows_of_features():
            if total is None:
                size = int(self.bounds[-1])
                total = total_of(self.residual, self.predictions.columns, len(targets), size, phi)
                if isinstance(total, _LabelTotal):
                    total.keep(self._mean_sum)
            sizes = [squared_lengths(phi[:, first:last]) for first, last in pairwise(self.bounds.tolist())]
            norms = total.add(rows, phi, targets[:, rows])
            diagonal += np.stack([to_numpy(norms @ size) for size in sizes], axis=1)
        assert total is not None  # for the type checker: there are rows
        if isinstance(total, _LabelTotal):
            self._mean_sum = total.mean
        s = to_numpy(total.value())
        squares = np.add.reduceat(np.einsum("kbd,kbd->bd", s, s), self.bounds[:-1], axis=1)
        return Sums(squares - diagonal, diagonal)

    def kernel_rows(self, rows: slice, columns: slice = _ALL) -> np.ndarray:
        """Products of features of the first kernel."""
        return self._first[rows] @ self._first[columns].T

    @cached_property
    def _first(self) -> np.ndarray:
        parts = [phi[:, : int(self.bounds[1])] for _, phi in self._rows_of_features()]
        return np.concatenate(parts).astype(np.float64)

    def _rows_of_features(self) -> Any:
        size = int(self.bounds[-1])
        if self._kept is not None:
            return self._kept
        n = len(self.predictions)
        single = n * self.residual.dimension > _SINGLE_FROM  # the kernel is approximate, the level exact with any
        parts = row_slices(n, self._rows_at_once)
        made = ((rows, self._made(rows, np.float32 if single else None)) for rows in parts)
        if 4 * size * n > _KEEP_BYTES:
            return made
        self._kept = list(made)
        return self._kept

    def _made(self, rows: slice, dtype: Any) -> Array:
        """Features of some rows, which stay on an accelerator."""
        phi = self.features(rows)
        return phi if self.resident else np.asarray(to_numpy(phi), dtype=dtype)


class Total(ABC):
    """Running sums of features times residuals, by parts of the rows."""

    @abstractmethod
    def add(self, rows: slice, phi: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Add some rows, their features (rows, D) and targets (B, rows, ...); return |r_i|^2, shape (B, rows)."""

    @abstractmethod
    def value(self) -> np.ndarray:
        """Sums of shape (residual features, B, D)."""


def total_of(residual: FeatureResidual, columns: int, draws: int, size: int, reference: Array) -> Total | ResidentTotal:
    """Choose by the kind of residual, and by where the features lie, which `reference` tells."""
    if isinstance(residual, ClassResidual):
        made = _LabelTotal if is_numpy(reference) else ResidentTotal
        return made(residual, columns, draws, size)
    return _DenseTotal(residual, draws, size)


class _DenseTotal(Total):
    def __init__(self, residual: FeatureResidual, draws: int, size: int) -> None:
        self.residual = residual
        self.sums = np.zeros((size, draws * residual.dimension))

    def add(self, rows: slice, phi: np.ndarray, targets: np.ndarray) -> np.ndarray:
        self.draws, norms = len(targets), np.empty((len(targets), len(phi)))
        for part in row_slices(len(phi), max(1, _RESIDUALS // (len(targets) * self.residual.dimension))):
            r = self.residual[rows][part].batch(targets[:, part])
            self.sums += phi[part].T @ r.reshape(len(r), -1).astype(phi.dtype, copy=False)
            norms[:, part] = np.einsum("nbk,nbk->bn", r, r)
        return norms

    def value(self) -> np.ndarray:
        return self.sums.reshape(len(self.sums), self.draws, -1).transpose(2, 1, 0)


class _LabelTotal(Total):
    """S = sum_i phi_i w_i (psi(y_i) - mean_i): the first part needs only which rows have which label."""

    def __init__(self, residual: ClassResidual, classes: int, draws: int, size: int) -> None:
        self.residual = residual
        self.sums = np.zeros((classes, draws, size))
        self.mean, self.known = np.zeros((size, residual.dimension)), False
        residual.mean_squares  # noqa: B018  made once, for all parts and batches of draws

    def keep(self, mean: np.ndarray | None) -> None:
        """Take the sum of features times means from another set of labels, where it is known."""
        if mean is not None:
            self.mean, self.known = mean, True

    def add(self, rows: slice, phi: np.ndarray, targets: np.ndarray) -> np.ndarray:
        if self.residual.weights is not None:
            phi = phi * self.residual.weights[rows, None].astype(phi.dtype)
        _add_by_label(self.sums, targets, phi)
        if not self.known:
            self.mean += phi.T @ to_numpy(self.residual.mean)[rows]
        return self.residual[rows].squared_norms(targets)

    def value(self) -> np.ndarray:
        features = self.residual.class_features
        s = self.sums if features is None else np.tensordot(features.T, self.sums, 1)
        s -= self.mean.T[:, None, :]
        return s


def _add_by_label(sums: np.ndarray, labels: np.ndarray, phi: np.ndarray) -> None:
    """Add to sums[k, b] the features of the rows whose label in draw b is k."""
    if len(sums) <= _DENSE_UP_TO:
        _add_dense(sums, labels, phi)
    else:
        threaded_map(lambda b: _add_sparse(sums, b, labels[b], phi), range(len(labels)), None)


def _add_dense(sums: np.ndarray, labels: np.ndarray, phi: np.ndarray) -> None:
    rest = np.broadcast_to(phi.sum(axis=0, dtype=np.float64), sums.shape[1:]).copy()
    for rows in row_slices(len(phi), max(1, _INDICATORS // max(len(labels), 1))):
        own, features = np.ascontiguousarray(labels[:, rows]), phi[rows]
        for k in range(1, len(sums)):
            part = (own == k).astype(phi.dtype) @ features
            sums[k] += part
            rest -= part
    sums[0] += rest


def _add_sparse(sums: np.ndarray, draw: int, labels: np.ndarray, phi: np.ndarray) -> None:
    from scipy import sparse  # imported when needed: it would be a third of the time to import kernelcal

    ones, rows = np.ones(len(labels), dtype=phi.dtype), np.arange(len(labels))
    sums[:, draw] += sparse.csr_matrix((ones, (labels, rows)), shape=(len(sums), len(rows))) @ phi


class ResidentTotal:
    """Running sums of features times residuals, label by label, as `pairs.totals.Total`."""

    def __init__(self, residual: ClassResidual, classes: int, draws: int, size: int) -> None:
        self.residual, self.classes = residual, classes
        xp, place = namespace(residual.mean), place_of(residual.mean)
        self.sums = [xp.zeros((draws, size), dtype=xp.float64, device=place) for _ in range(classes)]
        self.mean = xp.zeros((size, residual.dimension), dtype=xp.float64, device=place)

    def add(self, rows: slice, phi: Array, targets: np.ndarray) -> Array:
        """Add some rows, their features (rows, D) and targets (B, rows); return |r_i|^2, shape (B, rows)."""
        part, xp = self.residual[rows], namespace(phi)
        labels = _labels(targets, phi)
        weights = None if part.weights is None else like(part.weights, phi)
        weighted = phi if weights is None else phi * weights[:, None]
        table, norms = _table(part), xp.zeros(labels.shape, dtype=phi.dtype, device=place_of(phi))
        for k in range(self.classes):
            chosen = xp.astype(labels == k, phi.dtype)
            self.sums[k] = self.sums[k] + chosen @ weighted
            norms = norms + chosen * table[:, k]
        self.mean = self.mean + weighted.T @ part.mean
        norms = norms + squared_lengths(part.mean)
        return norms if weights is None else norms * weights**2

    def value(self) -> Array:
        """Sums of shape (residual features, B, D)."""
        xp, features = namespace(self.mean), self.residual.class_features
        sums = xp.stack(self.sums)
        if features is not None:
            left = like(features.T, self.mean)
            sums = xp.reshape(left @ xp.reshape(sums, (self.classes, -1)), (-1, *sums.shape[1:]))
        return sums - self.mean.T[:, None, :]


def _labels(targets: np.ndarray, reference: Array) -> Array:
    return namespace(reference).asarray(targets.astype(np.int64), device=place_of(reference))


def _table(residual: ClassResidual) -> Array:
    """What of |r|^2 depends on the label: shape (n, m)."""
    if residual.class_features is None:
        return 1 - 2 * residual.mean
    features = like(residual.class_features, residual.mean)
    return squared_lengths(features) - 2 * residual.mean @ features.T
