"""Consistency resampling, for comparison with the literature: predictions are resampled, then labels redrawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.inference.laws.exact import DrawnValues, with_ranks
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem
from kernelcal.statistics import Statistic

__all__ = ["Consistency"]


@dataclass(frozen=True)
class Consistency(NullLaw):
    """Consistency resampling of Broecker and Smith, for any statistic.

    Every draw takes n predictions with replacement, draws their targets, and computes the statistic anew.
    ``p = (1 + #{T_b >= T}) / (B + 1)``.

    Notes
    -----
    **Not exact.** Resampled predictions contain duplicates, which the data do not: binned errors of calibrated models
    are then underestimated and rejected too often, while an unbiased SKCE with a narrow kernel is overestimated and
    never rejected. Offered to reproduce published figures; ``null="exact"`` keeps the predictions. A lengthscale
    ``"median"`` is that of the data, in every draw. Cost: B times that of the statistic.

    References
    ----------
    Broecker and Smith (2007); Vaicenavicius et al. (2019).
    """

    label: ClassVar[str] = "consistency resampling, predictions and targets resampled"
    name: ClassVar[str] = "consistency"

    def test(self, problem: Problem) -> Outcome:
        """Compute the statistic on every resampled data set."""
        statistic = problem.statistic.resolved(problem.case.predictions)
        observed = statistic.prepare(problem.case.predictions).values(problem.case.targets[None])
        values = [observed]
        for b in range(problem.run.draws):
            values.append(self._draw(problem, statistic, b))
            if (b + 1) % 10 == 0:
                problem.run.tell(b + 1)
        note = "consistency resampling does not keep its level: compare null='exact'"
        ranked = with_ranks(np.concatenate(values), problem.prepared.names)
        return DrawnValues.of(ranked).outcome(problem.prepared.names, (note,))

    @staticmethod
    def _draw(problem: Problem, statistic: Statistic, b: int) -> np.ndarray:
        uniforms = problem.source.uniforms(2 * b, 2 * b + 1, len(problem.case.targets))[0]
        chosen = problem.case.predictions[(uniforms * len(uniforms)).astype(np.intp)]
        return np.asarray(statistic.prepare(chosen).values(problem.source.targets(chosen, 2 * b + 1, 2 * b + 2)))
