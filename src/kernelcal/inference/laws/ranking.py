"""Ranks among draws: from a table of values, row 0 observed, to the p-value of a family, and of many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelcal.statistics import Merge

__all__ = ["decisive", "family_wise_pvalues", "merged_pvalue", "merged_ranks", "ranks", "standardised"]


_TOLERANCE = 1e-9  # of standardised values: closer ones are equal up to rounding


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
    return _competition_ranks(order, new_group)


def merged_pvalue(values: np.ndarray, rank: np.ndarray, merge: Merge | None = None) -> float:
    """P-value of the smallest weighted rank over the statistics (min-p), from the same batch of draws.

    That of row 0 among all rows by `merged_ranks`: ``#{b at least as extreme as row 0} / (B + 1)``. The order is a
    symmetric function of the rows, which are exchangeable under the null, so that it is exact, whatever the groups and
    weights. For one statistic it is the rank itself.
    """
    return float(merged_ranks(values, rank, merge)[0][0] / len(rank))


def merged_ranks(values: np.ndarray, rank: np.ndarray, merge: Merge | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Rank of every row, observed or drawn, by all statistics of a family together, and how far out it lies.

    Rows are ordered by their smallest weighted rank over the statistics. Those with the same smallest rank are ordered
    by their largest standardised value: otherwise every statistic's largest draw would tie with the observed row, and S
    statistics could never say less than S / (B + 1). Both orders are symmetric functions of the rows.

    Parameters
    ----------
    values, rank : numpy.ndarray of shape (B + 1, S)
        Row 0 is observed.
    merge : Merge, optional
        Which statistics are ranked together and how much each group weighs; default each by itself, all alike.

    Returns
    -------
    rank, deviation : numpy.ndarray of shape (B + 1,)
        Number of rows at least as extreme as each, and its largest standardised value.
    """
    groups, weights = _parts(values, merge)
    columns, deviation = _group_ranks(values, rank, groups, _scale(merge))
    if len(groups) == 1:
        return columns[:, 0], deviation[:, 0]
    furthest = deviation.max(axis=1)
    return _at_least(_scores(columns, weights).min(axis=1), furthest), furthest


def decisive(values: np.ndarray, rank: np.ndarray, merge: Merge | None = None) -> int:
    """Position of the statistic that decides the p-value of row 0; of equal ones, that which deviates most.

    Groups whose observed value no draw reaches are equal, whatever their weights: ranks say no more of them.
    """
    groups, weights = _parts(values, merge)
    scale = _scale(merge)
    columns, deviation = _group_ranks(values, rank, groups, scale)
    score = _scores(columns[0], weights)
    group = groups[min(range(len(groups)), key=lambda g: (score[g], -deviation[0, g]))]
    own = {k: -scale(values[:, k])[0] for k in group}
    return min(group, key=lambda k: (rank[0, k], own[k]))


