"""One coordinate of a vector at a time."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from kernelcal.errors import InputError
from kernelcal.predictions import (
    Mixture,
    Normal,
    RealPredictions,
    Samples,
    VectorNormal,
    trusted,
)

__all__ = ["components_of", "coordinate"]


@singledispatch
def coordinate(predictions: Any, k: int) -> Any:
    """Return the predictions of coordinate k of a vector target: the marginal distribution.

    Parameters
    ----------
    predictions : Predictions
        Normal vectors, vector draws (`Samples`), or a `Mixture` of them.
    k : int
        Coordinate, from 0.

    Raises
    ------
    InputError
        For a family whose marginals are not known.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.predictions import MultivariateNormal
    >>> from kernelcal.statistics import coordinate
    >>> coordinate(MultivariateNormal([[0.0, 1.0]], [[4.0, 1.0], [1.0, 9.0]]), 1).std
    array([3.])
    """
    raise InputError(
        f"the coordinates of {type(predictions).__name__} have no known distribution: this needs normal vectors, "
        "Samples of vectors, or a Mixture of them"
    )


@coordinate.register
def _(predictions: VectorNormal, k: int) -> Normal:
    return Normal(predictions.mean[:, k], predictions.std[:, k])


@coordinate.register
def _(predictions: Samples, k: int) -> Samples:
    return Samples(predictions.draws[..., k], predictions.weights, notes=predictions.notes)


@coordinate.register
def _(predictions: Mixture, k: int) -> Mixture:
    return trusted(predictions, components=tuple(coordinate(part, k) for part in predictions.components))


def components_of(predictions: RealPredictions) -> list[Any]:
    """Every component of a target as a scalar prediction; none where the marginals are not known."""
    if not predictions.event_shape:
        return [predictions]
    try:
        return [coordinate(predictions, k) for k in range(predictions.dimension)]
    except InputError:
        return []
