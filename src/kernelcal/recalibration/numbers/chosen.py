"""Which maps serve which predictions of numbers, the loss by which one is chosen, and their names in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Normal, Quantiles, Samples
from kernelcal.recalibration.numbers.laws import Heavy3, Heavy5, Heavy10, Law, ShiftedLaw, served_law
from kernelcal.recalibration.numbers.members import EnsembleMap, Levels, ShiftedEnsemble, Stretched, crps_of_members
from kernelcal.recalibration.numbers.moving import NumberMap, Unchanged, numbers_of
from kernelcal.statistics import crps_rows_of

__all__ = ["NUMBER_MAPS", "NumberMap", "Unchanged", "candidates_for", "loss_rows", "served"]


def served(predictions: Any) -> None:
    """Refuse predictions that no map serves."""
    if isinstance(predictions, Samples | Quantiles):
        uneven = isinstance(predictions, Samples) and predictions.weights is not None
        if isinstance(predictions, Samples) and (predictions.event_shape or predictions.size < 2 or uneven):
            raise InputError(
                "maps of ensembles take two members or more of equal weight, of one number each: take one coordinate "
                "at a time, and draw members by their weights"
            )
        return
    served_law(predictions)


def loss_rows(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss of every row by which maps are chosen, and its CRPS, which no map may make worse.

    Laws: ``-log f(y)``, which the CRPS joins since tails can win it while most rows lose. Ensembles: the CRPS.
    Quantiles: the mean pinball loss.
    """
    batch = case.predictions
    if isinstance(batch, Samples):
        found = crps_of_members(numbers_of(batch.draws), case.targets)[0]
    elif isinstance(batch, Quantiles):
        y, q, levels = case.targets[:, None], numbers_of(batch.values), batch.levels
        found = np.asarray(np.mean(np.maximum(levels * (y - q), (levels - 1) * (y - q)), axis=1))
    else:
        return -np.asarray(batch.log_prob(case.targets), dtype=np.float64), crps_rows_of(case)
    return found, found


def candidates_for(predictions: Any) -> tuple[type[NumberMap], ...]:
    """Return maps that serve the predictions, the simplest first."""
    if isinstance(predictions, Samples):
        return Unchanged, ShiftedEnsemble, EnsembleMap
    if isinstance(predictions, Quantiles):
        return Unchanged, Stretched, Levels
    if isinstance(predictions, Normal):
        return Unchanged, ShiftedLaw, Law, Heavy10, Heavy5, Heavy3
    return Unchanged, ShiftedLaw, Law


NUMBER_MAPS: dict[str, type[NumberMap]] = {
    kind.__name__: kind
    for kind in (Unchanged, ShiftedLaw, Law, Heavy10, Heavy5, Heavy3, ShiftedEnsemble, EnsembleMap, Stretched, Levels)
}