def _scores(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Ranks over weights; the least rank is 0 in every group, or the smallest p-value would be that of the heaviest."""
    return np.where(columns == 1, 0.0, columns / weights)


def _parts(values: np.ndarray, merge: Merge | None) -> tuple[tuple[tuple[int, ...], ...], np.ndarray]:
    """Groups of statistics and their weights; without a merge each statistic by itself, all alike."""
    if merge is None:
        return tuple((k,) for k in range(values.shape[1])), np.ones(values.shape[1])
    return merge.groups, np.array(merge.weights)


def _scale(merge: Merge | None) -> Callable[[np.ndarray], np.ndarray]:
    """How a column is brought to the scale of the others."""
    return np.asarray if merge is not None and merge.standardised else standardised


def _group_ranks(
    values: np.ndarray,
    rank: np.ndarray,
    groups: tuple[tuple[int, ...], ...],
    scale: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Rank of every row in every group, by the smallest rank inside it, and its largest standardised value there."""
    ranked, deviations = [], []
    for group in groups:
        deviation = np.max([scale(values[:, k]) for k in group], axis=0)
        ranked.append(rank[:, group[0]] if len(group) == 1 else _at_least(rank[:, list(group)].min(axis=1), deviation))
        deviations.append(deviation)
    return np.stack(ranked, axis=1), np.stack(deviations, axis=1)


def _at_least(smallest: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Number of rows at least as extreme as each: of smaller rank, or of the same and as large a deviation."""
    order = np.lexsort((-deviation, smallest))
    small, large = smallest[order], deviation[order]
    with np.errstate(invalid="ignore"):  # infinity beside infinity is equal
        apart = (small[1:] > small[:-1]) | (large[:-1] - large[1:] > _TOLERANCE)
    return _competition_ranks(order, apart)


def _competition_ranks(order: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Position, from 1, of the last of the entries that are equal to each, for entries in an order."""
    last = np.flatnonzero(np.append(apart, True))
    result = np.empty(len(order), dtype=np.int64)
    result[order] = last[np.searchsorted(last, np.arange(len(order)))] + 1
    return result


def family_wise_pvalues(rank: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """P-values of many families, corrected for the choice among all of them (Westfall-Young, step-down min-p).

    An entry of the table is the more extreme the smaller its rank in its column, and among equal ranks the larger its
    deviation. Columns are taken in the order of their observed entries, the most extreme first. The p-value of a column
    is the share of rows whose most extreme entry, over this column and those that come after it, is at least as extreme
    as the observed entry of the column; or that of a column before it, if that is larger.

    Parameters
    ----------
    rank, deviation : numpy.ndarray of shape (B + 1, G)
        Of every family what `merged_ranks` gives; row 0 is observed. All columns belong to the same draws.

    Returns
    -------
    numpy.ndarray of shape (G,)
        Never 0: row 0 counts itself.

    Notes
    -----
    *Strong control, exact at every B and n.* Let C be the columns whose null hypothesis is true, whatever the others
    are, and let the rows of the table that C leaves be exchangeable. Of C let c be the column that is first in the
    observed order: its observed entry is the most extreme of C. When its turn comes no column of C was taken before, so
    that what is left contains C, and the most extreme entry of a row over what is left is at least as extreme as that
    over C. Hence ``p_c >= #{rows whose most extreme entry over C is at least as extreme as that of row 0} / (B + 1)``,
    which exchangeable rows have at or below a with probability at most a. P-values do not fall in the order, so that
    no column of C is rejected unless c is: the chance that any true null hypothesis is rejected is at most the level.
    Both orders, within a column and among columns, are symmetric in the rows, as exchangeability asks.

    That the rows of C are exchangeable whatever the others are (subset pivotality) holds where the entries of a column
    depend on nothing but the outcomes of its own rows: given the predictions, outcomes of rows whose predictions are
    right, observed and redrawn, are independent with one law, and outcomes of other rows are in no entry of C.

    Cost: O(B G).

    References
    ----------
    Westfall and Young (1993), section 2.6 and algorithm 2.8.
    """
    order = np.lexsort((-deviation[0], rank[0]))
    smallest = np.full(len(rank), len(rank) + 1, dtype=np.int64)
    strongest = np.full(len(rank), -np.inf)
    pvalues = np.empty(rank.shape[1])
    for column in order[::-1]:
        own, far = rank[:, column], deviation[:, column]
        strongest = np.where(own < smallest, far, np.where(own == smallest, np.maximum(strongest, far), strongest))
        smallest = np.minimum(smallest, own)
        tied = (smallest == own[0]) & (strongest >= far[0] - _TOLERANCE)
        pvalues[column] = ((smallest < own[0]) | tied).mean()
    pvalues[order] = np.maximum.accumulate(pvalues[order])
    return pvalues


def standardised(column: np.ndarray) -> np.ndarray:
    """Standardise by mean and spread of all finite rows, the observed one included; infinity stays infinite."""
    finite = column[np.isfinite(column)]
    spread = finite.std() if len(finite) else 0.0
    if spread == 0:
        return np.where(np.isfinite(column), 0.0, np.inf)
    return (column - finite.mean()) / spread
