"""Highest-density levels of outcomes as ranks of their density among those of draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import as_array, row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import RealPredictions, Samples
from kernelcal.statistics.density_levels import DensityRegions

__all__ = ["drawn_regions", "given_regions"]

_SAME = 1e-12  # relative difference of logarithms that are equal but for rounding
_NUMBERS = 2**22  # numbers that are drawn at once


def drawn_regions(
    predictions: RealPredictions, y: np.ndarray, cs: np.ndarray, size: int, rng: np.random.Generator
) -> DensityRegions:
    """Rank every outcome among fresh draws from its prediction, a block of draws at a time."""
    own = _log_prob(predictions, y[None])[0]
    above, equal = np.zeros((2, len(y)), dtype=np.int64)
    for block in row_slices(size, _NUMBERS // (len(y) * predictions.uniforms)):  # the stream is that of one block
        more = _compared(_log_prob(predictions, predictions.sample(rng, block.stop - block.start)), own)
        above, equal = above + more[0].sum(axis=0), equal + more[1].sum(axis=0)
    return _ranked(above, equal, np.full(len(y), size), cs, rng)


def given_regions(
    predictions: Samples, y: np.ndarray, cs: np.ndarray, log_density: Callable[..., Any], rng: np.random.Generator
) -> DensityRegions:
    """Rank every outcome among the draws that were given, by the model's own density."""
    if not predictions.exchangeable:
        raise InputError(
            "an outcome has a rank only among equally likely draws, got draws with unequal weights: leave out weights, "
            "or draw an unweighted sample by them first"
        )
    draws = np.moveaxis(predictions.draws, 1, 0)
    # outcome and draws in one call: a function that depends on the shape of its input treats them alike
    logs = _checked(log_density(np.concatenate([y[None], draws])), (len(draws) + 1, len(y)))
    counted = np.ones((len(draws), len(y)), dtype=bool) if predictions.weights is None else predictions.weights.T > 0
    above, equal = (part & counted for part in _compared(logs[1:], logs[0]))
    return _ranked(above.sum(axis=0), equal.sum(axis=0), counted.sum(axis=0), cs, rng)


def _compared(logs: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which draws have a larger density than the outcome, and which the same."""
    slack = _SAME * (1 + np.abs(np.where(np.isfinite(own), own, 0.0)))
    above = logs > own + slack
    return above, ~above & (logs >= own - slack)


def _ranked(
    above: np.ndarray, equal: np.ndarray, members: np.ndarray, cs: np.ndarray, rng: np.random.Generator
) -> DensityRegions:
    """Regions of whole places: of S + 1 places, the outcome has each with probability 1 / (S + 1)."""
    place = above + np.floor(rng.random(len(above)) * (equal + 1))  # equal densities: a random order
    wanted = np.ceil(np.multiply.outer(cs, members + 1) - 1e-9)
    held = np.minimum(wanted, members)  # all places would be no region
    notes = tuple(_short(members, w > members, float(c)) for c, w in zip(cs, wanted, strict=True))
    return DensityRegions(place < held, held / (members + 1), tuple(note for note in notes if note))


def _short(members: np.ndarray, short: np.ndarray, level: float) -> str:
    if not short.any():
        return ""
    most, needed = int(members[short].max()), int(np.ceil(round(level / (1 - level), 9)))
    return (
        f"regions of {100 * level:g} % need at least {needed} draws, and there are fewer in {int(short.sum()):,} of "
        f"{len(short):,} rows (at most {most}): the region down to the least likely draw was taken, which covers at "
        f"most {most / (most + 1):.3f}"
    )


def _log_prob(predictions: RealPredictions, values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):  # an outcome that was ruled out has density 0
        logs = to_numpy(predictions.unnormalized_log_prob(values)).astype(np.float64)
    wrong = ~(logs < np.inf)
    if wrong.any():
        draw, row = (int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"the log density of {type(predictions).__name__} in row {row} is {logs[draw, row]:g} at "
            f"{values[draw, row]}: expected a number, or -inf where the density is zero"
        )
    return logs


def _checked(logs: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return logarithms of densities in float64, of the shape of the values and without missing ones."""
    values = to_numpy(as_array(logs)).astype(np.float64)
    if values.shape != shape:
        raise InputError(
            f"log_density must return one number a value, shape {shape} for values of shape (k, n, ...), got shape "
            f"{values.shape}: sum over the components of a vector, and keep the rows apart"
        )
    wrong = ~(values < np.inf)
    if wrong.any():
        draw, row = (int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"log_density is {values[draw, row]:g} at value {draw} of row {row} (value 0 is the outcome, the draws "
            "follow): return -inf where the density is zero"
        )
    return values
