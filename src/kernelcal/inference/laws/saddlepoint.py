"""The law of the unbiased SKCE under calibration without draws: known covariance, eigenvalues, saddlepoint."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from kernelcal.inference.known import KnownNull, known_null
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem, one_member, prepared_pairs

__all__ = ["Saddlepoint", "far_note"]


_FAR = 1e-6
_LUMPY = 0.1  # of Var^2; the limit itself has 48 sum l^4 / Var^2, up to 12


@dataclass(frozen=True)
class Saddlepoint(NullLaw):
    """P-value of the unbiased SKCE from its known law, given the predictions.

    Under calibration the covariance of every residual is known. ``n (n - 1) SKCE`` tends to a sum of weighted
    chi-square variables whose weights are eigenvalues of a known matrix (`known_null`), and Kuonen's saddlepoint
    formula gives its tail with bounded relative error, down to 1e-12 and below.

    Notes
    -----
    Conditional on the predictions, as the exact test; asymptotic in n. Variance exact; skewness exact up to 1,500 rows
    times residual columns, and at any n for one probability with a kernel that scans or few unique predictions. The far
    tail is that of the Gaussian limit: below 1e-6 read the p-value as an order of magnitude. Cost: O(n^2 m), or
    O(n log n) with a scan, and eigenvalues of a matrix of at most 1,500 rows; no draws.

    References
    ----------
    Kuonen (1999); Chen and Lumley (2019); the covariance is exact by the definition of calibration.
    """

    label: ClassVar[str] = "known law given the predictions, saddlepoint"
    name: ClassVar[str] = "saddlepoint"
    estimators: ClassVar[tuple[str, ...]] = ("unbiased",)
    weighted: ClassVar[bool] = True

    def test(self, problem: Problem) -> Outcome:
        """Evaluate the tail of the known law at the observed value."""
        prepared = prepared_pairs(problem)
        value = float(prepared.values(problem.case.targets[None])[0, 0])
        null = known_null(prepared)
        if null.law is None:
            note = "the null has no variance: every prediction is certain"
            return one_member(prepared, value, 1.0 if value <= 0 else 0.0, math.nan, notes=(note,))
        pvalue = null.law.tail(value * prepared.total)
        return one_member(
            prepared, value, pvalue, value * prepared.total / math.sqrt(null.variance), notes=_notes(null, pvalue)
        )


def _notes(null: KnownNull, pvalue: float) -> tuple[str, ...]:
    notes = [f"null: skewness {null.skewness:.2f}" + ("" if null.exact else ", from its leading eigenvalues")]
    if null.lumps > _LUMPY:
        notes.append(
            "rare targets or a narrow kernel make the law lumpy: this p-value can be far too small; use null='exact'"
        )
    return (*notes, *far_note(pvalue))


def far_note(pvalue: float) -> tuple[str, ...]:
    """What to make of a p-value in the far tail."""
    far = "below 1e-6 the p-value is an order of magnitude: the far tail is that of the Gaussian limit"
    return (far,) if pvalue < _FAR else ()
