"""One coordinate of a vector at a time."""

from __future__ import annotations

from typing import Any

from kernelcal.errors import InputError
from kernelcal.predictions import RealPredictions

__all__ = ["components_of", "coordinate"]


def coordinate(predictions: Any, k: int) -> Any:
    """Return the predictions of coordinate k of a vector target: the marginal distribution.

    Parameters
    ----------
    predictions : Predictions
        Vectors of a family that has the method `marginal`: normal vectors, `Samples`, a `Mixture` of them.
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
    return predictions.marginal(k)


def components_of(predictions: RealPredictions) -> list[Any]:
    """Every component of a target as a scalar prediction; none where the marginals are not known."""
    if not predictions.event_shape:
        return [predictions]
    try:
        return [coordinate(predictions, k) for k in range(predictions.dimension)]
    except InputError:
        return []
