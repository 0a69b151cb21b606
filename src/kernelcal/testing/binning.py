"""The check of a binning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kernelcal.binning import Binning, Bins
from kernelcal.testing.contract import claim, close, contract, refused, settings_are_fixed, untouched

__all__ = ["check_binning"]


def check_binning(
    binning: Binning, *, columns: Iterable[int] = (1, 3), refuses: Iterable[int] = (), rows: int = 40
) -> None:
    """Check that a binning keeps the contract of `kernelcal.binning.Binning`.

    Every row has one bin, 0 and 1 included; equal predictions share a bin; the order of the rows changes nothing; of one
    probability the bins are in the order of the values and their edges hold what is inside; what it is not made for is
    refused; settings never change.

    Parameters
    ----------
    binning : Binning
        An instance.
    columns : iterable of int
        Numbers of probabilities a row that it takes: 1, and more for the whole simplex.
    refuses : iterable of int
        Numbers of probabilities a row that it must refuse.
    rows : int
        Number of rows that are put into bins.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.testing import check_binning
    >>> check_binning(kc.EqualMassBins(5), columns=[1], refuses=[3])
    """
    with contract(binning, "a binning derives from kernelcal.binning.Binning"):
        claim(isinstance(binning, Binning), f"it is a {type(binning).__name__}")
    settings_are_fixed(binning, key=False)
    with contract(binning, "str(binning) is what results print"):
        claim(str(binning).strip() and str(binning) != repr(binning), f"it is {str(binning)!r}: define __str__")
    for d in columns:
        for p in _batches(rows, d):
            _check_batch(binning, p)
    for d in refuses:
        with contract(binning, f"{d} probabilities a row are refused with the remedy"):
            refused(lambda d=d: binning.assign(np.full((rows, d), 1 / d)), f"an array of shape ({rows}, {d})")


def _batches(n: int, d: int) -> Iterable[np.ndarray]:
    """Smooth values, values with many ties, one value alone, the ends, and single precision."""
    rng = np.random.default_rng(d)
    if d == 1:
        values = [rng.random(n), rng.choice([0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0], n), np.full(n, 0.4)]
        values += [np.r_[0.0, 1.0, rng.beta(0.2, 0.2, n - 2)], np.linspace(0, 1, n)]
        smooth = [x[:, None] for x in values]
    else:
        smooth = [rng.dirichlet(np.full(d, c), n) for c in (0.3, 2.0)]
        smooth.append(np.vstack([np.eye(d), rng.dirichlet(np.ones(d), n - d)]))
        smooth[0][3] = smooth[0][4] = smooth[0][5]
    yield from smooth
    yield smooth[0].astype(np.float32)


def _check_batch(binning: Binning, p: np.ndarray) -> None:
    n, d = p.shape
    p.setflags(write=False)
    with untouched(p=p), contract(binning, f"assign(p) takes predictions of shape ({n}, {d}) in {p.dtype}"):
        bins = binning.assign(p)
        claim(isinstance(bins, Bins), f"it returned {type(bins).__name__}, expected kernelcal.binning.Bins")
        size, index = bins.size, bins.index
    with contract(binning, "every row has a bin: index has shape (n,), whole numbers from 0 to size - 1"):
        claim(isinstance(index, np.ndarray) and index.shape == (n,), f"index has shape {np.shape(index)} for {n} rows")
        claim(index.dtype.kind in "iu", f"index is {index.dtype}")
        claim(isinstance(size, int | np.integer) and size >= 1, f"size is {size!r}")
        claim(
            index.min() >= 0 and index.max() < size, f"index goes from {index.min()} to {index.max()}, size is {size}"
        )
        claim(bins.count.sum() == n, f"the bins hold {bins.count.sum()} of {n} rows")
    with contract(binning, "equal predictions share a bin"):
        _, first, group = np.unique(p, axis=0, return_index=True, return_inverse=True)
        wrong = np.flatnonzero(index != index[first][group.reshape(-1)])
        claim(not len(wrong), f"row {wrong[:1]} equals an earlier row and is in another bin")
    with contract(binning, "the order of the rows changes nothing"):
        order = np.random.default_rng(1).permutation(n)
        again = binning.assign(np.ascontiguousarray(p[order]))
        claim(_partition(again.index) == _partition(index[order]), "a permutation of the rows gave other bins")
        claim(np.array_equal(binning.assign(p).index, index), "the same rows gave other bins when asked again")
    if d == 1:
        _check_order(binning, p[:, 0].astype(np.float64), bins)
    with contract(binning, "case weights are taken, or refused with the remedy"):
        try:
            equal = binning.assign(p, np.ones(n))
        except Exception:
            refused(lambda: binning.assign(p, np.ones(n)), "case weights")
        else:
            claim(_partition(equal.index) == _partition(index), "weights of 1 gave other bins than no weights")


def _check_order(binning: Binning, p: np.ndarray, bins: Bins) -> None:
    with contract(binning, "of one probability, bins are in the order of the values"):
        order = np.argsort(p, kind="stable")
        back = np.flatnonzero(np.diff(bins.index[order].astype(np.int64)) < 0)
        claim(not len(back), f"{p[order][back[:1]]} and the next larger value are in bins that fall")
    with contract(binning, "of one probability, lower and upper have shape (size,) and hold what is inside"):
        lower, upper = bins.lower, bins.upper
        claim(lower is not None and upper is not None, "they are None")
        lower, upper = np.asarray(lower), np.asarray(upper)
        shape = (bins.size,)
        claim(
            lower.shape == upper.shape == shape, f"they have shapes {lower.shape} and {upper.shape}, size {bins.size}"
        )
        low, high = lower[bins.index], upper[bins.index]
        wrong = np.flatnonzero((p < low - 1e-6) | (p > high + 1e-6))
        where = int(wrong[0]) if len(wrong) else 0
        claim(not len(wrong), f"{p[where]:.6g} is in the bin from {low[where]:.6g} to {high[where]:.6g}")
        close(np.maximum(lower, upper), upper, what="an upper edge")


def _partition(index: np.ndarray) -> set[frozenset[Any]]:
    return {frozenset(np.flatnonzero(index == b).tolist()) for b in np.unique(index)}
