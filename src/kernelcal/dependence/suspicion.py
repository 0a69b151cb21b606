"""Whether rows look as if they depended on each other: neighbours in the file, and rows with the same prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.dependence.structure import Dependence
from kernelcal.predictions import ClassPredictions, Predictions, Quantiles, ScorePredictions
from kernelcal.randomness import generator_of

__all__ = ["suspicions", "suspicious_labels", "suspicious_series"]


_LEVEL = 0.01  # at which it is said
_BINS, _EACH = 20, 20  # bins of predictions at most, and rows in each at least
_FEWEST = 30  # rows, below which nothing is looked for
_PERMUTATIONS, _FEW_PERMUTATIONS, _MANY = 999, 299, 2_000  # of residuals, and of more than so many
_STRETCHES, _LENGTH = 20, 1_000  # of consecutive rows that stand for very many
_ROUNDING = 1e-9  # of the largest residual
_FAR = 10.0  # predicted standard deviations, that count at most
_CLIP = 1e-3  # of probabilities, by whose spread residuals are divided
_REPEATED = 40  # groups of equal predictions, at least
_LABELS = 10  # that are there more than once, at least
_FEWEST_TIMES = 10  # at which series are compared
_COLUMNS = 50  # numbers by which predictions are told apart


def suspicions(predictions: Predictions, targets: np.ndarray, weights: np.ndarray | None = None) -> tuple[str, ...]:
    """Sentences about rows that look dependent, with the option that allows for it; none where nothing is seen.

    Residuals are outcomes less what was predicted in predicted standard deviations, of several classes whether the
    first choice was right, less straight lines in 20 bins of the prediction: what a wrong model does to all alike is no
    dependence. Of events and counts the lines are those of the outcomes before they are divided: where nothing
    happened, ``-p / sqrt(p (1 - p))`` is a curve, which rows in order of p would share.

    - Neighbours: the sum of products of residuals of consecutive rows, among permutations. Not where outcomes are
      sorted.
    - Equal predictions: the sum over groups of rows with the same prediction of products inside, among permutations.

    Parameters
    ----------
    predictions : Predictions
        In NumPy.
    targets : numpy.ndarray of shape (n,), or (n, d)
        Outcomes.
    weights : numpy.ndarray of shape (n,), optional
        Case weights; rows of weight 0 are not looked at.

    Returns
    -------
    tuple of str
        At most two; each is wrong in at most about one of a hundred files with independent rows.

    Notes
    -----
    Cost: a sort, and up to 999 permutations of up to 2,000 residuals, 299 of up to 20,000; of more rows 20 stretches
    are looked at.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.dependence import suspicions
    >>> y = np.repeat(np.random.default_rng(0).integers(0, 2, 40), 10)
    >>> suspicions(kc.Bernoulli(np.full(400, 0.5)), y)[0][:29]
    'neighbouring rows deviate ali'
    """
    kept = _looked_at(len(targets))
    kept = kept if weights is None else kept[weights[kept] > 0]
    if len(kept) < _FEWEST or isinstance(predictions, ScorePredictions):
        return ()
    every = len(kept) == len(targets)
    y = targets if every else targets[kept]
    residuals, described = _residuals(predictions if every else predictions[kept], y)
    e, rng = residuals.less_bins(), generator_of(0, "permutations of residuals")
    return (*_of_neighbours(e, y, rng), *_of_equal(e, described[:, :_COLUMNS], rng))


def suspicious_labels(predictions: Predictions, targets: np.ndarray, labels: Mapping[str, np.ndarray]) -> str:
    """Return a sentence about the first column whose equal labels deviate alike; empty where none does.

    Parameters
    ----------
    predictions, targets
        As for `suspicions`; not of densities without residuals.
    labels : mapping of str to numpy.ndarray of int, shape (n,)
        Numbers of the labels of every row, by the name of the column. Columns of few labels, or where hardly any is
        there twice, are not looked at.

    Notes
    -----
    Each column is tested at 1 % divided by the number of those looked at, by the sum over groups of `suspicions`, in
    rows of as many labels as have 20,000 rows.
    """
    few = len(targets) < _FEWEST or isinstance(predictions, ScorePredictions)
    looked = {} if few else {name: codes for name, codes in labels.items() if _are_groups(codes)}
    for name, codes in looked.items():
        rows = _of_some_labels(codes)
        residuals, _ = _residuals(predictions[rows], targets[rows])
        e, index = residuals.less_bins(), np.unique(codes[rows], return_inverse=True)[1].ravel()
        if e.any() and _unusual(e, partial(_within, index), generator_of(0, "labels of subjects"), len(looked)):
            number = int((np.bincount(codes) > 1).sum())
            return (
                f"rows of one {name} deviate alike ({number:,} are there more than once), and p-values that take rows "
                f"as independent can be far too small: say --clusters {name} (clusters=) if it names what rows share"
            )
    return ""


def suspicious_series(predictions: Predictions, targets: np.ndarray, rows: Dependence) -> tuple[str, ...]:
    """Return a sentence if series that are taken as independent of each other deviate alike at the same times.

    Parameters
    ----------
    predictions, targets
        As for `suspicions`.
    rows : Dependence
        Series and times.

    Notes
    -----
    The sum over times of the squared sum of residuals at that time, among the same where each series is turned by a
    random number of steps: what series do by themselves stays, and what they do together does not. At 1 %.
    """
    several = rows.clusters is None and rows.moment is not None and rows.groups > 1
    if not several or len(targets) < _FEWEST or isinstance(predictions, ScorePredictions):
        return ()
    assert rows.moment is not None  # for the type checker
    index = np.unique(rows.moment, return_inverse=True)[1].ravel()
    if np.bincount(index).max() < 2 or int(index.max()) < _FEWEST_TIMES:
        return ()
    residuals, _ = _residuals(predictions, targets)
    order = np.lexsort((index, rows.series))
    e, index = residuals.less_bins()[order], index[order]
    turned = _Turned(e, np.bincount(rows.series))
    if not e.any() or not _unusual(e, partial(_within, index), generator_of(0, "turned series"), redrawn=turned):
        return ()
    return (
        f"the {rows.groups:,} series deviate alike at the same times, and a p-value that takes them as independent of "
        "each other can be far too small: say clusters= (--clusters) of the times where no forecasts overlap, or test "
        "one series at a time",
    )


@dataclass(frozen=True)
class _Turned:
    """Residuals of every series, one after the other, each turned by a random number of rows."""

    e: np.ndarray
    lengths: np.ndarray

    def __call__(self, rng: np.random.Generator) -> np.ndarray:
        first = np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)
        length = np.repeat(self.lengths, self.lengths)
        by = np.repeat(rng.integers(0, self.lengths), self.lengths)
        return np.asarray(self.e[first + (np.arange(len(self.e)) - first + by) % length])


def _are_groups(codes: np.ndarray) -> bool:
    """Whether many labels are there more than once, and none very often."""
    count = np.unique(codes, return_counts=True)[1]
    several = count[count > 1]
    return bool(len(several) >= _LABELS and several.sum() >= len(codes) / 4 and count.max() <= len(codes) / 4)


def _of_some_labels(codes: np.ndarray) -> np.ndarray:
    """All rows, or those of as many labels, drawn at random, as very many rows have."""
    if len(codes) <= _STRETCHES * _LENGTH:
        return np.arange(len(codes))
    labels, index, count = np.unique(codes, return_inverse=True, return_counts=True)
    order = generator_of(0, "labels that are looked at").permutation(len(labels))
    chosen = np.zeros(len(labels), dtype=bool)
    chosen[order[np.cumsum(count[order]) <= _STRETCHES * _LENGTH]] = True
    return np.flatnonzero(chosen[index])


def _within(index: np.ndarray, values: np.ndarray) -> float:
    """Sum over groups of the squared sum of values."""
    return float((np.bincount(index, values) ** 2).sum())


def _looked_at(n: int) -> np.ndarray:
    """All rows, or evenly spaced stretches of consecutive ones where there are very many."""
    if n <= _STRETCHES * _LENGTH:
        return np.arange(n)
    starts = np.linspace(0, n - _LENGTH, _STRETCHES).astype(np.intp)
    return (starts[:, None] + np.arange(_LENGTH)).ravel()


@dataclass(frozen=True)
class _Residuals:
    """What deviates, one number a row, before it is divided by its spread, and the number by which rows are binned."""

    outcome: np.ndarray
    key: np.ndarray
    spread: np.ndarray

    def less_bins(self) -> np.ndarray:
        """Outcomes less a straight line in every bin of predictions, over spreads; equal predictions share a bin.

        Each row counts in its line as it will be divided. Rows without spread have the residual 0, and so do those
        whose line is what happened, up to rounding.
        """
        number = max(1, min(_BINS, len(self.key) // _EACH))
        edges = np.quantile(self.key, np.arange(1, number) / number)
        index = np.searchsorted(edges, self.key, side="right")
        each = np.where(self.spread > 0, 1 / np.where(self.spread > 0, self.spread, 1.0), 0.0)
        weight = each**2
        total = np.bincount(index, weight, number)
        total = np.where(total > 0, total, 1.0)

        def centred(values: np.ndarray) -> np.ndarray:
            return np.asarray(values - (np.bincount(index, weight * values, number) / total)[index])

        y, x = centred(self.outcome), centred(self.key)
        spread = np.bincount(index, weight * x * x, number)
        slope = np.bincount(index, weight * x * y, number) / np.where(spread > 0, spread, 1.0)
        e = (y - slope[index] * x) * each
        return np.asarray(np.where(np.abs(e) > _ROUNDING * np.abs(self.outcome * each).max(), e, 0.0))


def _residuals(batch: Any, y: np.ndarray) -> tuple[_Residuals, np.ndarray]:
    """Return what deviates, and all numbers that describe each prediction, shape (n, k)."""
    if isinstance(batch, ClassPredictions):
        p = batch.table().astype(np.float64, copy=False)
        if p.shape[1] == 2:
            chosen, hit = p[:, 1], y == 1
        else:
            first = p.argmax(axis=1)
            chosen, hit = p[np.arange(len(p)), first], y == first
        held = np.clip(chosen, _CLIP, 1 - _CLIP)
        return _Residuals(hit.astype(np.float64), chosen, np.sqrt(held * (1 - held))), p
    if isinstance(batch, Quantiles):
        values, levels = to_numpy(batch.values).astype(np.float64), to_numpy(batch.levels)
        e, key = (values < y[:, None]).mean(axis=1) - (1 - levels).mean(), values[:, values.shape[1] // 2]
        return _Residuals(e, key, np.ones(len(y))), values
    centre, width = (to_numpy(x).astype(np.float64).reshape(len(y), -1) for x in (batch.centre, batch.width))
    described = np.concatenate([centre, width], axis=1)
    if centre.shape[1] == 1 and not batch.continuous:
        middle, spread = centre[:, 0], width[:, 0]
        return _Residuals(
            np.clip(y.reshape(-1), middle - _FAR * spread, middle + _FAR * spread), middle, spread
        ), described
    e = np.clip(batch.standardised(y).reshape(len(y), -1), -_FAR, _FAR).mean(axis=1)
    return _Residuals(e, centre.mean(axis=1), np.ones(len(y))), described


def _of_neighbours(e: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[str, ...]:
    steps = np.diff(y.astype(np.float64), axis=0)
    if y.ndim == 1 and steps.any() and ((steps >= 0).all() or (steps <= 0).all()):
        return ()
    e = e / max(float(np.abs(e).max()), 1e-300)
    if not e.any() or not _unusual(e, _of_products, rng):
        return ()
    return (
        f"neighbouring rows deviate alike (correlation {e[:-1] @ e[1:] / (e @ e):.2f}), and p-values that take rows as "
        "independent can be far too small: say horizon= (--horizon) where forecasts look several steps ahead, "
        "clusters= (--clusters) where rows share a subject",
    )


def _of_products(e: np.ndarray) -> float:
    """Sum of products of neighbours over its own noise, which is not the same everywhere in a sorted file."""
    products = e[:-1] * e[1:]
    return float(products.sum() / max(float(np.sqrt(products @ products)), 1e-300))


def _of_equal(e: np.ndarray, described: np.ndarray, rng: np.random.Generator) -> tuple[str, ...]:
    """Rows with equal predictions, where these are many small groups."""
    _, index, count = np.unique(described, axis=0, return_inverse=True, return_counts=True)
    index, groups = index.ravel(), int((count > 1).sum())
    if groups < _REPEATED or count.max() > len(e) / _REPEATED or not e.any():
        return ()
    if not _unusual(e, partial(_within, index), rng):
        return ()
    return (
        f"rows with the same prediction deviate alike ({groups:,} groups of them), and p-values that take rows as "
        "independent can be far too small: say clusters= (--clusters) where rows share a subject, a question or a race",
    )


def _unusual(
    e: np.ndarray,
    statistic: Callable[[np.ndarray], float],
    rng: np.random.Generator,
    among: int = 1,
    redrawn: Callable[[np.random.Generator], np.ndarray] | None = None,
) -> bool:
    """Whether a statistic of residuals, one among several, is as large for one in a hundred permutations at most."""
    observed, number = statistic(e), among * (_PERMUTATIONS if len(e) <= _MANY else _FEW_PERMUTATIONS)
    above, most = 0, _LEVEL / among * (1 + number) - 1
    for _ in range(number):
        above += statistic(rng.permutation(e) if redrawn is None else redrawn(rng)) >= observed
        if above > most:  # soon, where nothing is unusual
            return False
    return True
