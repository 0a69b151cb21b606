"""Which residual serves predictions, and the default target kernel."""

from __future__ import annotations

import numpy as np

from kernelcal.errors import InputError
from kernelcal.kernels import PIT, Dirac, Gaussian, Integrator, Kernel, QuantileLevels, Spectral, resolve_target
from kernelcal.kernels.embeddings import MEAN
from kernelcal.predictions import ClassPredictions, Predictions, Quantiles, RealPredictions, VectorNormal
from kernelcal.residuals.base import Residual
from kernelcal.residuals.finite import ClassResidual, QuantileResidual
from kernelcal.residuals.numbers import FourierResidual, GramResidual
from kernelcal.residuals.pit import PITResidual, has_places

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
    if isinstance(target_kernel, QuantileLevels):
        if not isinstance(predictions, Quantiles):
            raise InputError(
                f"QuantileLevels() is the target kernel of quantile forecasts, got {type(predictions).__name__}: leave "
                "it out, or pass kernelcal.Quantiles"
            )
        return QuantileResidual.of(predictions, weights)
    if isinstance(target_kernel, PIT):
        return PITResidual.of(predictions, target_kernel, weights)
    if isinstance(target_kernel, Spectral):
        return FourierResidual.of(predictions, target_kernel, weights)
    return GramResidual.of(predictions, target_kernel, weights, integrator)


def target_kernel_of(kernel: Kernel | None, predictions: Predictions, weights: np.ndarray | None = None) -> Kernel:
    """Target kernel as given, its lengthscale resolved, or the default for these predictions.

    Between numbers, and vectors of normal laws, it is the place of an outcome in its predicted distribution; vectors
    of other laws, whose components may share what no component shows, are compared on the axes of the targets.
    """
    if isinstance(predictions, ClassPredictions):
        return Dirac() if kernel is None else kernel
    if kernel is not None:
        return resolve_target(kernel, predictions, weights)
    if isinstance(predictions, Quantiles):
        return QuantileLevels()
    if isinstance(predictions, VectorNormal) or (
        isinstance(predictions, RealPredictions) and not predictions.event_shape and has_places(predictions)
    ):
        return PIT()
    if (Gaussian, type(predictions)) in MEAN:
        return resolve_target(Gaussian(), predictions, weights)
    frequencies = _EQUALLY_SPACED if not predictions.event_shape else _DRAWN
    return resolve_target(Spectral(Gaussian(), frequencies), predictions, weights)
