"""Drawn rows some of whose outcomes are others: what the bootstrap could have seen where few outcomes surprised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.dependence import DependentUnits
from kernelcal.inference.draws import Draws, Marked
from kernelcal.inference.intervals.surprises import LabelLaw, label_law
from kernelcal.pairs import PairMatrix
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import ClassResidual, LabelFeatures

__all__ = ["MOST", "Flipped", "Flips", "Part"]


MOST = 6.0  # standard deviations: draws do not tell deeper levels apart, and flips grow with their square
_STRIP = 2**19  # numbers of some rows of the matrix, which fit the cache
_FLIPPED = 2**17  # the same of rows that are flipped: several arrays of them are held
_BYTES = 2**27
_KEPT = 2**21  # drawn rows that may be flipped at any level, which are looked for once

Part = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray] | None]  # features, and their factors of counts


@dataclass(frozen=True, eq=False)
class Flipped:
    """Copies of drawn rows that have another outcome, of some draws.

    Attributes
    ----------
    draws, rows : numpy.ndarray of shape (f,)
        The draw and the row of each copy, draws ascending; several copies of a row stand beside each other.
    counts : numpy.ndarray of shape (f,)
        How often the draw has the row.
    labels : numpy.ndarray
        The other outcome, of every draw.
    """

    draws: np.ndarray
    rows: np.ndarray
    counts: np.ndarray
    labels: np.ndarray


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
    features : LabelFeatures
        Of every label.
    scale : numpy.ndarray of shape (n,)
        By which residuals are multiplied.
    targets : numpy.ndarray of shape (n,)
        Observed labels.
    weights : numpy.ndarray of shape (n,)
        Case weights of mean 1.
    law : LabelLaw
        Of the labels.
    at_once : callable, optional
        Changes of draws for these flips and what is flipped, where the rows of M are not at hand.
    units : DependentUnits, optional
        Drawn in the place of rows, which are in their order; pairs that they leave out change nothing. Of a unit that
        is flipped every row has the label of the draw with probability `alike` over the rows of a unit.
    alike : float
        Rows that one surprise makes.
    """

    source: Draws
    draws: int
    rows: Callable[[slice], np.ndarray]
    parts: Sequence[Part]
    features: LabelFeatures
    scale: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    law: LabelLaw
    at_once: Callable[[Flips, Flipped], np.ndarray] | None = None
    units: DependentUnits | None = None
    alike: float = 1.0
    _known: dict[float, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, matrix: PairMatrix, case: Case, source: Draws, draws: int, **units: Any) -> Flips | None:
        """Flips of the bootstrap of all pairs; None for what is not classes."""
        residual = matrix.residual
        if not isinstance(residual, ClassResidual) or not isinstance(case.predictions, ClassPredictions):
            return None
        weights = np.ones(matrix.n) if case.weights is None else case.weights
        matrix.ready  # noqa: B018
        return cls(
            source,
            draws,
            matrix.forms.kernel_rows,
            [(np.asarray(matrix.features), lambda counts: counts)],
            residual.label_features,
            weights,
            np.asarray(case.targets).astype(np.intp),
            weights,
            label_law(case.targets, [case.predictions], case.weights),
            **units,
        )

    def changes(self, surprises: float) -> np.ndarray:
        """Changes of every draw with so many surprises, at most those of 6 standard deviations, shape (draws,)."""
        surprises = min(surprises, MOST**2 / 2)
        if surprises not in self._known and self.at_once is not None:
            self._known[surprises] = self.at_once(self, self._flipped(surprises))
        elif surprises not in self._known:
            step = max(1, _BYTES // (32 * len(self.targets)))  # draws that fit the memory together
            parts = [self._of(first, min(first + step, self.draws), surprises) for first in range(0, self.draws, step)]
            self._known[surprises] = np.concatenate(parts)
        return self._known[surprises]

    def _flipped(self, surprises: float) -> Flipped:
        """What is flipped in all draws: of all copies that the most surprises flip, those that these do."""
        copies, marks = self._copies(0, self.draws, surprises) if self._likely is None else self._likely
        chosen = marks < self._share(surprises)[copies.rows]
        return Flipped(copies.draws[chosen], copies.rows[chosen], copies.counts[chosen], copies.labels)

    @cached_property
    def _likely(self) -> tuple[Flipped, np.ndarray] | None:
        """Copies that the most surprises flip, with their uniform numbers; None where they are too many."""
        most = MOST**2 / 2
        return self._copies(0, self.draws, most) if self.draws * float(self._share(most).sum()) <= _KEPT else None

    def _copies(self, start: int, stop: int, surprises: float) -> tuple[Flipped, np.ndarray]:
        """Copies of some draws that so many surprises flip, and their uniform numbers."""
        share = self._share(surprises)
        return self._among(self.source.marked(start, stop, len(self.targets), share), share)

    def _among(self, found: Marked, share: np.ndarray) -> tuple[Flipped, np.ndarray]:
        """What is flipped among marked copies: those that would get the label that they have are not."""
        labels = self._labels(found.last)
        chosen = (found.marks < share[found.rows]) & (self.targets[found.rows] != labels[found.draws])
        draws, rows, counts = found.draws[chosen], found.rows[chosen], found.counts[chosen]
        return Flipped(draws, rows, counts, labels), found.marks[chosen]

    def _share(self, surprises: float) -> np.ndarray:
        """Probability that a copy of each row is flipped, shape (n,)."""
        eps = surprises * self.law.each / len(self.targets) * self.weights / self.weights.mean()
        return np.asarray(eps / (1 + eps))

    def _labels(self, uniforms: np.ndarray) -> np.ndarray:
        """Labels of some draws, for the uniform number of each that is for the label."""
        return np.searchsorted(np.cumsum(self.law.labels)[:-1], uniforms, side="right")

    def _of(self, start: int, stop: int, surprises: float) -> np.ndarray:
        n, draws = len(self.targets), stop - start
        if self.units is not None:
            return self._of_units(self.units, start, stop, surprises)
        share, flips = self._share(surprises), np.zeros((n, draws))
        counts, found = self.source.counts(start, stop, n), self.source.marked(start, stop, n, share)
        flipped, _ = self._among(found, share)
        np.add.at(flips, (flipped.rows, flipped.draws), 1.0)
        return self.of_flips(counts, flips, flipped.labels)

    def _of_units(self, units: DependentUnits, start: int, stop: int, surprises: float) -> np.ndarray:
        """Numbers of a draw: G for the units drawn, G for which of them are flipped, n for their rows, one a label."""
        n, number = len(self.targets), len(units)
        counts, uniforms = self.source.resampled(start, stop, number, more=number + n + 1)
        share = min(1.0, self.alike * number / n)
        eps = surprises * self.law.each * self.alike / (n * share)  # surprises a unit, each of `share` of its rows
        place = (uniforms[:, :number] * number).astype(np.intp)
        draw, which = np.nonzero(uniforms[:, number : 2 * number] < eps / (1 + eps))
        flipped = np.zeros((number, stop - start))
        np.add.at(flipped, (place[draw, which], draw), 1.0)
        labels = self._labels(uniforms[:, -1])
        alike = (uniforms[:, 2 * number : -1] < share) & (self.targets != labels[:, None])
        counts, flips = counts[units.unit], flipped[units.unit] * alike.T
        return self.of_flips(counts, flips, labels)

    def of_flips(self, counts: np.ndarray, flips: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Changes for how often each row is drawn and flipped, of shape (n, B), and the label of each draw."""
        total, n = np.zeros(counts.shape[1]), len(self.targets)
        height, step, wide = max(16, _STRIP // n), max(1, _FLIPPED // n), max(1, _FLIPPED // self.features.number)
        factors = [None if factor is None else factor(counts) for _, factor in self.parts]
        for top in range(0, n, height):
            rows = slice(top, min(top + height, n))
            row, draw = np.nonzero(flips[rows])
            if not len(row):
                continue
            strip = self.rows(rows)
            if self.units is None:
                strip[np.arange(len(strip)), np.arange(top, rows.stop)] = 0
            else:
                self.units.leave_out(strip, top)
            for begin in range(0, len(row), wide):
                r, b = row[begin : begin + wide] + top, draw[begin : begin + wide]
                new = self.features.of(labels[b])
                delta = self.scale[r, None] * (new - self.features.of(self.targets[r]))
                change = (delta, new, self.features.products(delta))
                for first in range(0, len(r), step):
                    part = slice(first, first + step)
                    found = self._pairs(b[part], strip[r[part] - top], factors, flips, [x[part] for x in change])
                    np.add.at(total, b[part], 2 * flips[r[part], b[part]] * found)
        return total

    def _pairs(
        self,
        draws: np.ndarray,
        strip: np.ndarray,
        factors: Sequence[np.ndarray | None],
        flips: np.ndarray,
        change: Sequence[np.ndarray],
    ) -> np.ndarray:
        """``<delta_i, sum_j M_ij (x_j + f_j delta_j / 2)>`` of flipped rows, delta the change of a residual.

        `change` holds delta, the features of the new labels, and the inner products of delta with those of all labels.
        """
        delta, new, products = change
        seen = products[:, self.targets]
        total = 0.5 * flips[:, draws].T * self.scale * (np.einsum("pk,pk->p", delta, new)[:, None] - seen)
        for (features, _), factor in zip(self.parts, factors, strict=True):
            inner = delta @ features.T
            total += inner if factor is None else inner * factor[:, draws].T
        return np.einsum("pn,pn->p", strip, total)
