"""The exact test of ensembles: which of the S + 1 exchangeable values is the outcome?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from kernelcal.errors import InputError
from kernelcal.inference.laws.exact import exact_notes, exact_null
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem
from kernelcal.predictions import Samples, ScorePredictions

__all__ = ["Swap"]


@dataclass(frozen=True)
class Swap(NullLaw):
    """Exact law of any statistic where a prediction is a set of draws: the outcome is exchangeable with them.

    If the outcome and the S draws of a row are independent with one law, nothing tells which of the S + 1 values is the
    outcome. The values of every row are pooled, every draw lets one of them, chosen at random, play the outcome, and
    the statistic compares the player with its pool, which no choice changes:
    ``p = (1 + #{b: T_b >= T}) / (B + 1)``, valid at every n and S.

    Notes
    -----
    Assumes that rows are independent and that the draws of a row are independent of its outcome given the model. Draws
    with weights are not exchangeable and are refused. Cost: B times what the statistic costs for other targets.

    References
    ----------
    The exchangeability of rank histograms and of simulation-based calibration, as a permutation test (Dwass 1957).
    """

    label: ClassVar[str] = "exact, the outcome swapped with the draws"
    asymptotic: ClassVar[bool] = False
    weighted: ClassVar[bool] = True

    def test(self, problem: Problem) -> Outcome:
        """Rank the observed values among those of swapped outcomes."""
        case = problem.case
        if not isinstance(case.predictions, Samples | ScorePredictions):
            raise InputError(
                f"null='swap' needs predictions that are draws (kernelcal.Samples), got "
                f"{type(case.predictions).__name__}: use null='exact'"
            )
        pooled = case.predictions.pooled(case.targets)
        prepared = problem.statistic.prepare(pooled, case.weights)
        drawn = exact_null(prepared, replace(case, predictions=pooled), problem.run, problem.source)
        return drawn.outcome(prepared.names, exact_notes(drawn, pooled, problem.run.alpha))
