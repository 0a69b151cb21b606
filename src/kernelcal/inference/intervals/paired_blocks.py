"""Paired differences of means over blocks of very many rows: what surprises that did not happen add to their noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.inference.intervals.paired import PairedSurprises
from kernelcal.inference.intervals.surprises import DifferenceSums, Error, LabelLaw
from kernelcal.pairs import joint_sums
from kernelcal.statistics.pairwise import PreparedPairMean

__all__ = ["BlockSurprises"]


_PARTS, _ROWS = 16, 512  # of all rows, evenly spaced: enough to see what a surprise would do
_FEWEST = 4  # rows of a part


@dataclass(frozen=True, eq=False)
class BlockSurprises:
    """What pseudo-surprises add to the variance of a mean over blocks of the difference of two SKCE.

    A mean over B blocks of b rows has the variance ``(4 (b - 2) z1 + 2 z2) / (B b (b - 1))``, z1 and z2 the variances
    of a row and of a pair of Hoeffding's decomposition of ``d = h_a - h_b``. They do not depend on blocks, so that they
    are estimated from some parts of all rows, evenly spaced, by the sums of `PairedSurprises` in each, with pseudo-rows
    and without. The difference is added to the variance that the blocks have, in which are the surprises that happened.

    Attributes
    ----------
    n, size : int
        All rows, and those of a block.
    parts : sequence of PairedSurprises
        Sums of all models over the pairs of each part.
    """

    n: int
    size: int
    parts: Sequence[PairedSurprises]

    @classmethod
    def of(cls, prepared: Sequence[PreparedPairMean], cases: Sequence[Case], law: LabelLaw | None) -> Self | None:
        """Sums of these models, prepared over blocks; None where residuals have no features or no bound.

        Cost: some thirty operations for each of four million pairs and each two models.
        """
        n, size = len(cases[0]), int(prepared[0].statistic.block_size or 2)
        apart = max(1, n // _ROWS)
        starts = dict.fromkeys(int(start) for start in np.linspace(0, apart, _PARTS, endpoint=False))
        parts = []
        for start in starts:
            paired = _sums_of(prepared, cases, law, slice(start, n, apart))
            if paired is None:
                return None
            parts.append(paired)
        return cls(n, size, parts)

    def between(self, a: int, b: int) -> Callable[[float], float]:
        """Return what a number of surprises adds to the variance of the mean over blocks of two models."""
        sums = [part.between(a, b) for part in self.parts]
        none = self._variance(sums, 0.0)
        return lambda surprises: max(self._variance(sums, surprises) - none, 0.0)

    def errors(self, values: np.ndarray, a: int, b: int) -> Error:
        """Standard error of the mean of differences of block values, for a number of surprises."""
        own, more = float(values.var(ddof=1)) / len(values), self.between(a, b)
        return lambda surprises: math.sqrt(own + more(surprises))

    def _variance(self, sums: Sequence[DifferenceSums], surprises: float) -> float:
        """Hoeffding's variance of the mean over blocks, from the mean of the sums of all parts."""
        eps = surprises * sums[0].each / self.n
        scaled = [_values(own, eps) for own in sums]
        pairs, fewer = sum(w * (w - 1) for w, *_ in scaled), sum(w * (w - 1) * (w - 2) for w, *_ in scaled)
        total, rows, squares = (math.fsum(own[k] for own in scaled) for k in (1, 2, 3))
        mean = total / pairs
        first = max((rows - squares) / fewer - mean**2, 0.0)
        second = max(squares / pairs - mean**2, 0.0)
        size = self.size * (1 + eps)
        blocks = self.n // self.size
        return (4 * max(size - 2, 0.0) * first + 2 * second) / (blocks * size * (size - 1))


def _values(sums: DifferenceSums, eps: float) -> tuple[float, float, float, float]:
    """Weight of the rows of a part, and its sums of d, of the squares of its row sums, and of d^2.

    Not every row of a part need have pseudo-outcomes; those that do have more.
    """
    own = eps * sums.n / sums.rows
    polynomials = (sums.total, sums.squared_sums, sums.squares)
    total, rows, squares = (sum(c * own**k for k, c in enumerate(known)) for known in polynomials)
    return sums.n * (1 + eps), total, rows, squares


def _sums_of(
    prepared: Sequence[PreparedPairMean], cases: Sequence[Case], law: LabelLaw | None, rows: slice
) -> PairedSurprises | None:
    matrices = []
    for ready, case in zip(prepared, cases, strict=True):
        whole = replace(
            ready.statistic,
            estimator="unbiased",
            block_size=None,
            prediction_kernel=ready.kernels[0],
            target_kernel=ready.target_kernel,
        )
        matrices.append(whole.prepare(case.predictions[rows]).matrix(case.targets[rows]))
    if len(matrices[0]) < _FEWEST:
        return None
    return PairedSurprises.of(matrices, law, *joint_sums(matrices))
