"""The histogram of PIT values, flat under calibration."""

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
from kernelcal.statistics.pit import pit_of
from kernelcal.statistics.uniform_histogram import UniformHistogram

__all__ = ["pit_histogram", "pit_histogram_of"]


def pit_histogram(
    y: Any,
    predictions: Any,
    *,
    bins: int = 10,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
) -> UniformHistogram:
    """Histogram of the randomised PIT values of `pit`, flat under calibration, with a band.

    A hump in the middle: predictions too wide. A valley: too narrow. A slope: shifted. Under calibration the counts are
    multinomial with equal probabilities, and the band holds them all at once with probability ``confidence_level`` or
    more.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of one number.
    bins : int
        Number of bins, of equal width on (0, 1).
    confidence_level : float
        Of the band.
    draws : int
        Multinomial draws for the band.
    rng : int, numpy.random.Generator or None
        Seed (SPEC 7). The values are those of ``pit(y, predictions, rng)``.

    Returns
    -------
    UniformHistogram

    Raises
    ------
    InputError
        As `pit`, and for draws too few for the level.

    Notes
    -----
    A flat histogram follows from calibration and is weaker. Cost: that of `pit`, and O(draws bins).

    References
    ----------
    Dawid (1984); Diebold, Gunther, Tay (1998); Gneiting, Balabdaoui, Raftery (2007).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.statistics import pit_histogram
    >>> y = np.random.default_rng(0).normal(size=400)
    >>> pit_histogram(y, kc.Normal(np.zeros(400), 0.5), bins=4).counts
    array([160,  51,  45, 144])
    """
    run, bins = Run(confidence_level=confidence_level, draws=draws, rng=rng), checked_count(bins, "bins", "10")
    _ = run.outside  # refuses draws too few for the band
    return pit_histogram_of(Case.of(y, predictions), bins, run)


def pit_histogram_of(case: Case, bins: int, run: Run) -> UniformHistogram:
    """Histogram of what was checked already; all rows count alike."""
    batch = case.of_one_number("a histogram of the probability integral transform").in_numpy.predictions
    if isinstance(batch, Samples) and not batch.exchangeable:
        raise InputError(
            "PIT values of draws with unequal weights are only nearly uniform, and their band is not known: draw an "
            "unweighted sample by the weights first"
        )
    generator = generator_of(run.rng)
    values = pit_of(case, generator)
    counts = np.bincount(np.minimum((values * bins).astype(np.int64), bins - 1), minlength=bins)
    edges = np.linspace(0, 1, bins + 1)
    probability, n = np.full(bins, 1 / bins), len(values)
    band = multinomial_band(n, probability, run, generator)
    return UniformHistogram("PIT histogram", "PIT value", edges, counts, n * probability, band, n, batch.notes)
