"""Everything about one model that is known through its score functions: what can be asked, and what cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kernelcal.cases import Case
from kernelcal.evaluation.base import Evaluation
from kernelcal.predictions import ScorePredictions, UnnormalizedDensity
from kernelcal.runs import Run
from kernelcal.statistics import HighestDensityCoverage, highest_density_coverage_of

__all__ = ["ScoreEvaluation", "score_evaluation"]


_LEVELS, _DRAWS = np.array([0.5, 0.9, 0.95]), 1000  # of highest-density regions, and draws that find them
_BLIND = (
    "score functions do not see the proportions of modes that lie far apart: if the predictions have such modes, draw "
    "from them and test the draws (kernelcal.Samples) as well"
)
_MANY_ROWS = "the p-value is that of many rows: pass draws= or sampler= for an exact test"


@dataclass(frozen=True, repr=False, kw_only=True)
class ScoreEvaluation(Evaluation):
    """What `evaluate` found about predictions known through their score functions.

    The estimate is the `statistics.KCCSD`. The test is exact with a sampler or with draws, else a wild bootstrap.

    Attributes
    ----------
    family : str
        Family of the predictions.
    dimension : int
        Numbers in one target.
    coverage : HighestDensityCoverage or None
        Coverage of highest-density regions, for log densities with draws or a sampler.
    unasked : tuple of str
        Questions that these predictions leave open, and what would answer them.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> p = kc.Score(lambda y, m: m - y, np.zeros(15))
    >>> result = kc.evaluate([0.3, 2.0, -0.5] * 5, p, draws=99)
    >>> result.family, result.n
    ('Score', 15)
    """

    title: ClassVar[str] = "Calibration of densities known through their score functions"
    family: str
    dimension: int
    coverage: HighestDensityCoverage | None
    unasked: tuple[str, ...]

    def scores(self) -> dict[str, Any]:
        """Return scores as plain values for JSON."""
        coverage = None if self.coverage is None else self.coverage.to_dict()
        return {
            "family": self.family,
            "dimension": self.dimension,
            "highest_density_coverage": coverage,
            "unasked": list(self.unasked),
        }

    def headline(self) -> list[tuple[str, str]]:
        """Return nothing: scores know neither densities nor expectations."""
        return []

    def score_rows(self) -> list[tuple[str, str]]:
        """Return names and values of the scores for the table."""
        family = self.family + (f", {self.dimension} numbers" if self.dimension > 1 else "")
        asked = [] if self.coverage is None else self.coverage.rows()
        covered = [(f"highest-density region, {level}", share) for level, share in asked]
        open_questions = [("cannot be asked", question) for question in self.unasked]
        return [("rows", f"{self.n:,}"), ("predictions", family), *covered, *open_questions]


def score_evaluation(
    case: Case,
    run: Run,
    notes: tuple[str, ...],
    **common: Any,
) -> ScoreEvaluation:
    """Add coverage, and what cannot be asked, to what all evaluations have in common."""
    batch = case.predictions
    dense = isinstance(batch, UnnormalizedDensity)
    coverage = None
    if dense and batch.described:
        coverage = highest_density_coverage_of(case, _LEVELS, replace(run, draws=_DRAWS))
    more = (_BLIND,) if batch.described else (_MANY_ROWS, _BLIND)
    return ScoreEvaluation(
        family=type(batch).__name__,
        dimension=batch.dimension,
        coverage=coverage,
        unasked=_unasked(batch, dense=dense),
        notes=tuple(dict.fromkeys((*notes, *(() if coverage is None else coverage.notes), *more))),
        **common,
    )


def _unasked(batch: ScorePredictions, *, dense: bool) -> tuple[str, ...]:
    """Questions that need what the predictions do not tell."""
    found = ["negative log-likelihood: the density is known up to a constant only"]
    if not dense:
        found.append("highest-density coverage: needs a log density, UnnormalizedDensity, with draws")
    elif not batch.described:
        found.append("highest-density coverage: pass draws= or sampler=")
    way = "" if batch.draws is not None else "draw from the predictions, "
    return (*found, f"CRPS, PIT, central coverage, SKCE: {way}evaluate kernelcal.Samples(draws)")
