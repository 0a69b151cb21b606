"""Everything that a report computes about one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.evaluation import Evaluation
from kernelcal.explanation import Explanation, Group, checked_groups, explained
from kernelcal.predictions import Samples, ScorePredictions
from kernelcal.randomness import generator_of
from kernelcal.reporting.drawing import drawn
from kernelcal.reporting.drawings import drawings_of
from kernelcal.reporting.figures import group_gaps, key_figures
from kernelcal.reporting.result import ModelReport
from kernelcal.reporting.verdict import verdict_of
from kernelcal.runs import Run, Steps

__all__ = ["model_report"]


_EXPLAINED = 4_000  # rows; the explanation costs their square
_PANELS, _FEW_PANELS = 6, 2  # small pictures of one model alone, and of each of several


def model_report(
    case: Case,
    evaluation: Evaluation,
    name: str | None,
    groups: Any,
    run: Run,
    steps: Steps,
    place: tuple[int, int],
) -> ModelReport:
    """Add explanation, figures and pictures to an evaluation; the place is the number of the model, and of models."""
    number, models = place
    named = () if groups is None else _checked_groups(case, groups)
    why, rows = _explained(case, named, replace(run, progress=steps.next()), models)
    panels = _PANELS if models == 1 else _FEW_PANELS
    drawings = drawings_of(case, evaluation, why, run, panels)
    return ModelReport(
        name,
        type(case.predictions).__name__,
        verdict_of(case, evaluation),
        evaluation,
        why,
        rows,
        key_figures(case, evaluation, run.confidence_level),
        tuple(drawn(drawing, f"p{number}-{k}") for k, drawing in enumerate(drawings)),
        group_gaps(case, named, run.confidence_level) if named else {},
    )


def _checked_groups(case: Case, groups: Any) -> tuple[Group, ...]:
    if isinstance(case.predictions, ScorePredictions):
        raise InputError(
            "densities known through their score functions have no groups: report draws, kernelcal.Samples"
        )
    if not _explainable(case.predictions):
        raise InputError("draws with unequal weights have no test, hence no groups: draw an unweighted sample by them")
    return checked_groups(groups, len(case))


def _explained(case: Case, groups: Sequence[Group], run: Run, models: int) -> tuple[Explanation | None, int]:
    """Explanation of all rows, or of a random choice of very many."""
    n, most = len(case), int(_EXPLAINED / models**0.5)
    if not _explainable(case.predictions):
        return None, 0
    rows = np.arange(n) if n <= most else np.sort(generator_of(run.rng).choice(n, most, replace=False))
    columns = {column: values[rows] for column, values in _columns(groups, n).items()}
    return explained(_chosen(case, rows), run, groups=columns or None), len(rows)


def _chosen(case: Case, rows: np.ndarray) -> Case:
    """Some of the rows, whose weights have mean 1 again."""
    if len(rows) == len(case):
        return case
    some = case[rows]
    return some if some.weights is None else replace(some, weights=some.weights / some.weights.mean())


def _explainable(batch: Any) -> bool:
    """Tell whether residuals have sizes and a law."""
    return not isinstance(batch, ScorePredictions) and (not isinstance(batch, Samples) or batch.exchangeable)


def _columns(groups: Sequence[Group], n: int) -> dict[str, np.ndarray]:
    """Names of the groups, one array a column."""
    columns: dict[str, np.ndarray] = {}
    for group in groups:
        columns.setdefault(group.column, np.empty(n, dtype=object))[group.rows] = group.name
    return columns
