"""Which residual serves predictions, and the default target kernel."""

from __future__ import annotations

import numpy as np

from kernelcal.errors import InputError
from kernelcal.kernels import Dirac, Gaussian, Integrator, Kernel, Spectral, resolve_target
from kernelcal.kernels.embeddings import MEAN
from kernelcal.predictions import ClassPredictions, Predictions, RealPredictions
from kernelcal.residuals.base import Residual
from kernelcal.residuals.classes import ClassResidual
from kernelcal.residuals.numbers import FourierResidual, GramResidual

__all__ = ["residual_of", "target_kernel_of"]


_EQUALLY_SPACED, _DRAWN = 16, 256  # frequencies for numbers, and for vectors, whose error falls as their root


def residual_of(
    predictions: Predictions,
    target_kernel: Kernel,
    weights: np.ndarray | None = None,
    integrator: Integrator | None = None,
) -> Residual:
    """Residual of predictions under a target kernel: with features where there are some."""
    if isinstance(predictions, ClassPredictions):
        return ClassResidual.of(predictions, target_kernel, weights)
    if not isinstance(predictions, RealPredictions):
        raise InputError(f"{type(predictions).__name__} has no residuals in kernelcal")
    if isinstance(target_kernel, Spectral):
        return FourierResidual.of(predictions, target_kernel, weights)
    return GramResidual.of(predictions, target_kernel, weights, integrator)


def target_kernel_of(kernel: Kernel | None, predictions: Predictions) -> Kernel:
    """Target kernel as given, its lengthscale resolved, or the default for these predictions."""
    if kernel is not None:
        return resolve_target(kernel, predictions)
    if isinstance(predictions, ClassPredictions):
        return Dirac()
    if (Gaussian, type(predictions)) in MEAN:
        return resolve_target(Gaussian(), predictions)
    frequencies = _EQUALLY_SPACED if not predictions.event_shape else _DRAWN
    return resolve_target(Spectral(Gaussian(), frequencies), predictions)
