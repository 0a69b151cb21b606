"""The normal law of the block estimator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem, one_member, prepared_pairs

__all__ = ["Block"]


_FEW = 30  # blocks; below, the normal law is a rough approximation


@dataclass(frozen=True)
class Block(NullLaw):
    """Normal law of the block estimator: ``p = 1 - Phi(sqrt(J) mean / sd)`` over the values of J blocks (ddof 1).

    Notes
    -----
    Asymptotic in the number of blocks. Cost: O(n b m) for blocks of b rows; no draws.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Corollary 1; (2021), Remark B.1, whose second formula lacks a root over the
    number of pairs: the standard deviation of the block values is used.
    """

    label: ClassVar[str] = "normal law of the block values"
    name: ClassVar[str] = "block"
    estimators: ClassVar[tuple[str, ...]] = ("block",)

    def test(self, problem: Problem) -> Outcome:
        """Compare the mean of the block values with its standard error."""
        from scipy.special import ndtr  # imported when needed: scipy.special is slow to load

        prepared = prepared_pairs(problem)
        values = prepared.block_values(problem.case.targets)
        if len(values) < 2:
            raise InputError(f"null='block' needs at least 2 blocks, got {len(values)}: use a smaller block_size")
        mean, error = float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
        notes = (f"{len(values)} blocks are few for a normal law",) if len(values) < _FEW else ()
        if np.ptp(values) <= 1e-12 * np.abs(values).max():  # their spread is rounding, and nothing to compare with
            return one_member(
                prepared,
                mean,
                1.0,
                math.nan,
                notes=("all block values are equal: no spread to compare with; use null='exact'", *notes),
            )
        z = mean / error
        return one_member(prepared, mean, float(ndtr(-z)), z, notes=notes)
