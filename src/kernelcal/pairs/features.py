"""Low rank: K is replaced by Phi Phi', and sums over pairs become sums over rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kernelcal.arrays import (
    Array,
    namespace,
    on_accelerator,
    row_slices,
    squared_lengths,
    to_numpy,
)
from kernelcal.errors import InputError
from kernelcal.kernels import Kernel
from kernelcal.pairs.base import Engine, QuadraticForms, Sums
from kernelcal.pairs.totals import DENSE_UP_TO, LabelTotal, total_of
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.residuals import ClassResidual, FeatureResidual, PITResidual, Residual

__all__ = [
    "FEATURE",
    "FeatureEngine",
    "FeatureForms",
    "FeatureMap",
    "FeaturePart",
    "RunningSums",
]


_SPARSE = 24  # columns of such a product that take as long

_KEEP_BYTES = 2**29  # features below this size are kept between batches of draws, above they are made anew

_CHUNK_BYTES = 2**26

_LABELS = 8  # bytes of a row of a part and draw: which rows have a label, and the squared lengths of residuals

_MADE = 2**25  # bytes of the values that features are made of

_MAKING = 1.5  # arrays of the size of a part at once while its features are made

_ROWS = 512  # whose features stay in the cache while they are multiplied with residuals of some draws

_SECONDS, FEATURE = 2e-8, 3e-11  # seconds of a feature of a row, and of one times a residual in a draw

_SINGLE_FROM = 50_000  # rows times residual features; above, features are held in float32

_SINGLE_PLACES = 20_000  # the same of places of continuous laws, of which no two draws are the same

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
        return FeatureForms(features, sizes, predictions, residual, engine.describe(predictions))

    def counting(self, weights: np.ndarray) -> FeatureEngine:
        """Return the engine for rows of these weights: one that is made of rows leaves out those without weight."""
        return self

    @abstractmethod
    def describe(self, predictions: Predictions) -> str:
        """Name for the result."""


class FeatureForms(QuadraticForms):
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
        one = 4 if self._single else 8
        return one * numbers if 4 * numbers <= _KEEP_BYTES else 0

    @property
    def planned_bytes(self) -> tuple[int, int]:
        """Residuals that are no labels are made of some rows at a time, and do not add up."""
        if isinstance(self.residual, ClassResidual):
            return super().planned_bytes
        columns = max(self.predictions.columns, self.residual.dimension)
        return self.made_bytes, 24 * int(self.bounds[-1]) * columns + 8 * len(self.predictions)

    @property
    def _single(self) -> bool:
        """Whether features are held in float32: the kernel is approximate, the level exact with any.

        Not between numbers with probabilities of their own: the last digits of a product depend on where a draw stands
        among others, and draws that are the same must tie.
        """
        numbers = len(self.predictions) * self.residual.dimension
        if isinstance(self.residual, PITResidual):
            return self.residual.continuous and numbers > _SINGLE_PLACES
        return numbers > _SINGLE_FROM

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
        if isinstance(self.residual, ClassResidual) and self.predictions.columns > DENSE_UP_TO:
            columns = _SPARSE  # rows are added label by label
        return FEATURE * len(self.predictions) * int(self.bounds[-1]) / (len(self.bounds) - 1) * columns

    def of(self, targets: np.ndarray) -> Sums:
        """Sums of the first kernel, with gradients."""
        r = self.residual.features(targets)
        xp = namespace(r)
        total, diagonal = 0.0, 0.0 * r[0, 0]
        for rows in row_slices(len(self.predictions), _CHUNK_BYTES // (8 * int(self.bounds[1]) or 1)):
            phi = self.features(rows)[:, : int(self.bounds[1])]
            total = total + phi.T @ r[rows, :]
            diagonal = diagonal + xp.sum(xp.sum(phi * phi, axis=1) * xp.sum(r[rows, :] ** 2, axis=1))
        return Sums(xp.sum(total * total) - diagonal, diagonal)

    def batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels and sets of targets."""
        diagonal, total = np.zeros((len(targets), len(self.bounds) - 1)), None
        for rows, phi in self._rows_of_features():
            if total is None:
                size = int(self.bounds[-1])
                total = total_of(self.residual, self._usual, len(targets), size, phi)
                if isinstance(total, LabelTotal):
                    total.keep(self._mean_sum)
            norms = total.add(rows, phi, targets[:, rows])
            diagonal += to_numpy(norms @ self._lengths(phi))
        assert total is not None  # for the type checker: there are rows
        if isinstance(total, LabelTotal):
            self._mean_sum = total.mean
        s = to_numpy(total.value())
        return _sums(s, self.bounds, diagonal)

    @cached_property
    def _usual(self) -> np.ndarray:
        """Class that each row is expected to have, where one is more probable than all others together; else -1."""
        if not isinstance(self.predictions, ClassPredictions):
            return np.empty(0, dtype=np.intp)
        p = self.predictions.table()
        return np.where(p.max(axis=1) > 0.5, p.argmax(axis=1), -1)

    @property
    def held(self) -> bool:
        """Whether features of all rows are kept between batches of draws, in NumPy."""
        return self.held_bytes > 0 and not self.resident

    @property
    def rows_of_a_part(self) -> int:
        """How many rows a part has, but for the last one."""
        return min(len(self.predictions), _ROWS)

    @cached_property
    def parts(self) -> list[FeaturePart]:
        """All rows, a few at a time, with their features; for features that are held."""
        return [
            FeaturePart(slice(rows.start + own.start, rows.start + own.stop), phi[own], self._lengths(phi[own]))
            for rows, phi in self._rows_of_features()
            for own in row_slices(len(phi), _ROWS)
        ]

    def _lengths(self, phi: Array) -> Array:
        """Squared lengths of the features of each kernel, shape (rows, kernels)."""
        every = [squared_lengths(phi[:, first:last]) for first, last in pairwise(self.bounds.tolist())]
        return namespace(phi).stack(every, axis=1)

    def running(self, draws: int) -> RunningSums:
        """Start sums of residuals that somebody else makes, part by part."""
        return RunningSums(self.bounds, self.residual.dimension, draws)

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
        parts = row_slices(n, self._rows_at_once)
        made = ((rows, self._made(rows, np.float32 if self._single else None)) for rows in parts)
        if 4 * size * n > _KEEP_BYTES:
            return made
        self._kept = list(made)
        return self._kept

    def _made(self, rows: slice, dtype: Any) -> Array:
        """Features of some rows, which stay on an accelerator."""
        phi = self.features(rows)
        return phi if self.resident else np.asarray(to_numpy(phi), dtype=dtype)


