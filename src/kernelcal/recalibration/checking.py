"""What a map does for rows that had no part in its fit: scores and exact tests before and after."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import SIGNIFICANCE
from kernelcal.inference import DefaultFamily, TestResult
from kernelcal.inference.laws import refuse_dependent
from kernelcal.inference.test import law_of, tested
from kernelcal.predictions import ClassPredictions, Quantiles, Samples
from kernelcal.recalibration.numbers import loss_rows
from kernelcal.recalibration.pool import error_of
from kernelcal.runs import Run
from kernelcal.statistics import brier_score_of, log_score_rows_of
from kernelcal.tables import Grid, Shown

__all__ = ["Checked", "checked", "exact_test_of"]


@dataclass(frozen=True, repr=False)
class Checked(Shown):
    """Scores and tests of predictions as they were given and as a map makes them.

    Attributes
    ----------
    scores : dict of str to (float, float)
        Mean scores before and after, smaller is better.
    test_before, test_after : TestResult
        Calibration tests of the same rows: exact for the map as it is where the rows are independent of its fit.
    gain, gain_error : float
        What the first score falls by, and the standard error of it, over clusters or along time where rows depend.
    n : int
        Rows.
    """

    scores: dict[str, tuple[float, float]]
    test_before: TestResult
    test_after: TestResult
    gain: float
    gain_error: float
    n: int

    @property
    def verdict(self) -> str:
        """Whether the map helped these rows, and whether the test sees an error that is left."""
        name = next(iter(self.scores))
        if not abs(self.gain) > self.gain_error:
            said = f"The map makes no clear difference to these {self.n:,} rows"
        else:
            words = "better" if self.gain > 0 else "worse"
            said = f"The map makes these {self.n:,} rows {words}: {name} {_change(*self.scores[name])}"
        left = "an error is left" if self.test_after.pvalue <= SIGNIFICANCE else "no error is left"
        return f"{said}; {left} that the test sees (p = {self.test_after.pvalue:.3g})."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; infinite scores are null."""
        scores = {
            name: [float(value) if np.isfinite(value) else None for value in pair] for name, pair in self.scores.items()
        }
        tests = {"before": self.test_before.to_dict(), "after": self.test_after.to_dict()}
        return {"rows": self.n, "scores": scores, "tests": tests, "verdict": self.verdict}

    def _table(self) -> Grid:
        rows = [[name, f"{before:.4f}", f"{after:.4f}"] for name, (before, after) in self.scores.items()]
        rows.append(["p-value", f"{self.test_before.pvalue:.3g}", f"{self.test_after.pvalue:.3g}"])
        title = f"{self.n:,} rows that had no part in the fit"
        return Grid(title, ["", "before", "after"], rows, (self.verdict,))


def _change(before: float, after: float) -> str:
    return f"{before:.4f} to {after:.4f}"


def checked(case: Case, made: Any, run: Run) -> Checked:
    """Score and test the predictions of a case and others of the same rows."""
    after = replace(case, predictions=made)
    first, second = _loss(case), _loss(after)
    weights = np.ones(len(case)) if case.weights is None else case.weights / case.weights.mean()
    with np.errstate(invalid="ignore"):
        gains = np.where(np.isfinite(first), weights * (first - second), np.inf)
    gain, some = float(gains.mean()), np.isfinite(gains).all()
    error = error_of(gains, case.rows) if some else 0.0
    scores = {name: (_mean(a, weights), _mean(b, weights)) for name, a, b in _scores(case, after)}
    return Checked(scores, exact_test_of(case, run), exact_test_of(after, run), gain, error, len(case))


def _mean(rows: Any, weights: np.ndarray) -> float:
    return float(rows) if np.ndim(rows) == 0 else float(np.mean(weights * rows))


def _loss(case: Case) -> np.ndarray:
    of_classes = isinstance(case.predictions, ClassPredictions)
    return np.asarray(log_score_rows_of(case) if of_classes else loss_rows(case)[0], dtype=np.float64)


def _scores(case: Case, after: Case) -> list[tuple[str, Any, Any]]:
    if isinstance(case.predictions, ClassPredictions):
        return [
            ("log score", _loss(case), _loss(after)),
            ("Brier score", brier_score_of(case), brier_score_of(after)),
        ]
    if isinstance(case.predictions, Quantiles):
        return [("mean pinball loss", _loss(case), _loss(after))]
    if isinstance(case.predictions, Samples):
        return [("CRPS", _loss(case), _loss(after))]
    return [("log score", _loss(case), _loss(after)), ("CRPS", loss_rows(case)[1], loss_rows(after)[1])]


def exact_test_of(case: Case, run: Run) -> TestResult:
    """Test a case with the default family, as rows that depend on each other where it says so."""
    statistic = DefaultFamily()
    if case.rows is not None:
        refuse_dependent(case, None)
    return tested(case, statistic, law_of(case, statistic), run)
