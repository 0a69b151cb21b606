"""Losses for training: calibration errors of a batch, and a running witness, for PyTorch and JAX."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.losses.batch import ckce_loss, mmce_loss, skce_loss
    from kernelcal.losses.witness import RunningWitness

__all__ = ["RunningWitness", "ckce_loss", "mmce_loss", "skce_loss"]
