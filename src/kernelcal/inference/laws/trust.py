"""When a law that is estimated from residuals must not be trusted: where few outcomes could surprise, or few did."""

from __future__ import annotations

import math

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.inference.laws.law import Problem, prepared_pairs
from kernelcal.pairs import BandMatrix, PairMatrix, threaded_map
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import ClassResidual

__all__ = ["expected_surprises", "few_surprises_notes", "noise_ratio", "trust_notes"]


_FEW, _FEW_IN_THE_TAIL, _TAIL = 5.0, 10.0, 0.01  # surprises; of p-values below 1 % more are needed
_RATIO = 0.5
_ROWS, _AT_ONCE = 1024, 2**19


def expected_surprises(predictions: ClassPredictions) -> float:
    """Return ``sum_i (1 - |p_i|^2) / 2``; of two classes it is ``sum_i p_i (1 - p_i)``."""
    p = predictions.table().astype(np.float64, copy=False)
    return float((1 - np.einsum("ij,ij->i", p, p)).sum() / 2)


def noise_ratio(matrix: PairMatrix, residual: ClassResidual, predictions: ClassPredictions) -> float:
    """Root of ``sum h_ij^2`` over its expectation ``sum K_ij^2 tr V_i V_j``, i != j, V_i the covariance of residual i.

    The expectation is taken over at most 1,024 evenly spaced rows with all others. Cost: that many times n kernel
    values, times the classes.
    """
    n, residual = len(matrix), residual.double()
    p = predictions.table().astype(np.float64, copy=False)
    features = residual.label_features
    mean = np.asarray(residual.mean)
    seen = features.products(mean) ** 2  # <e_l, p_i>^2
    step = -(-n // _ROWS)

    def work(part: slice) -> np.ndarray:
        rows = slice(part.start * step, min(part.stop * step, n), step)
        strip = matrix.forms.kernel_rows(rows)
        strip[np.arange(len(strip)), np.arange(*rows.indices(n))] = 0
        traces = features.weighed(p[rows], 2) @ p.T - p[rows] @ seen.T - seen[rows] @ p.T + (mean[rows] @ mean.T) ** 2
        return np.asarray((strip**2 * traces).sum())

    matrix.ready  # noqa: B018  made before threads ask for it
    count = len(range(0, n, step))
    parts = threaded_map(work, row_slices(count, max(16, _AT_ONCE // n)), None)
    expected = float(np.sum(parts)) * n / count
    return math.sqrt(float(matrix.row_squares.sum()) / expected) if expected > 0 else math.inf


def few_surprises_notes(problem: Problem, harm: str) -> tuple[str, ...]:
    """Say where so few outcomes could surprise that a law of many rows does not hold, and what is wrong then."""
    predictions = problem.case.predictions
    if not isinstance(predictions, ClassPredictions) or expected_surprises(predictions) >= _FEW_IN_THE_TAIL:
        return ()
    return (f"few outcomes could surprise ({expected_surprises(predictions):.2g} expected): {harm}",)


def trust_notes(problem: Problem, matrix: PairMatrix | BandMatrix, pvalue: float) -> tuple[str, ...]:
    """Say where the variance of what was seen is not that of what could have been seen."""
    predictions, residual = problem.case.predictions, prepared_pairs(problem).residual
    if not isinstance(predictions, ClassPredictions):
        return ()
    few = expected_surprises(predictions)
    cure = "this law, estimated from the residuals seen, can reject calibrated models far too often; use null='exact'"
    if few < (_FEW_IN_THE_TAIL if pvalue < _TAIL else _FEW):
        return (f"few outcomes could surprise ({few:.2g} expected): {cure}",)
    if isinstance(matrix, BandMatrix) or not isinstance(residual, ClassResidual):
        return ()
    ratio = noise_ratio(matrix, residual, predictions)
    if ratio >= _RATIO:
        return ()
    return (f"the residuals vary less than the predictions say (by a factor of {ratio:.2g}): {cure}",)
