"""What is computed for every model of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.compare.steps import Progress
from kernelcal.evaluate.main import evaluated
from kernelcal.inference import Interval
from kernelcal.inference.cost import say_bootstrap_cost
from kernelcal.inference.draws import Draws
from kernelcal.inference.equivalence import Equivalence, default_method, equivalence_of
from kernelcal.inference.interval_methods import Request, Spread, of_draws
from kernelcal.inference.row_bootstrap import OPERATOR_METHODS, RowBootstrap
from kernelcal.inference.spread import method_of
from kernelcal.predictions import Predictions
from kernelcal.statistics import CKCE, SKCE

__all__ = ["Settings", "conditional", "equivalence", "evaluation"]


@dataclass(frozen=True)
class Settings:
    """What the user asked for, of all models alike."""

    level: float
    draws: int
    rng: Any
    early_stopping: bool
    within: float | None


def evaluation(
    targets: np.ndarray, batch: Predictions, skce: SKCE, settings: Settings, progress: Progress | None
) -> Any:
    """Scores, SKCE with its interval, and the exact test."""
    return evaluated(
        targets,
        batch,
        None,
        level=settings.level,
        draws=settings.draws,
        rng=settings.rng,
        early_stopping=settings.early_stopping,
        progress=progress,
        template=skce,
    )


def conditional(
    targets: np.ndarray,
    batch: Predictions,
    ckce: CKCE,
    settings: Settings,
    pvalue: float | None,
    progress: Progress | None,
) -> tuple[Interval, float, np.ndarray, str]:
    """CKCE with its interval, the published value, the values of drawn rows, and what computed them."""
    say_bootstrap_cost(ckce, batch, settings.draws)
    prepared = ckce.prepare(batch)
    plug_in = float(prepared.operator.values(prepared.residual, targets[None])[0])
    rows = RowBootstrap(prepared, targets)
    request = Request(prepared, targets, None, settings.draws, Draws(settings.rng), progress)
    drawn = rows.drawn(request)
    lower, upper = of_draws(rows.estimate, drawn).ends(settings.level)
    notes: tuple[str, ...] = ()
    if pvalue is not None and pvalue > 1 - settings.level:
        lower, notes = 0.0, (f"the lower end is 0: the exact test does not reject (p = {pvalue:.3g})",)
    label = OPERATOR_METHODS["bootstrap"].label
    interval = Interval(
        rows.estimate, max(lower, 0.0), max(upper, 0.0), settings.level, label, len(batch), notes, "CKCE, corrected"
    )
    return interval, plug_in, drawn, prepared.engine


def equivalence(spread: Spread, within: float | None, skce: SKCE, n: int) -> Equivalence | None:
    """Whether a model is calibrated to within the bound, where there is one."""
    if within is None:
        return None
    return equivalence_of(spread, within, method_of(default_method("default", skce), skce, n).label, n)
