"""From values of observed data and draws to p-values: ranks, with ties counted against rejection."""

from __future__ import annotations

import numpy as np

__all__ = ["family_wise_pvalues", "minimum_rank_pvalue", "ranks", "standardised"]


def ranks(values: np.ndarray) -> np.ndarray:
    """Number of entries of a column that are at least as large as each entry, ties included.

    Entries closer than rounding count as equal: otherwise the last digit of a sum would decide between draws
    that are the same. Divided by B + 1, the entry of row 0 is the exact Monte-Carlo p-value.

    Parameters
    ----------
    values : numpy.ndarray of shape (B + 1, S)
        Row 0 is observed, the others are draws.

    Returns
    -------
    numpy.ndarray of int, shape (B + 1, S)
    """
    return np.stack([_column_ranks(column) for column in values.T], axis=1)


def _column_ranks(column: np.ndarray) -> np.ndarray:
    order = np.argsort(-column, kind="stable")
    descending = column[order]
    finite = column[np.isfinite(column)]
    tolerance = 1e-9 * finite.std() + 1e-13 * np.abs(finite).max() if len(finite) else 0.0
    with np.errstate(invalid="ignore"):
        new_group = descending[:-1] - descending[1:] > tolerance
    last = np.flatnonzero(np.append(new_group, True))  # last position of every group of equal values
    position = last[np.searchsorted(last, np.arange(len(column)))] + 1
    result = np.empty(len(column), dtype=np.int64)
    result[order] = position
    return result


def minimum_rank_pvalue(values: np.ndarray, rank: np.ndarray) -> float:
    """P-value of the smallest rank over the statistics (min-p), from the same batch of draws.

    Rows with the same smallest rank are ordered by their largest standardised value: otherwise every statistic's
    largest draw would tie with the observed row, and S statistics could never say less than S / (B + 1). Both
    orders are symmetric functions of the rows, which are exchangeable under the null, so the p-value
    ``#{b at least as extreme as row 0} / (B + 1)`` is exact. For one statistic it is the rank itself.
    """
    if rank.shape[1] == 1:
        return float(rank[0, 0] / len(rank))
    smallest = rank.min(axis=1)
    deviation = np.stack([standardised(column) for column in values.T]).max(axis=0)
    tied = (smallest == smallest[0]) & (deviation >= deviation[0] - 1e-9)
    return float(((smallest < smallest[0]) | tied).sum() / len(smallest))


def family_wise_pvalues(values: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """P-values of every statistic, corrected for the choice among all of them (Westfall-Young, single step, min-p).

    An entry is the more extreme the smaller its rank, and among equal ranks the larger its standardised value. The
    p-value of statistic s is the share of rows whose most extreme entry is at least as extreme as entry (0, s).
    With however many statistics wrong, the chance that any of the others is rejected is at most the level: the most
    extreme entry over all statistics is at least as extreme as that over these others, whose rows are exchangeable.

    Parameters
    ----------
    values, rank : numpy.ndarray of shape (B + 1, S)
        Row 0 is observed.

    Returns
    -------
    numpy.ndarray of shape (S,)

    References
    ----------
    Westfall and Young (1993), section 2.3.
    """
    deviation = np.stack([standardised(column) for column in values.T], axis=1)
    smallest = rank.min(axis=1)
    strongest = np.where(rank == smallest[:, None], deviation, -np.inf).max(axis=1)
    first, own = rank[0], deviation[0]
    tied = (smallest[:, None] == first) & (strongest[:, None] >= own - 1e-9)
    return ((smallest[:, None] < first) | tied).mean(axis=0)


def standardised(column: np.ndarray) -> np.ndarray:
    """Standardise by mean and spread of all finite rows, the observed one included; infinity stays infinite."""
    finite = column[np.isfinite(column)]
    spread = finite.std() if len(finite) else 0.0
    if spread == 0:
        return np.where(np.isfinite(column), 0.0, np.inf)
    return (column - finite.mean()) / spread
