"""Residuals in the feature space of a kernel on predictions and targets together: a sum over terms of products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from kernelcal.arrays import Array, row_slices, to_double
from kernelcal.errors import InputError
from kernelcal.kernels import AlignedPairs, Constant, CrossPairs, Dirac, Kernel, Linear, Points, has_leaf
from kernelcal.predictions import Bernoulli, Predictions, RealPredictions
from kernelcal.residuals.base import Inner, Residual
from kernelcal.residuals.finite import ClassResidual

__all__ = ["JointResidual", "ResidualTerm", "joint_residual"]


_DIAGONAL_ROWS = 4096


@dataclass(frozen=True, eq=False)
class ResidualTerm:
    """One product ``k(P, P') <r, r'>``: a kernel between predictions and residuals under a kernel between targets."""

    kernel: Kernel
    residual: Residual


@dataclass(frozen=True, eq=False)
class JointResidual(Residual):
    """Residuals ``k((P_i, y_i), .) - E k((P_i, Z), .)`` of a kernel ``sum_t k_t l_t`` on predictions and targets.

    Their inner products are the entries ``h_ij = sum_t k_t(P_i, P_j) <r^t_i, r^t_j>`` themselves, so that the kernel
    between predictions that is left for the statistic is `kernels.Constant`.

    Attributes
    ----------
    terms : tuple of ResidualTerm
        The products.
    predictions : Predictions
        The predictions that the kernels compare.

    Notes
    -----
    Every term may have features or none; engines sum term by term. Cost: that of all terms.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Lemma B.2, for any kernel on the product space.
    """

    terms: tuple[ResidualTerm, ...]
    predictions: Predictions

    @property
    def weights(self) -> np.ndarray | None:  # type: ignore[override]
        """Case weights, which all terms share."""
        return self.terms[0].residual.weights

    @property
    def dimension(self) -> int:
        """Work of all terms."""
        return sum(term.residual.dimension for term in self.terms)

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, index: Any) -> JointResidual:
        terms = tuple(replace(term, residual=term.residual[index]) for term in self.terms)
        return JointResidual(terms, self.predictions[index])

    def inner(self, targets: np.ndarray) -> JointInner:
        """Entries h_ij for one set of targets."""
        return JointInner(self, [term.residual.inner(targets) for term in self.terms])

    def bound(self) -> float:
        """Bound of |h_ij|: the sum of those of the terms."""
        return sum(self._bound_of(term.kernel) * term.residual.bound() for term in self.terms)

    def far_lengths(self) -> np.ndarray | None:
        """``sum_t k_t(P_i, P_i)`` times the squared length under each term; None where one has no bound."""
        lengths = [term.residual.far_lengths() for term in self.terms]
        total = np.zeros(len(self))
        for own, length in zip(self.diagonals, lengths, strict=True):
            if length is None:
                return None
            total += own * length
        return total

    def _bound_of(self, kernel: Kernel) -> float:
        if isinstance(self.predictions, RealPredictions) and has_leaf(kernel, Linear):
            raise InputError("null='bound' needs a bounded prediction kernel, and Linear() has no bound for numbers")
        return kernel.bound()

    def double(self) -> JointResidual:
        """Return the same in NumPy and float64."""
        terms = tuple(replace(term, residual=term.residual.double()) for term in self.terms)
        return JointResidual(terms, self.predictions.map_arrays(to_double))

    @cached_property
    def points(self) -> Points:
        """Predictions as the kernels see them; what metrics ask of one prediction is computed once."""
        return Points(self.predictions)

    @cached_property
    def diagonals(self) -> list[np.ndarray]:
        """Values k_t(P_i, P_i) of every term, each of shape (n,), in NumPy."""
        points = Points(self.predictions.map_arrays(to_double))
        parts = [AlignedPairs(points, part, part) for part in row_slices(len(self), _DIAGONAL_ROWS)]
        return [np.concatenate([np.asarray(term.kernel.diagonal(part)) for part in parts]) for term in self.terms]


@dataclass(frozen=True, eq=False)
class JointInner(Inner):
    """Entries h_ij of one set of targets."""

    residual: JointResidual
    inners: Sequence[Inner]

    def block(self, rows: Any, columns: Any, cross: Array | None = None) -> Array:
        """h_ij of some rows and columns."""
        pairs = CrossPairs(self.residual.points, rows, columns)
        return self._sum(pairs, [inner.block(rows, columns) for inner in self.inners])

    def aligned(self, rows: Any, columns: Any) -> Array:
        """h_ij pair by pair."""
        pairs = AlignedPairs(self.residual.points, rows, columns)
        return self._sum(pairs, [inner.aligned(rows, columns) for inner in self.inners])

    def _sum(self, pairs: CrossPairs, products: list[Array]) -> Array:
        values = zip(self.residual.terms, products, strict=True)
        return reduce(lambda left, right: left + right, [term.kernel.evaluate(pairs) * r for term, r in values])


def joint_residual(pairs: Sequence[tuple[Kernel, Residual]], predictions: Predictions) -> tuple[Kernel, Residual]:
    """Kernel between predictions and residuals whose product is the sum of all terms.

    Of one term these are its own. With two classes every target kernel is a number a_t times the product of the scalar
    residuals, so that the sum is the product of ``sum_t (a_t / 2) k_t`` with `Dirac` residuals: scans and known laws
    serve it. Otherwise the residuals are those of the feature space of the whole kernel, beside a constant.
    """
    terms = [ResidualTerm(kernel, residual) for kernel, residual in pairs]
    if len(terms) == 1:
        return terms[0].kernel, terms[0].residual
    if isinstance(predictions, Bernoulli):
        return _of_two_classes(terms, predictions)
    return Constant(), JointResidual(tuple(terms), predictions)


def _of_two_classes(terms: Sequence[ResidualTerm], predictions: Bernoulli) -> tuple[Kernel, Residual]:
    parts = []
    for term in terms:
        assert isinstance(term.residual, ClassResidual)  # for the type checker: a Bernoulli has no other residuals
        size = float(term.residual.label_features.table()[1, 0]) ** 2 / 2
        if size > 0:
            parts.append(size * term.kernel)
    if not parts:
        return Constant(), terms[0].residual
    residual = ClassResidual.of(predictions, Dirac(), terms[0].residual.weights)
    return reduce(lambda left, right: left + right, parts), residual
