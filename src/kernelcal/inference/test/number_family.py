"""The default family between numbers: which kernels and signals, and how they become one p-value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.kernels import (
    PIT,
    Gaussian,
    Kernel,
    Laplacian,
    Spectral,
    Standardised,
    Stationary,
    resolve,
    resolve_target,
)
from kernelcal.pairs import FEATURE, PRODUCT, Engine, ExactPairs, Nystrom
from kernelcal.predictions import RealPredictions
from kernelcal.residuals import FeatureResidual, has_places, residual_of
from kernelcal.statistics import SKCE, Merge, NumberSignals
from kernelcal.statistics.pairwise import PreparedPairMean
from kernelcal.statistics.signals import PreparedNumberSignals

__all__ = ["FACTORS", "SHARE", "number_kernel", "number_merge", "number_parts", "number_targets"]


SHARE = 0.999  # of the squared eigenvalues of a kernel, which its features keep

FACTORS = (2**-3, 2**-1)  # finer structure than 1/8 of the median needs more rows than files have

_FREQUENCIES = 32  # of a target kernel between vectors

_WEIGHT = 0.8  # of the kernels, which see everything a little, beside those of the signals

_SECONDS = 1.7e-3  # of eight draws and a kernel on two cores up to which all pairs are taken: a draw as for classes

_LANDMARKS, _FEW_LANDMARKS, _LARGE = 256, 128, 200_000


def number_kernel(kernel: Stationary) -> Stationary:
    """Kernel between predictions of numbers: the default one on standardised location and width."""
    return Laplacian(metric=Standardised()) if kernel == Laplacian() else kernel


def number_targets(
    kernel: Kernel | None, predictions: RealPredictions, weights: np.ndarray | None = None
) -> tuple[Kernel, ...]:
    """Target kernels: the one that is given; or places, and beside them, for what components share, the axes."""
    if kernel is not None:
        return (resolve_target(kernel, predictions, weights),)
    places = (PIT("polynomials"),) if has_places(predictions) else ()
    if places and predictions.dimension == 1:
        return places
    frequencies = _FREQUENCIES if predictions.dimension > 1 else _FREQUENCIES // 2
    return (*places, resolve_target(Spectral(Gaussian(), frequencies), predictions, weights))


def number_parts(
    predictions: RealPredictions,
    kernel: Stationary,
    factors: Sequence[float],
    target_kernel: Kernel | None,
    engine: Engine | None,
    weights: np.ndarray | None,
) -> tuple[tuple[PreparedPairMean, ...], PreparedNumberSignals]:
    """Kernels of the family, one preparation a target kernel, and its signals."""
    base, notes = resolve(number_kernel(kernel), predictions, weights=weights)
    assert isinstance(base, Stationary)  # for the type checker: leaves keep their type
    notes = predictions.notes + notes
    placed, kernels = predictions.placed(), [base.with_lengthscale(base.scale * factor) for factor in factors]
    found: list[PreparedPairMean] = []
    for target in number_targets(target_kernel, placed, weights):
        residual = residual_of(placed, target, weights)
        way = engine or _engine(len(placed), residual.dimension if isinstance(residual, FeatureResidual) else None)
        statistic = SKCE(prediction_kernel=base, target_kernel=target, engine=way)
        axes = " of vectors" if found else ""
        names = tuple(f"kernel{axes} at {k.scale:.3g}" for k in kernels)
        found.append(PreparedPairMean(statistic, kernels, placed, names, notes, weights, residual))
    host = placed if isinstance(placed.reference, np.ndarray) else placed.map_arrays(to_numpy)
    return tuple(found), NumberSignals().prepare(host, weights)


def number_merge(signals: PreparedNumberSignals, kernels: Sequence[PreparedPairMean]) -> Merge:
    """Groups of the signals with their weights, and one more of the kernels of each target kernel.

    The cells of the PIT join the first kernels: both see what is fine, and nothing coarse as well as the others.
    """
    assert signals.merge is not None  # for the type checker: these signals have one
    groups, weights, first = list(signals.merge.groups), list(signals.merge.weights), len(signals.names)
    joined: tuple[int, ...] = ()
    if signals.cells:
        joined = groups.pop()
        weights.pop()
    for part in kernels:
        groups.append((*joined, *range(first, first + len(part.names))))
        weights.append(_WEIGHT)
        first, joined = first + len(part.names), ()
    return Merge(tuple(groups), tuple(weights))


def _engine(n: int, features: int | None) -> Engine:
    """Take all pairs while a draw is quick, and features where it is not."""
    if features is None:
        return ExactPairs()
    landmarks = _LANDMARKS if n * features <= _LARGE else _FEW_LANDMARKS
    pairs = 8 * PRODUCT * n * n * features  # features pay off from some hundred rows
    return (
        ExactPairs() if pairs <= max(_SECONDS, FEATURE * landmarks * n * features) else Nystrom(landmarks, share=SHARE)
    )
