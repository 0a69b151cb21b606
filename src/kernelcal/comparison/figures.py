"""What is computed for every model of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.comparison.models import ckce_method
from kernelcal.evaluation import seconds_one_by_one
from kernelcal.inference import (
    INTERVAL_METHODS,
    Equivalence,
    Interval,
    Request,
    Spread,
    bootstrap_cost,
    in_words,
    say_bootstrap_cost,
    seconds_of,
)
from kernelcal.inference.intervals import (
    OPERATOR_METHODS,
    RowBootstrap,
    equivalence_of,
    method_that_keeps_the_level,
    of_draws,
)
from kernelcal.runs import Run
from kernelcal.statistics import CKCE, SKCE

__all__ = ["conditional", "cost_in_words", "equivalence", "multiplications"]


def conditional(case: Case, ckce: CKCE, run: Run, pvalue: float | None) -> tuple[Interval, float, np.ndarray]:
    """CKCE with its interval, the published value, and the values of drawn rows."""
    say_bootstrap_cost(ckce, case.predictions, run.draws)
    prepared = ckce.prepare(case.predictions)
    rows = RowBootstrap(prepared, case.targets)
    drawn = rows.drawn(Request(case, prepared, run))
    level = run.confidence_level
    lower, upper = of_draws(rows.estimate, drawn).ends(level)
    notes: tuple[str, ...] = ()
    if pvalue is not None and pvalue > 1 - level:
        lower, notes = 0.0, (f"the lower end is 0: the exact test does not reject (p = {pvalue:.3g})",)
    label = OPERATOR_METHODS["bootstrap"].label
    interval = Interval(
        rows.estimate, max(lower, 0.0), max(upper, 0.0), level, label, len(case.targets), notes, "CKCE, corrected"
    )
    return interval, rows.plug_in, drawn


def equivalence(spread: Spread, within: float | None, skce: SKCE, n: int) -> Equivalence | None:
    """Whether a model is calibrated to within the bound, where there is one."""
    if within is None:
        return None
    return equivalence_of(spread, within, INTERVAL_METHODS[method_that_keeps_the_level(skce)].label, n)


_ALL_PAIRS = 4.0  # seconds; above, blocks are taken
_LANDMARKS = 250  # of the exact test
_KERNELS = 4


def multiplications(predictions: Mapping[str, Any], draws: int) -> float:
    """Multiplications of a comparison, roughly; early stopping takes less."""
    return sum(_of_model(batch, draws) for batch in predictions.values())


def _of_model(batch: Any, draws: int) -> float:
    n = float(len(batch))
    pairs = 4 * min(seconds_one_by_one(batch), _ALL_PAIRS) / seconds_of(1)
    exact_test = _KERNELS * n * min(n, 8 * _LANDMARKS) * draws
    return pairs + exact_test + bootstrap_cost(CKCE(method=ckce_method(len(batch))), batch, draws)


def cost_in_words(predictions: Mapping[str, Any], draws: int) -> str:
    """Return ``comparing 8 models on 10,000 rows: about 2 minutes on two cores``."""
    rows = len(next(iter(predictions.values())))
    seconds = in_words(max(1.0, seconds_of(multiplications(predictions, draws))))
    return f"comparing {len(predictions)} models on {rows:,} rows: about {seconds} on two cores"
