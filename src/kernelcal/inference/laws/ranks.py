"""Ranks among draws, and several ranks as one p-value: exact, since observed and drawn rows are exchangeable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelcal.statistics import Merge

__all__ = ["decisive", "family_wise_pvalues", "merged_pvalue", "ranks", "standardised"]


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

    Rows with the same smallest rank are ordered by their largest standardised value: otherwise every statistic's
    largest draw would tie with the observed row, and S statistics could never say less than S / (B + 1). Both
    orders are symmetric functions of the rows, which are exchangeable under the null, so the p-value
    ``#{b at least as extreme as row 0} / (B + 1)`` is exact, whatever the groups and weights. For one statistic it is
    the rank itself.

    Parameters
    ----------
    values, rank : numpy.ndarray of shape (B + 1, S)
        Row 0 is observed.
    merge : Merge, optional
        Which statistics are ranked together and how much each group weighs; default each by itself, all alike.

    Returns
    -------
    float
    """
    groups, weights = _parts(values, merge)
    columns, deviation = _group_ranks(values, rank, groups, _scale(merge))
    if len(groups) == 1:
        return float(columns[0, 0] / len(rank))
    smallest = (columns / weights).min(axis=1)
    return float(_at_least(smallest, deviation.max(axis=1))[0] / len(rank))


def decisive(values: np.ndarray, rank: np.ndarray, merge: Merge | None = None) -> int:
    """Position of the statistic that decides the p-value of row 0; of equal ones, that which deviates most.

    Groups whose observed value no draw reaches are equal, whatever their weights: ranks say no more of them.
    """
    groups, weights = _parts(values, merge)
    scale = _scale(merge)
    columns, deviation = _group_ranks(values, rank, groups, scale)
    score = np.where(columns[0] == 1, 0.0, columns[0] / weights)
    group = groups[min(range(len(groups)), key=lambda g: (score[g], -deviation[0, g]))]
    own = {k: -scale(values[:, k])[0] for k in group}
    return min(group, key=lambda k: (rank[0, k], own[k]))


def _parts(values: np.ndarray, merge: Merge | None) -> tuple[tuple[tuple[int, ...], ...], np.ndarray]:
    merge = Merge.of_each(values.shape[1]) if merge is None else merge
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
