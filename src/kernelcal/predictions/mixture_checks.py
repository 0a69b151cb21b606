"""The border of mixtures: weights and components are accepted, or refused with the row and the remedy."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from kernelcal.arrays import Array, as_array, concrete, is_numpy, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.checks import SUM_TOLERANCE
from kernelcal.predictions.numbers import numbers, refuse_rows, rows_of
from kernelcal.predictions.real import RealPredictions

__all__ = ["checked_component_weights", "checked_components"]


def checked_components(components: Any) -> tuple[RealPredictions, ...]:
    """Return batches with equal rows and targets of one shape as a tuple."""
    if isinstance(components, RealPredictions) or not isinstance(components, list | tuple) or not components:
        raise InputError(
            f"components must be a list of batches, one a component, got {type(components).__name__}: "
            "Mixture(weights, [Normal(mean1, std1), Normal(mean2, std2)])"
        )
    for k, component in enumerate(components):
        if not isinstance(component, RealPredictions):
            raise InputError(
                f"component {k} is {type(component).__name__}, expected a batch of a family for numbers such as "
                "Normal, MultivariateNormal, Poisson or Samples; class probabilities are mixed by their weighted mean"
            )
    first = components[0]
    for k, component in enumerate(components[1:], start=1):
        if (len(component), component.event_shape) != (len(first), first.event_shape):
            raise InputError(
                f"components must have equal rows and targets of one shape: component 0 has {len(first)} rows and "
                f"targets of shape {first.event_shape}, component {k} has {len(component)} and {component.event_shape}"
            )
    return tuple(components)


def checked_component_weights(weights: Any, components: tuple[RealPredictions, ...]) -> Array:
    """Return weights of shape (n, K) whose rows sum to 1, in the library of the components."""
    like, number = components[0].mean, len(components)
    given = np.full(number, 1 / number) if weights is None else weights
    array = numbers(rows_of(_in_library_of(given, like), like, event=1), "the weight", ndim=2)
    if tuple(array.shape) != (len(components[0]), number):
        raise InputError(
            f"weights must have shape {(len(components[0]), number)} for {number} components, got {tuple(array.shape)}"
        )
    values = concrete(array)
    if values is not None:
        refuse_rows(values < 0, "the weight", values, "a probability")
        _refuse_sums(values)
    return array / namespace(array).sum(array, axis=1, keepdims=True)


def _in_library_of(x: Any, like: Array) -> Array:
    """NumPy weights beside components of another library move there."""
    if is_numpy(like) or not is_numpy(as_array(x)):
        return x
    return namespace(like).asarray(as_array(x), dtype=like.dtype, device=array_api_compat.device(like))


def _refuse_sums(values: np.ndarray) -> None:
    sums = values.sum(axis=1, dtype=np.float64)
    wrong = np.abs(sums - 1) > SUM_TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"the weights of row {row} sum to {sums[row]:.6g}, expected 1 ({int(wrong.sum())} such rows): divide "
            "each row by its sum, weights / weights.sum(axis=1, keepdims=True), if that is what they mean"
        )
