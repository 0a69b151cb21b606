"""The histogram of ranks of outcomes in ensembles, flat under calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.binning.base import checked_count
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Samples
from kernelcal.randomness import generator_of
from kernelcal.runs import CONFIDENCE_LEVEL, DRAWS, Run
from kernelcal.statistics.null_band import multinomial_band
from kernelcal.statistics.uniform_histogram import UniformHistogram

__all__ = ["rank_histogram", "rank_histogram_of"]

_MOST_BARS = 50


def rank_histogram(
    y: Any,
    predictions: Any,
    *,
    bins: int | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
) -> UniformHistogram:
    """Histogram of the rank of each outcome among the S draws of its row, 0 to S, with a band.

    If outcome and draws are exchangeable, each rank has probability 1 / (S + 1), at every S; ranks of outcomes equal to
    draws are chosen at random among those that the ties allow. Outcomes often outside their ensembles (a valley) speak
    of too little spread, a slope of a shift.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : Samples
        Ensembles of S equally likely draws.
    bins : int, optional
        Number of bars, at most S + 1; neighbouring ranks are joined. Default one a rank, 20 where there are above 50.
    confidence_level, draws
        As for `pit_histogram`.
    rng : int, numpy.random.Generator or None
        Seed of ties and of the band (SPEC 7).

    Returns
    -------
    UniformHistogram

    Raises
    ------
    InputError
        For vectors, weighted draws and predictions that are no draws.

    References
    ----------
    Anderson (1996); Hamill (2001); Talts et al. (2018) for ranks in simulation-based calibration.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import rank_histogram
    >>> rank_histogram([0.5, 5.0, 6.0], kc.Samples([[0.0, 1.0, 2.0]] * 3)).counts
    array([0, 1, 0, 2])
    """
    run = Run(confidence_level=confidence_level, draws=draws, rng=rng)
    _ = run.outside  # refuses draws too few for the band
    return rank_histogram_of(Case.of(y, predictions), bins, run)


def rank_histogram_of(case: Case, bins: int | None, run: Run) -> UniformHistogram:
    """Histogram of what was checked already; all rows count alike."""
    batch = case.of_one_number("a rank").in_numpy.predictions
    if not isinstance(batch, Samples):
        raise InputError(
            f"ranks are those among draws (kernelcal.Samples), got {type(batch).__name__}: use pit_histogram"
        )
    generator, places = generator_of(run.rng), batch.size + 1
    low, high = batch.rank_range(case.targets)
    rank = low + (generator.random(len(low)) * (high - low + 1)).astype(np.int64)
    starts = _starts(bins, places)
    counts = np.add.reduceat(np.bincount(rank, minlength=places), starts)
    edges = np.append(starts, places) - 0.5
    variable = f"rank of the outcome among {batch.size} draws"
    probability, n = np.diff(edges) / places, len(rank)
    band = multinomial_band(n, probability, run, generator)
    return UniformHistogram("Rank histogram", variable, edges, counts, n * probability, band, n, batch.notes)


def _starts(bins: int | None, places: int) -> np.ndarray:
    """Return the first rank of every bar."""
    if bins is None:
        bins = places if places <= _MOST_BARS else 20
    if checked_count(bins, "bins", "10") > places:
        raise InputError(f"there are {places} ranks, so at most {places} bins, got {bins}")
    return np.arange(bins) * places // bins
