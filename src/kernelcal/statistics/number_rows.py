"""What the scores of numbers share: the checked pair, one coordinate of a vector, the mean over rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import RealPredictions, checked_pair, checked_weights

__all__ = ["components_of", "coordinate", "number_pair", "row_mean", "scalar_pair"]


def number_pair(y: Any, predictions: Any) -> tuple[np.ndarray, RealPredictions]:
    """Return targets of shape (n, *event_shape) and predictions of numbers in NumPy; classes are refused."""
    targets, batch = checked_pair(y, predictions)
    if not isinstance(batch, RealPredictions):
        raise InputError(
            f"this needs predictions of numbers, got {type(batch).__name__}: for classes use "
            "kernelcal.statistics.log_score, brier_score or accuracy, or kernelcal.evaluate"
        )
    return targets, batch.map_arrays(to_numpy)


def scalar_pair(y: Any, predictions: Any, what: str) -> tuple[np.ndarray, RealPredictions]:
    """Return the same for scalar targets, of shape (n,); vectors are refused with the remedy."""
    targets, batch = number_pair(y, predictions)
    if batch.event_shape:
        raise InputError(
            f"{what} needs one number a target, got targets of shape {batch.event_shape}: take one coordinate at a "
            "time, (y[:, k], kernelcal.statistics.coordinate(predictions, k))"
        )
    return targets, batch


def row_mean(values: np.ndarray, weights: Any) -> float:
    """Mean of the rows; a row of weight 0 counts nothing, whatever its value."""
    own = checked_weights(weights, len(values))
    return float(values.mean() if own is None else np.where(own > 0, values, 0) @ own / len(values))


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
