"""Low rank: K is replaced by Phi Phi', and sums over pairs become sums over rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kernelcal.arrays import Array, namespace, on_accelerator, row_slices, squared_lengths, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.pairs.base import Engine, QuadraticForms, Sums
from kernelcal.pairs.totals import total_of
from kernelcal.predictions import Predictions
from kernelcal.residuals import ClassResidual, FeatureResidual, Residual

__all__ = ["FEATURE", "FeatureEngine", "FeatureMap"]

FeatureMap = Callable[[slice], Array]  # rows -> their features of all kernels side by side, (rows, sum of D)
_KEEP_BYTES = 2**29  # features below this size are kept between batches of draws, above they are made anew
_CHUNK_BYTES = 2**26
_ALL = slice(None)
_SECONDS, FEATURE = 2e-8, 3e-11  # seconds of a feature of a row, and of one times a residual in a draw
_SINGLE_FROM = 100_000  # rows times residual features; above, features are held in float32


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
        features, sizes = self.maps(kernels, predictions)
        return _Features(features, sizes, predictions, residual, self.describe(predictions))

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
        if not isinstance(residual, ClassResidual):  # its residuals are never held for all rows
            self.bytes_per_draw += 16 * len(predictions) * residual.dimension
        self._kept: list[tuple[slice, np.ndarray]] | None = None

    @property
    def seconds(self) -> float:
        """Time of one set of targets, roughly: all features are made anew."""
        return _SECONDS * len(self.predictions) * int(self.bounds[1])

    @property
    def seconds_per_draw(self) -> float:
        """The same for each of many sets of targets and each kernel: a column of a product."""
        columns = max(self.predictions.columns, self.residual.dimension)
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
            sizes = [squared_lengths(phi[:, first:last]) for first, last in pairwise(self.bounds.tolist())]
            norms = total.add(rows, phi, targets[:, rows])
            diagonal += np.stack([to_numpy(norms @ size) for size in sizes], axis=1)
        assert total is not None  # for the type checker: there are rows
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
        parts = row_slices(n, _CHUNK_BYTES // (8 * size or 1))
        made = ((rows, self._made(rows, np.float32 if single else None)) for rows in parts)
        if 4 * size * n > _KEEP_BYTES:
            return made
        self._kept = list(made)
        return self._kept

    def _made(self, rows: slice, dtype: Any) -> Array:
        """Features of some rows, which stay on an accelerator."""
        phi = self.features(rows)
        return phi if self.resident else np.asarray(to_numpy(phi), dtype=dtype)
