"""Which rows are held out together: folds of alike classes, whole clusters, or stretches of time."""

from __future__ import annotations

import numpy as np

from kernelcal.dependence import Dependence
from kernelcal.errors import InputError

__all__ = ["Fold", "blocks_of", "folds_of", "refused_folds"]

Fold = tuple[np.ndarray, np.ndarray]  # rows to fit to, rows that are held out


def folds_of(targets: np.ndarray, number: int, rng: np.random.Generator, rows: Dependence | None) -> list[Fold]:
    """Return pairs of rows to fit to and rows to look at, so that no row is looked at by a fit that it had a part in.

    Parameters
    ----------
    targets : numpy.ndarray of shape (n,)
        Class labels, whose shares are alike in all folds; of numbers zeros.
    number : int
        Folds.
    rng : numpy.random.Generator
        Deals the rows.
    rows : Dependence or None
        Clusters are dealt whole, the largest first, each to the fold with the fewest rows. Rows of series are cut into
        stretches of time, and rows less than a horizon from one are left out of its fit.
    """
    n = len(targets)
    if rows is not None and rows.clusters is not None:
        fold = _clusters_dealt(rows.clusters, number, rng)
    elif rows is not None and rows.overlap:
        return _stretches(rows, number)
    else:
        order = rng.permutation(n)
        order = order[np.argsort(targets[order], kind="stable")]
        fold = np.empty(n, dtype=np.int64)
        fold[order] = np.arange(n) % number
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(number) if (fold == k).any()]


def refused_folds(folds: list[Fold]) -> list[Fold]:
    """Refuse folds one of which leaves no row to fit to: one cluster, or a horizon as long as the series."""
    if not folds or min(len(fit) for fit, _ in folds) == 0:
        raise InputError(
            "rows that depend on each other leave none to fit to while others are held out: a map takes several "
            "clusters, or a series that is much longer than the horizon; more of these are needed"
        )
    return folds


def _clusters_dealt(clusters: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    sizes = np.bincount(clusters)
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    full, fold = np.zeros(number), np.empty(len(sizes), dtype=np.int64)
    for cluster in order:
        fold[cluster] = int(full.argmin())
        full[fold[cluster]] += sizes[cluster]
    return fold[clusters]


def _moments(rows: Dependence) -> np.ndarray:
    return rows.time if rows.moment is None else rows.moment


def _stretches(rows: Dependence, number: int) -> list[Fold]:
    moment = _moments(rows)
    edges = np.quantile(moment, np.linspace(0, 1, number + 1)[1:-1])
    fold, found = np.searchsorted(edges, moment, side="right"), []
    for k in range(number):
        held = np.flatnonzero(fold == k)
        if len(held):
            low, high = moment[held].min() - rows.horizon, moment[held].max() + rows.horizon
            fit = np.flatnonzero((fold != k) & ((moment <= low) | (moment >= high)))
            found.append((fit, held))
    return found


def blocks_of(n: int, number: int, rng: np.random.Generator, rows: Dependence | None) -> list[Fold]:
    """Return pairs of the rows of all blocks before, and the rows of a block, for blocks 2 to `number`.

    Blocks are shuffled rows, whole clusters, or stretches of time in their order; what overlaps with a block is left
    out of the rows before it.
    """
    if rows is None or (rows.clusters is None and not rows.overlap):
        block = np.empty(n, dtype=np.int64)
        block[rng.permutation(n)] = np.arange(n) * number // n
        if rows is not None:  # one-step forecasts, in the order of time
            block = np.argsort(np.argsort(_moments(rows), kind="stable"), kind="stable") * number // n
    elif rows.clusters is not None:
        block = _clusters_dealt(rows.clusters, number, rng)
    else:
        moment = _moments(rows)
        block = np.searchsorted(np.quantile(moment, np.linspace(0, 1, number + 1)[1:-1]), moment, side="right")
        parts = [(block == k, moment[block == k].min(initial=moment.max() + 1)) for k in range(1, number)]
        return [
            (np.flatnonzero((moment <= begin - rows.horizon) & ~held), np.flatnonzero(held))
            for held, begin in parts
            if held.any()
        ]
    return [(np.flatnonzero(block < k), np.flatnonzero(block == k)) for k in range(1, number) if (block == k).any()]
