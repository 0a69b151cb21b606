"""What is computed for every model of a comparison."""

from __future__ import annotations

import numpy as np

from kernelcal.cases import Case
from kernelcal.inference import Interval
from kernelcal.inference.cost import say_bootstrap_cost
from kernelcal.inference.equivalence import Equivalence, equivalence_of, method_that_keeps_the_level
from kernelcal.inference.interval_methods import INTERVAL_METHODS, Request, Spread, of_draws
from kernelcal.inference.row_bootstrap import OPERATOR_METHODS, RowBootstrap
from kernelcal.runs import Run
from kernelcal.statistics import CKCE, SKCE

__all__ = ["conditional", "equivalence"]


def conditional(case: Case, ckce: CKCE, run: Run, pvalue: float | None) -> tuple[Interval, float, np.ndarray]:
    """CKCE with its interval, the published value, and the values of drawn rows."""
    say_bootstrap_cost(ckce, case.predictions, run.draws)
    prepared = ckce.prepare(case.predictions)
    plug_in = float(prepared.operator.values(prepared.residual, case.targets[None])[0])
    rows = RowBootstrap(prepared, case.targets)
    drawn = rows.drawn(Request(case, prepared, run))
    level = run.confidence_level
    lower, upper = of_draws(rows.estimate, drawn).ends(level)
    notes: tuple[str, ...] = ()
    if pvalue is not None and pvalue > 1 - level:
        lower, notes = 0.0, (f"the lower end is 0: the exact test does not reject (p = {pvalue:.3g})",)
    label = OPERATOR_METHODS["bootstrap"].label
    interval = Interval(
        rows.estimate, max(lower, 0.0), max(upper, 0.0), level, label, len(case), notes, "CKCE, corrected"
    )
    return interval, plug_in, drawn


def equivalence(spread: Spread, within: float | None, skce: SKCE, n: int) -> Equivalence | None:
    """Whether a model is calibrated to within the bound, where there is one."""
    if within is None:
        return None
    return equivalence_of(spread, within, INTERVAL_METHODS[method_that_keeps_the_level(skce)].label, n)
