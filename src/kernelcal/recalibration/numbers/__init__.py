"""Maps of predicted laws of one number: families, ensembles and quantiles."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.recalibration.numbers.chosen import (
        NUMBER_MAPS,
        NumberMap,
        Unchanged,
        candidates_for,
        loss_rows,
        served,
    )

__all__ = ["NUMBER_MAPS", "NumberMap", "Unchanged", "candidates_for", "loss_rows", "served"]
