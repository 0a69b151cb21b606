"""Multivariate rank histograms: ranks of outcome vectors among the draws of their rows, by one pre-rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.predictions import Samples
from kernelcal.runs import Run
from kernelcal.statistics.outcomes import UniformHistogram, rank_histogram_of
from kernelcal.statistics.vectors.pre_ranks import DEFAULT_PRE_RANKS
from kernelcal.statistics.vectors.statistic import TARP, PreRanks, RanksOfMembers, ensemble_of, members_of

__all__ = ["pre_rank_case", "pre_rank_histogram", "pre_rank_histogram_of"]


def pre_rank_histogram(
    y: Any,
    predictions: Any,
    pre_rank: str = "mean",
    *,
    bins: int | None = None,
    references: Any = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
) -> UniformHistogram:
    """Histogram of ranks of outcome vectors among the draws of their rows by one pre-rank, with a band.

    Flat under calibration. By ``mean`` a slope says that outcomes are high or low and a valley that predictions are too
    narrow; by ``spread``, ``dependence`` and ``variogram`` a slope says that components go together less or more than
    predicted; by ``band depth`` a slope down that outcomes lie further out than draws.

    Parameters
    ----------
    y : array of shape (n, d)
        Targets.
    predictions : Samples, or predictions of vectors that can be drawn from
        Ensembles of equally likely draws. Of others 100 are drawn.
    pre_rank : str
        A name of `statistics.vectors.PRE_RANKS`, or ``TARP``.
    bins : int, optional
        As for `rank_histogram`.
    references : array of shape (n, d), optional
        Of ``TARP``: reference points.
    confidence_level, draws, rng
        As for `rank_histogram`.

    Returns
    -------
    UniformHistogram

    Raises
    ------
    InputError
        For predictions of one number, weighted draws, and names that are not known.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.statistics.vectors import pre_rank_histogram
    >>> rng = np.random.default_rng(0)
    >>> y, draws = rng.normal(size=(300, 3)), 0.7 * rng.normal(size=(300, 9, 3))
    >>> found = pre_rank_histogram(y, kc.Samples(draws), "band depth", bins=5)
    >>> found.counts
    array([121,  75,  43,  35,  26])
    """
    run = Run(confidence_level=confidence_level, draws=draws, rng=rng)
    _ = run.outside  # refuses draws too few for the band
    case = Case.of(y, predictions).of_numbers()
    return pre_rank_histogram_of(case, pre_rank, bins, run, references)


def pre_rank_histogram_of(
    case: Case, pre_rank: str, bins: int | None, run: Run, references: Any = None
) -> UniformHistogram:
    """Histogram of what was checked already; all rows count alike."""
    found = rank_histogram_of(pre_rank_case(case, pre_rank, run.rng, references), bins, run)
    variable = found.variable.replace(" of the outcome", "")  # short, for histograms side by side
    return replace(found, title=f"Ranks by {pre_rank}", variable=variable)


def pre_rank_case(case: Case, pre_rank: str, rng: Any = 0, references: Any = None) -> Case:
    """Return the case whose outcomes and draws are the pre-ranks of vectors: what is asked of numbers can be asked."""
    batch: Any = case.in_numpy.predictions
    pool = members_of(ensemble_of(batch, rng)).pooled(case.targets)
    of_distances = pre_rank == TARP
    names = DEFAULT_PRE_RANKS[:1] if of_distances else (pre_rank,)
    ranks = RanksOfMembers(PreRanks(pre_ranks=names, tarp=of_distances, references=references), pool)
    values, own = ranks.columns[:, :, -1], ranks.places(np.asarray(case.targets, dtype=pool.draws.dtype)[None])[0]
    rows = np.arange(len(values))
    others = np.arange(values.shape[1]) != own[:, None]
    draws = Samples(values[others].reshape(len(values), -1))
    return replace(case, targets=values[rows, own], predictions=draws)
