"""From what people have to predictions of numbers: distributions, pairs of arrays, ensembles."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import as_array, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions
from kernelcal.predictions.diagonal_normal import DiagonalNormal
from kernelcal.predictions.frames import is_frame, plain_array
from kernelcal.predictions.libraries import LIBRARIES, read_distribution
from kernelcal.predictions.normal import Normal
from kernelcal.predictions.samples import Samples
from kernelcal.predictions.stacking import stacked
from kernelcal.predictions.wrappers import Wrapper

__all__ = ["ensemble", "is_distribution", "predictions_of_numbers"]

_PAIR = ("the pair of arrays was read as means and standard deviations",)


def is_distribution(x: Any) -> bool:
    """Tell whether `x` is a distribution of a library that is read, or of a class that inherits from one."""
    from_library = any(cls.__module__.startswith(tuple(LIBRARIES)) for cls in type(x).__mro__)
    return from_library and any(hasattr(type(x), name) for name in ("log_prob", "logpdf", "logcdf"))


def predictions_of_numbers(x: Any) -> Predictions | None:
    """Predictions, where `x` is such, a distribution, a list of either, or a pair of arrays; None for all else."""
    if isinstance(x, Predictions):
        return x
    if is_distribution(x):
        return read_distribution(x)
    if not isinstance(x, list | tuple) or not x:
        return None
    if all(isinstance(element, Predictions) or is_distribution(element) for element in x):
        return stacked([e if isinstance(e, Predictions) else read_distribution(e) for e in x])
    return _pair(x) if isinstance(x, tuple) and len(x) == 2 and all(map(_is_array, x)) else None


def _is_array(x: Any) -> bool:
    """Arrays and columns of a library, not lists."""
    return is_frame(x) or (as_array(x) is x and np.ndim(x) > 0)


def _pair(pair: tuple[Any, Any]) -> Predictions:
    mean, std = (plain_array(x)[0] for x in pair)
    shapes = tuple(mean.shape), tuple(std.shape)
    if shapes[0] != shapes[1] or len(shapes[0]) not in (1, 2):
        raise InputError(
            "a tuple of two arrays is read as means and standard deviations of one shape, (n,) or (n, d), got "
            f"{shapes[0]} and {shapes[1]}: for covariances use kernelcal.predictions.MultivariateNormal(mean, cov); "
            "rows of class probabilities go into one array, np.stack(rows)"
        )
    if len(shapes[0]) == 2 and shapes[0][1] > 1:
        return DiagonalNormal(mean, std, notes=_PAIR)
    mean, std = (x[:, 0] if x.ndim == 2 else x for x in (mean, std))
    return Normal(mean, std, notes=_PAIR)


def ensemble(x: Any, axis: int) -> Samples:
    """Ensemble from an array whose given axis holds the draws; the first of the others holds the rows."""
    if isinstance(x, Predictions | Wrapper) or is_distribution(x):
        raise InputError(f"sample_axis says which axis of an array holds draws, and {type(x).__name__} is no array")
    array = plain_array(x)[0]
    axes = list(range(array.ndim))
    if array.ndim < 2 or axis not in range(-array.ndim, array.ndim):
        raise InputError(
            f"sample_axis={axis} does not fit an array of shape {tuple(array.shape)}: draws have an axis for the rows "
            "and one for the draws, and for vectors one for their components"
        )
    draws = axes.pop(axis)
    return Samples(namespace(array).permute_dims(array, (axes[0], draws, *axes[1:])))
