"""Test locations: pairs of a prediction and a target at which residual functions are looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device

from kernelcal.arrays import Array, concrete, namespace, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import (
    ClassPredictions,
    DiagonalNormal,
    IsotropicNormal,
    MultivariateNormal,
    Normal,
    Predictions,
    Samples,
    checked_pair,
    trusted,
)
from kernelcal.randomness import generator_of

__all__ = ["Locations", "draw_locations", "like_arrays", "normal_locations", "refuse_unlike"]


@dataclass(frozen=True, eq=False)
class Locations:
    """Test locations ``T_j = (q_j, z_j)``, j = 1..J, of a `UCME`.

    Parameters
    ----------
    predictions : Predictions or what `as_predictions` takes
        Test predictions q_j, of the family of the predictions that will be tested.
    targets : array of shape ``(J, *event_shape)``
        Test targets z_j, one a test prediction; labels of classes as for `as_predictions`.

    Raises
    ------
    InputError
        If targets and predictions do not fit together.

    Notes
    -----
    Locations that were chosen by looking at the tested targets make every p-value wrong.

    Examples
    --------
    >>> from kernelcal.predictions import Normal
    >>> from kernelcal.statistics import Locations
    >>> len(Locations(Normal([0.0, 1.0, 2.0], 0.5), [0.1, 0.9, 2.2]))
    3
    """

    predictions: Predictions
    targets: np.ndarray

    def __post_init__(self) -> None:
        targets, predictions = checked_pair(self.targets, self.predictions)
        object.__setattr__(self, "predictions", predictions)
        object.__setattr__(self, "targets", targets)

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        return f"Locations({len(self)} of {type(self.predictions).__name__})"


def draw_locations(predictions: Predictions, number: int = 10, rng: Any = 0) -> Locations:
    """Draw test locations from predictions: q_j is a row, z_j a draw from it.

    Parameters
    ----------
    predictions : Predictions
        The predictions that will be tested. Observed targets are not looked at, and the draws of an ensemble enter
        symmetrically, so that exact and swap tests stay exact.
    number : int
        Number J of locations. Rows are drawn without replacement, with replacement if there are fewer than J.
    rng : int or numpy.random.Generator
        Source of rows and draws.

    Returns
    -------
    Locations
        In NumPy: constants, through which no gradient flows.

    Raises
    ------
    InputError
        While jax.jit traces the predictions: there are no values to draw from.

    Examples
    --------
    >>> from kernelcal.predictions import Normal
    >>> from kernelcal.statistics import draw_locations
    >>> draw_locations(Normal([0.0, 1.0, 2.0], 0.5), 2).predictions.mean
    array([1., 0.])
    """
    if concrete(predictions.mean) is None:
        raise InputError(
            "test locations are drawn from values, which jax.jit does not have: pass locations=Locations(predictions, "
            "targets), for example those of draw_locations(predictions) outside of it"
        )
    rng = generator_of(rng, "test locations")
    rows = rng.choice(len(predictions), number, replace=number > len(predictions))
    chosen = trusted(predictions[rows].map_arrays(to_numpy), notes=())
    return _trusted_locations(chosen, _symmetric(chosen).sample(rng)[0])


def normal_locations(like: Predictions, number: int = 10, *, std: float = 0.1, rng: Any = 0) -> Locations:
    """Draw test locations as Widmann et al. (2021), App. A.2: they depend on no data.

    ``q_j = N(m_j, s^2 I)`` with m_j uniform on the unit cube, and ``z_j`` drawn from ``N(0, s^2 I)``.

    Parameters
    ----------
    like : Predictions
        Normal predictions, whose family and number of components are taken.
    number : int
        Number J of locations.
    std : float
        Standard deviation s.
    rng : int or numpy.random.Generator
        Source of the draws.

    Returns
    -------
    Locations

    Raises
    ------
    InputError
        For predictions that are not normal.

    Examples
    --------
    >>> from kernelcal.predictions import Normal
    >>> from kernelcal.statistics import normal_locations
    >>> normal_locations(Normal([0.2, 0.7], 0.1), 3)
    Locations(3 of Normal)
    """
    if type(like) not in _NORMAL:
        raise InputError(
            f"normal test locations serve {', '.join(family.__name__ for family in _NORMAL)}, not "
            f"{type(like).__name__}: use draw_locations(predictions), or Locations(predictions, targets)"
        )
    rng = generator_of(rng, "normal test locations")
    shape = (number, *like.event_shape)
    return Locations(_NORMAL[type(like)](rng.random(shape), std), std * rng.standard_normal(shape))


_NORMAL: dict[type[Predictions], Callable[[np.ndarray, float], Predictions]] = {
    Normal: Normal,
    IsotropicNormal: IsotropicNormal,
    DiagonalNormal: lambda mean, std: DiagonalNormal(mean, np.full(mean.shape, std)),
    MultivariateNormal: lambda mean, std: MultivariateNormal(mean, std**2 * np.eye(mean.shape[1])),
}


def _trusted_locations(predictions: Predictions, targets: np.ndarray) -> Locations:
    """Locations that are known to fit together."""
    new = object.__new__(Locations)
    new.__dict__.update(predictions=predictions, targets=targets)
    return new


def _symmetric(predictions: Predictions) -> Predictions:
    """Sort equally likely draws: which of them plays the outcome in a swap test must change nothing."""
    if not isinstance(predictions, Samples) or predictions.weights is not None:
        return predictions
    draws = predictions.draws
    if draws.ndim == 2:
        return trusted(predictions, draws=np.sort(draws, axis=1))
    order = np.lexsort(np.moveaxis(draws, -1, 0), axis=-1)
    return trusted(predictions, draws=np.take_along_axis(draws, order[..., None], axis=1))


def like_arrays(locations: Locations, like: Array) -> Locations:
    """Locations in the library, dtype and on the device of an array; arrays that are there stay as they are."""

    def move(x: Array) -> Array:
        if isinstance(like, np.ndarray):
            return to_numpy(x).astype(like.dtype, copy=False)
        if not isinstance(x, np.ndarray):
            return x
        return namespace(like).asarray(np.array(x), dtype=like.dtype, device=device(like))  # PyTorch wants to write

    return _trusted_locations(locations.predictions.map_arrays(move), locations.targets)


def refuse_unlike(locations: Locations, predictions: Predictions) -> None:
    """Refuse locations of another family, shape or set of classes than the predictions."""
    test = locations.predictions
    if test.kind != predictions.kind:
        here, there = _described(test), _described(predictions)
        other = there if here != there else "too, but their components or levels differ"
        raise InputError(
            f"the test locations are {here}, the predictions {other}: give locations of the same family, or a number "
            "of them, which are then drawn from the predictions"
        )
    if isinstance(test, ClassPredictions) and isinstance(predictions, ClassPredictions):
        names = (test.classes, predictions.classes)
        if None not in names and names[0] != names[1]:
            raise InputError(f"the classes of the test locations are {names[0]}, those of the predictions {names[1]}")


def _described(predictions: Any) -> str:
    family, shape = predictions.kind[:2]
    what = f"{shape[0]} classes" if isinstance(predictions, ClassPredictions) else f"targets of shape {shape}"
    return f"{family.__name__} with {what}"
