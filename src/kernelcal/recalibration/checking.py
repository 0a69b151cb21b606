"""What a map does for rows that had no part in its fit: scores and exact tests before and after."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.inference import DefaultFamily, TestResult
from kernelcal.inference.laws import refuse_dependent
from kernelcal.inference.test import law_of, tested
from kernelcal.plots import percent
from kernelcal.predictions import ClassPredictions, Quantiles, Samples
from kernelcal.recalibration.advice import MORE, USE, ScoreChange, advised, ends_of, error_of_gain, left_in_words
from kernelcal.recalibration.numbers import loss_rows
from kernelcal.runs import Run
from kernelcal.statistics import brier_score_rows_of, log_score_rows_of
from kernelcal.tables import Grid, Shown

__all__ = ["FIXED", "FORWARD", "HELD_OUT", "Checked", "checked", "exact_test_of"]


FORWARD, HELD_OUT, FIXED = "forward", "held out", "fixed map"


@dataclass(frozen=True, repr=False)
class Checked(Shown):
    """Scores and tests of predictions as they were given and as a map makes them.

    Attributes
    ----------
    kind : str
        Which test it is. ``held out``: the map as it is, on rows that had no part in its fit. ``fixed map``: the same,
        but whether rows of the fit are among them cannot be seen. ``forward``: rows as maps make them that were fitted
        to earlier blocks, so that maps of this kind are tested and not one of them.
    changes : tuple of ScoreChange
        Mean scores before and after, what they fall by, and its interval.
    test_before, test_after : TestResult
        Calibration tests of the same rows: exact for the map as it is where the rows are independent of its fit.
    gain_error : float
        Standard error of what the first score falls by, over clusters or along time where rows depend; of classes with
        two outcomes that did not happen, where that is larger.
    n : int
        Rows.
    confidence_level : float
        Coverage of the intervals.
    before, after : Case
        The rows themselves, which a page draws; not compared, and not in `to_dict`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(80, rng=0)
    >>> check = kc.recalibration.recalibrate(y[:40], p[:40], "temperature").check(y[40:], p[40:])
    >>> check.n, sorted(check.scores)[:1]
    (40, ['Brier score'])
    """

    kind: str
    changes: tuple[ScoreChange, ...]
    test_before: TestResult
    test_after: TestResult
    gain_error: float
    n: int
    confidence_level: float
    before: Case = field(compare=False)
    after: Case = field(compare=False)

    @property
    def scores(self) -> dict[str, tuple[float, float]]:
        """Mean scores before and after by their names, smaller is better."""
        return {one.name: (one.before, one.after) for one in self.changes}

    @property
    def gain(self) -> float:
        """What the first score falls by."""
        return self.changes[0].gain

    @property
    def advice(self) -> str:
        """What to do: ``use`` the map, ``leave`` the predictions alone, or get ``more rows``."""
        density = self.changes[0].name == "log score" and not isinstance(self.before.predictions, ClassPredictions)
        return advised(self.changes[0], self.gain_error, self.test_before, few=False, of_density=density)

    @property
    def verdict(self) -> str:
        """What to do, in one sentence, and whether the test sees an error that is left."""
        first, rows = self.changes[0], f"these {self.n:,} rows"
        change = f"{first.name} {first.before:.4f} to {first.after:.4f}"
        if self.advice == USE:
            said = f"Use the map: it makes {rows} better, {change}"
        elif self.gain < -self.gain_error:
            said = f"Leave the predictions alone: the map makes {rows} worse, {change}"
        else:
            start = "Get more rows, and leave the predictions alone until then" if self.advice == MORE else _LEAVE
            said = f"{start}: the map makes no clear difference to {rows}"
        return f"{said}; {left_in_words(self.test_after)}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; infinite scores are null."""
        scores = {name: [_plain(value) for value in pair] for name, pair in self.scores.items()}
        gains = {one.name: [_plain(value) for value in (one.gain, one.low, one.high)] for one in self.changes}
        tests = {"before": self.test_before.to_dict(), "after": self.test_after.to_dict()}
        own = {"rows": self.n, "kind": self.kind, "scores": scores, "gains": gains}
        return {**own, "confidence_level": self.confidence_level, "tests": tests, "verdict": self.verdict}

    def _table(self) -> Grid:
        rows = [
            [one.name, *(f"{x:.4f}" for x in (one.before, one.after, one.gain)), f"{one.low:.4f} to {one.high:.4f}"]
            for one in self.changes
        ]
        rows.append(["p-value", f"{self.test_before.pvalue:.3g}", f"{self.test_after.pvalue:.3g}", "", ""])
        title = f"{self.n:,} rows {_ROWS[self.kind]}"
        header = ["", "before", "after", "gain", f"{percent(self.confidence_level)} interval"]
        return Grid(title, header, rows, (self.verdict,))


_LEAVE = "Leave the predictions alone"
_ROWS = {
    HELD_OUT: "that had no part in the fit",
    FIXED: "whose part in the fit is not known",
    FORWARD: "as maps make them that were fitted to earlier blocks",
}


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def checked(case: Case, made: Any, run: Run, kind: str) -> Checked:
    """Score and test the predictions of a case and others of the same rows."""
    after = replace(case, predictions=made)
    changes, errors = zip(
        *(_change(name, case, after, run, *rows) for name, *rows in _scores(case, after)), strict=True
    )
    tests = exact_test_of(case, run), exact_test_of(after, run)
    return Checked(kind, changes, *tests, errors[0], len(case), run.confidence_level, case, after)


def _change(
    name: str, case: Case, made: Case, run: Run, before: np.ndarray, after: np.ndarray
) -> tuple[ScoreChange, float]:
    """Means of one score, and the standard error of what it falls by; 0 where that is infinite."""
    weights = np.ones(len(case)) if case.weights is None else case.weights / case.weights.mean()
    with np.errstate(invalid="ignore"):
        gains = np.where(np.isfinite(before), weights * (before - after), np.inf)
    gain = float(gains.mean())
    error, both = 0.0, (case.predictions, made.predictions)
    if np.isfinite(gains).all():
        error = error_of_gain(gains, case.rows, *both, brier=name == "Brier score")
    low, high = ends_of(gain, error, run.confidence_level, case.rows, len(case))
    return ScoreChange(name, float(np.mean(weights * before)), float(np.mean(weights * after)), gain, low, high), error


def _loss(case: Case) -> np.ndarray:
    of_classes = isinstance(case.predictions, ClassPredictions)
    return np.asarray(log_score_rows_of(case) if of_classes else loss_rows(case)[0], dtype=np.float64)


def _scores(case: Case, after: Case) -> list[tuple[str, Any, Any]]:
    if isinstance(case.predictions, ClassPredictions):
        brier = brier_score_rows_of(case), brier_score_rows_of(after)
        return [("log score", _loss(case), _loss(after)), ("Brier score", *brier)]
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
