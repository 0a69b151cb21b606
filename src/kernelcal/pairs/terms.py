"""Sums over pairs of a kernel that is a sum of products: every term by itself, by whatever way is quickest for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np

from kernelcal.pairs.base import Engine, QuadraticForms, Sums
from kernelcal.predictions import Predictions
from kernelcal.residuals import JointResidual

__all__ = ["TermForms", "of_terms"]


_ALL = slice(None)


class TermForms(QuadraticForms):
    """Sums of ``h_ij = sum_t k_t(P_i, P_j) <r^t_i, r^t_j>`` as sums over the forms of the terms."""

    def __init__(self, forms: Sequence[QuadraticForms], n: int) -> None:
        self._terms, self.n = tuple(forms), n
        ways = dict.fromkeys(form.label for form in forms)
        self.label = f"{len(forms)} terms: {', '.join(ways)}"
        self.bytes_per_draw = max(form.bytes_per_draw for form in forms)
        self.held_bytes = sum(form.held_bytes for form in forms)
        self.made_bytes = max(form.made_bytes for form in forms)

    @property
    def terms(self) -> tuple[QuadraticForms, ...]:
        """The forms of every term."""
        return self._terms

    @property
    def seconds(self) -> float:
        """Time of all terms."""
        return sum(form.seconds for form in self._terms)

    @property
    def seconds_per_draw(self) -> float:
        """Time of all terms."""
        return sum(form.seconds_per_draw for form in self._terms)

    def of(self, targets: np.ndarray) -> Sums:
        """Sums for one set of targets, with their gradient."""
        return _total(form.of(targets) for form in self._terms)

    def batch(self, targets: np.ndarray) -> Sums:
        """Sums for many sets of targets."""
        return _total(form.batch(targets) for form in self._terms)

    def kernel_rows(self, rows: slice, columns: slice = _ALL) -> np.ndarray:
        """Ones: the residuals hold the kernels between predictions."""
        return np.ones((len(range(*rows.indices(self.n))), len(range(*columns.indices(self.n)))))

    def by_block(self, targets: np.ndarray) -> np.ndarray:
        """Sum over i != j inside each block of rows."""
        return np.sum([form.by_block(targets) for form in self._terms], axis=0)

    def by_pair(self, targets: np.ndarray) -> list[np.ndarray]:
        """Values h_ij of lists of pairs."""
        return [np.sum(parts, axis=0) for parts in zip(*(form.by_pair(targets) for form in self._terms), strict=True)]


def of_terms(engine: Engine, predictions: Predictions, residual: JointResidual) -> TermForms:
    """Let an engine prepare every term."""
    forms = [engine.prepare((term.kernel,), predictions, term.residual) for term in residual.terms]
    return TermForms(forms, len(residual))


def _total(sums: Iterable[Sums]) -> Sums:
    return reduce(
        lambda left, right: Sums(left.off_diagonal + right.off_diagonal, left.diagonal + right.diagonal), sums
    )
