"""Losses for training: calibration errors of a batch, and a running witness, for PyTorch and JAX."""

from kernelcal.losses.batch import ckce_loss, mmce_loss, skce_loss
from kernelcal.losses.witness import Witness

__all__ = ["Witness", "ckce_loss", "mmce_loss", "skce_loss"]
