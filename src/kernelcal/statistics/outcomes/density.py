"""Highest-density levels of outcomes: closed forms and exact sums, or ranks of their density among those of draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import as_array, row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import RealPredictions, Samples

__all__ = ["DensityRegions", "count_regions", "count_windows", "drawn_regions", "given_regions"]


_TAIL = 1e-12  # probability of the counts beyond either end that the sums leave out

_SAME = 1e-9  # logarithms of probabilities that are equal but for rounding

_CELLS = 2**20  # counts that are sorted at once

_ROUNDING = 1e-12  # relative difference of logarithms that are equal but for rounding

_NUMBERS = 2**22  # numbers that are drawn at once


@dataclass(frozen=True, eq=False)
class DensityRegions:
    """Rows inside the regions of L levels and the probabilities of the regions, both of shape (L, n)."""

    inside: np.ndarray
    probability: np.ndarray
    notes: tuple[str, ...] = ()


def count_windows(predictions: RealPredictions) -> tuple[np.ndarray, np.ndarray]:
    """Least count of every row that the sums need and how many counts from there, both of shape (n,)."""
    low, high = (predictions.quantile(level) for level in (_TAIL, 1 - _TAIL))
    return low, high - low + 1


def count_regions(
    predictions: RealPredictions, y: np.ndarray, cs: np.ndarray, low: np.ndarray, widths: np.ndarray
) -> DensityRegions:
    """Sum probabilities in the order of their size: W log W a row with a window of W counts."""
    inside, probability = np.zeros((len(cs), len(y)), dtype=bool), np.zeros((len(cs), len(y)))
    order = np.argsort(widths, kind="stable")  # rows of like widths together: no row pays for a wider one
    for part in row_slices(len(y), int(_CELLS // widths.max())):
        rows = order[part]
        levels, masses = _count_levels(predictions[rows], low[rows], int(widths[rows].max()))
        own = _at(levels, (y - low)[rows])
        for k, c in enumerate(cs):  # a sum that is c but for rounding reaches c
            inside[k, rows] = own < c - _SAME
            probability[k, rows] = (masses * (levels < c - _SAME)).sum(axis=0)
    return DensityRegions(inside, probability)


def _count_levels(predictions: RealPredictions, low: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Levels and probabilities of the counts in the window, both of shape (W, n); equal probabilities share a level."""
    logs = to_numpy(predictions.log_prob(low + np.arange(width)[:, None])).astype(np.float64)
    order = np.argsort(-logs, axis=0, kind="stable")
    ordered = np.take_along_axis(logs, order, axis=0)
    before = np.cumsum(np.exp(ordered), axis=0) - np.exp(ordered)
    with np.errstate(invalid="ignore"):  # counts that cannot occur: -inf minus -inf
        smaller = np.pad(ordered[:-1] - ordered[1:] > _SAME, ((1, 0), (0, 0)))
    first = np.maximum.accumulate(np.where(smaller, np.arange(width)[:, None], 0), axis=0)
    levels = np.empty_like(before)
    np.put_along_axis(levels, order, np.take_along_axis(before, first, axis=0), axis=0)
    return levels, np.exp(logs)


def _at(levels: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Levels of the outcomes; those beyond the window have nearly all of the distribution above them."""
    within = (place >= 0) & (place < len(levels))
    index = np.where(within, place, 0).astype(np.intp)
    return np.where(within, levels[index, np.arange(levels.shape[1])], 1.0)


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
    slack = _ROUNDING * (1 + np.abs(np.where(np.isfinite(own), own, 0.0)))
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
