"""The statistics that all models share: the same kernels, the same lengthscales, the same lambda."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kernelcal.errors import InputError
from kernelcal.kernels import Dirac, Gaussian, Kernel, Spectral, resolve, resolve_target
from kernelcal.kernels.shared import shared_kernel
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.statistics import CKCE, SKCE
from kernelcal.statistics.ckce_kernel import linear_and_gaussian, two_columns

__all__ = ["ckce_method", "refuse_statistics", "shared_ckce", "shared_skce"]

_EQUALLY_SPACED, _DRAWN = 16, 256  # frequencies of target kernels, for numbers and for vectors
_EXACT_UP_TO = 2_000  # rows; above, an incomplete factor is as good and takes less
_FACTOR_UP_TO = 50_000  # rows; above, its columns fill the memory


def refuse_statistics(skce: Any, ckce: Any) -> None:
    """Refuse statistics that models cannot share."""
    if not isinstance(skce, SKCE | None):
        raise InputError(f"skce must be an SKCE such as kernelcal.SKCE(), got {skce!r}")
    if skce is not None and skce.estimator != "unbiased":
        raise InputError(f"skce must have estimator='unbiased', got {skce.estimator!r}: blocks are used where needed")
    if not isinstance(ckce, CKCE | None):
        raise InputError(f"ckce must be a CKCE such as kernelcal.CKCE(), got {ckce!r}")
    if ckce is not None and isinstance(ckce.regularization, str):
        raise InputError("models are compared at one lambda: give a number as regularization, or leave it out")


def shared_skce(statistic: SKCE | None, batches: Sequence[Predictions]) -> SKCE:
    """SKCE with one prediction and one target kernel for all models."""
    given = SKCE() if statistic is None else statistic
    target_kernel = _target_kernel(given.target_kernel, batches)
    kernel = shared_kernel(given.prediction_kernel, batches, _resolved)
    return replace(given, prediction_kernel=kernel, target_kernel=target_kernel)


def shared_ckce(statistic: CKCE | None, batches: Sequence[Predictions]) -> CKCE:
    """Corrected CKCE with one prediction and one target kernel for all models, and lambda as given."""
    given = CKCE(method=ckce_method(len(batches[0]))) if statistic is None else statistic
    written = [two_columns(batch) for batch in batches]
    target_kernel = _target_kernel(given.target_kernel, written)
    kernel = given.prediction_kernel or linear_and_gaussian(written[0], target_kernel, given.integrator)
    kernel = shared_kernel(kernel, written, _resolved)
    return replace(given, prediction_kernel=kernel, target_kernel=target_kernel, estimator="corrected")


def ckce_method(n: int) -> str:
    """Return the default method of the CKCE for so many rows."""
    return "exact" if n <= _EXACT_UP_TO else "cholesky" if n <= _FACTOR_UP_TO else "fourier"


def _target_kernel(given: Kernel | None, batches: Sequence[Predictions]) -> Kernel:
    """Target kernel as given or by the kind of targets; between numbers one with features, for all families."""
    if given is None and isinstance(batches[0], ClassPredictions):
        return Dirac()
    size = _DRAWN if batches[0].event_shape else _EQUALLY_SPACED
    return shared_kernel(given or Spectral(Gaussian(), size), batches, resolve_target)


def _resolved(kernel: Kernel, batch: Predictions) -> Kernel:
    return resolve(kernel, batch)[0]
