"""Losses for training: calibration errors of a batch, and a running witness, for PyTorch and JAX."""

from kernelcal.losses.batch import ckce_loss, mmce_loss, skce_loss
from kernelcal.losses.witness import RunningWitness

__all__ = ["RunningWitness", "ckce_loss", "mmce_loss", "skce_loss"]
