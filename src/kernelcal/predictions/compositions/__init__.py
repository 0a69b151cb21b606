"""Predictions made of other things: of draws, of quantiles, of components."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.predictions.compositions.cells import QuantileCells
    from kernelcal.predictions.compositions.mixture import Mixture
    from kernelcal.predictions.compositions.quantiles import SAME_LEVEL, Quantiles
    from kernelcal.predictions.compositions.samples import ONE_DRAW, Samples

__all__ = ["ONE_DRAW", "SAME_LEVEL", "Mixture", "QuantileCells", "Quantiles", "Samples"]
