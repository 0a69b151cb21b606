"""Distances between predictions of numbers that know no unit: location and logarithm of the width, standardised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, like, namespace, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels.metrics.base import Metric
from kernelcal.predictions import RealPredictions

__all__ = ["Standardised"]


_NO_WIDTH = -1e4  # logarithm of a width of 0

_FAR = 6.0  # coordinates end here: a width of 0, or a wild location, is no further away

_QUARTILES = 1.3489795  # between the quartiles of a normal law, in standard deviations


@dataclass(frozen=True)
class Standardised(Metric):
    """Euclidean distance of where predictions lie and of the logarithm of how wide they are, each in its own spread.

    The coordinates are `centre` and ``log(width)`` of every component, less their median and divided by the distance of
    their quartiles over 1.35, both over the predictions at hand, and cut at 6. Changing the unit or the origin of the
    targets changes nothing, widths of 0.01 and of 100 are told apart however far the means spread, and no single
    prediction decides the unit. The metric of the default test of numbers.

    Parameters
    ----------
    middle, spread : tuple of float, optional
        Median and spread of every coordinate. Default: those of the predictions.

    Notes
    -----
    Hilbertian. A coordinate that is equal for all predictions says nothing and is left as 0.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import Standardised
    >>> predictions = kc.Normal([0.0, 1.0, 2.0], [0.1, 1.0, 10.0])
    >>> Standardised().coordinates(predictions).round(3)
    array([[-1.349, -1.349],
           [ 0.   ,  0.   ],
           [ 1.349,  1.349]])
    """

    middle: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None

    order: ClassVar[int] = 2

    def __post_init__(self) -> None:
        for name in ("middle", "spread"):  # lists come from files
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else tuple(map(float, given)))

    def __str__(self) -> str:
        return "Standardised()"

    def resolved(self, predictions: Any) -> Self:
        """Return the metric with the medians and spreads of these predictions."""
        if self.middle is not None:
            return self
        values = to_numpy(_raw(predictions)).astype(np.float64)
        middle = np.array([_median(column) for column in values.T])
        spread = np.array([_spread(column) for column in values.T])
        return replace(self, middle=tuple(middle.tolist()), spread=tuple(spread.tolist()))

    def coordinates(self, predictions: Any) -> Array:
        """Standardised locations and logarithms of widths, shape (n, 2 d)."""
        own = self.resolved(predictions)
        values = _raw(predictions)
        xp = namespace(values)
        if values.shape[1] != len(own.middle or ()):
            raise InputError(
                f"{self} was resolved for predictions of {len(own.middle or ()) // 2} numbers, got predictions of "
                f"{values.shape[1] // 2}"
            )
        spread = np.array(own.spread)
        unit = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
        return xp.clip((values - like(np.array(own.middle), values)) * like(unit, values), -_FAR, _FAR)

    def largest_exponent(self, predictions: Any) -> float:
        """2: Euclidean space."""
        return 2.0


def _raw(predictions: Any) -> Array:
    if not isinstance(predictions, RealPredictions):
        raise InputError(
            f"Standardised compares predictions of numbers, got {type(predictions).__name__}: use Euclidean()"
        )
    shape = (len(predictions), predictions.dimension)
    centre, width = predictions.centre, predictions.width
    xp = namespace(centre, width)
    known = width > 0
    logs = xp.where(known, xp.log(xp.where(known, width, xp.ones_like(width))), _NO_WIDTH)
    return xp.concat([xp.reshape(centre, shape), xp.reshape(logs, shape)], axis=1)


def _median(column: np.ndarray) -> float:
    known = column[column > _NO_WIDTH]
    return float(np.median(known)) if len(known) else 0.0


def _spread(column: np.ndarray) -> float:
    """Distance of the quartiles over that of a normal law; the standard deviation where they are equal; or 0."""
    known = column[column > _NO_WIDTH]
    if not len(known):
        return 0.0
    low, high = np.quantile(known, [0.25, 0.75])
    spread = float(high - low) / _QUARTILES or float(known.std())
    return spread if spread > 1e-9 * float(np.abs(known).max()) else 0.0
