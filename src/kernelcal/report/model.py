"""Everything that a report computes about one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.compare.steps import Steps
from kernelcal.errors import InputError
from kernelcal.evaluate.base import Evaluation
from kernelcal.explain import Explanation, explain
from kernelcal.explain.grouping import Group, checked_groups
from kernelcal.lenses import seen
from kernelcal.predictions import ClassPredictions, Samples, ScorePredictions, checked_pair, checked_weights
from kernelcal.randomness import generator_of
from kernelcal.report.drawing import drawn
from kernelcal.report.drawings import drawings_of
from kernelcal.report.figures import group_gaps, key_figures
from kernelcal.report.result import ModelReport
from kernelcal.report.settings import Settings
from kernelcal.report.verdict import verdict_of

__all__ = ["Asked", "asked", "model_report"]

_EXPLAINED = 4_000  # rows; the explanation costs their square
_PANELS, _FEW_PANELS = 6, 2  # small pictures of one model alone, and of each of several


@dataclass(frozen=True, eq=False)
class Asked:
    """Targets and predictions as a lens shows them.

    Attributes
    ----------
    targets : numpy.ndarray
        Class numbers, or numbers.
    given : numpy.ndarray
        The same as the predictions call them.
    batch : Predictions
        In NumPy.
    weights : numpy.ndarray or None
        Case weights.
    """

    targets: np.ndarray
    given: np.ndarray
    batch: Any
    weights: np.ndarray | None


def asked(y: Any, predictions: Any, name: str | None, lens: Any, weights: Any, classes: Any, normalize: bool) -> Asked:
    """Check one model, whose name, if it has one, every message carries."""
    try:
        targets, batch = seen(*checked_pair(y, predictions, classes=classes, normalize=normalize), lens)
    except InputError as error:
        raise error if name is None else InputError(f"model {name!r}: {error}") from None
    given = targets
    if isinstance(batch, ClassPredictions) and batch.classes is not None:
        given = np.empty(len(targets), dtype=object)
        given[:] = [batch.classes[k] for k in targets]
    return Asked(targets, given, batch.map_arrays(to_numpy), checked_weights(weights, len(batch)))


def model_report(
    one: Asked,
    evaluation: Evaluation,
    name: str | None,
    groups: Any,
    settings: Settings,
    steps: Steps,
    place: tuple[int, int],
) -> ModelReport:
    """Add explanation, figures and pictures to an evaluation; the place is the number of the model, and of models."""
    number, models = place
    named = () if groups is None else _checked_groups(one, groups)
    why, rows = _explained(one, named, settings, steps, models)
    panels = _PANELS if models == 1 else _FEW_PANELS
    drawings = drawings_of(one.given, one.batch, one.weights, evaluation, why, rng=settings.rng, panels=panels)
    return ModelReport(
        name,
        type(one.batch).__name__,
        verdict_of(one.targets, one.batch, one.weights, evaluation),
        evaluation,
        why,
        rows,
        key_figures(one.targets, one.batch, one.weights, evaluation, settings.level),
        tuple(drawn(drawing, f"p{number}-{k}") for k, drawing in enumerate(drawings)),
        group_gaps(one.targets, one.batch, one.weights, named, settings.level) if named else {},
    )


def _checked_groups(one: Asked, groups: Any) -> tuple[Group, ...]:
    if isinstance(one.batch, ScorePredictions):
        raise InputError("densities known through their scores have no groups: report draws, kernelcal.Samples")
    if not _explainable(one.batch):
        raise InputError("draws with unequal weights have no test, hence no groups: draw an unweighted sample by them")
    return checked_groups(groups, len(one.batch))


def _explained(
    one: Asked, groups: Sequence[Group], settings: Settings, steps: Steps, models: int
) -> tuple[Explanation | None, int]:
    """Explanation of all rows, or of a random choice of very many."""
    progress, n, most = steps.next(), len(one.batch), int(_EXPLAINED / models**0.5)
    if not _explainable(one.batch):
        return None, 0
    rows = np.arange(n) if n <= most else np.sort(generator_of(settings.rng).choice(n, most, replace=False))
    found = explain(
        one.given[rows],
        one.batch[rows],
        groups={column: values[rows] for column, values in _columns(groups, n).items()} or None,
        weights=None if one.weights is None else one.weights[rows],
        draws=settings.draws,
        rng=settings.rng,
        level=settings.level,
        progress=progress,
    )
    return found, len(rows)


def _explainable(batch: Any) -> bool:
    """Tell whether residuals have sizes and a law."""
    return not isinstance(batch, ScorePredictions) and (not isinstance(batch, Samples) or batch.exchangeable)


def _columns(groups: Sequence[Group], n: int) -> dict[str, np.ndarray]:
    """Names of the groups, one array a column."""
    columns: dict[str, np.ndarray] = {}
    for group in groups:
        columns.setdefault(group.column, np.empty(n, dtype=object))[group.rows] = group.name
    return columns