def _sums(s: np.ndarray, bounds: np.ndarray, diagonal: np.ndarray) -> Sums:
    """Sums over pairs of each kernel, from sums of features times residuals (residual features, B, D)."""
    squares = np.add.reduceat(np.einsum("kbd,kbd->bd", s, s), bounds[:-1], axis=1)
    return Sums(squares - diagonal, diagonal)


@dataclass(frozen=True, eq=False)
class FeaturePart:
    """Some rows that follow each other, their features of all kernels (rows, D), squared lengths (rows, kernels)."""

    rows: slice
    features: np.ndarray
    lengths: np.ndarray


class RunningSums:
    """Sums of features times residuals of some draws, of which the residuals are given part by part.

    Parameters
    ----------
    bounds : numpy.ndarray
        Where the features of each kernel begin, and the last ones end.
    dimension, draws : int
        Features of a residual, and sets of targets.
    """

    def __init__(self, bounds: np.ndarray, dimension: int, draws: int) -> None:
        self.bounds, self.shape = bounds, (dimension, draws, int(bounds[-1]))
        self.sums = np.zeros((dimension * draws, int(bounds[-1])))
        self.diagonal = np.zeros((draws, len(bounds) - 1))

    def add(self, part: FeaturePart, residuals: np.ndarray) -> None:
        """Add residuals of shape (residual features, B, rows) of some rows."""
        flat = residuals.reshape(-1, residuals.shape[-1])
        self.sums += flat.astype(part.features.dtype, copy=False) @ part.features
        lengths = residuals[0] * residuals[0]
        for column in residuals[1:]:
            lengths += column * column
        self.diagonal += lengths @ part.lengths

    def value(self) -> Sums:
        """Sums over pairs of rows, by kernel."""
        return _sums(self.sums.reshape(self.shape), self.bounds, self.diagonal)
