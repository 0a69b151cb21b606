"""The checks of what asks a question of predictions: a binning of rows, and a lens."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.binning import Binning, Bins
from kernelcal.lenses import Lens, View
from kernelcal.predictions import Categorical, ClassPredictions, Normal
from kernelcal.testing.contract import (
    LIBRARIES,
    claim,
    close,
    contract,
    installed,
    read_only,
    refused,
    same_library,
    settings_are_fixed,
    untouched,
)

__all__ = ["check_binning", "check_lens"]


def check_binning(
    binning: Binning, *, columns: Iterable[int] = (1, 3), refuses: Iterable[int] = (), rows: int = 40
) -> None:
    """Check that a binning keeps the contract of `kernelcal.binning.Binning`.

    Every row has one bin, 0 and 1 included; equal predictions share a bin; the order of the rows changes nothing; of
    one probability the bins are in the order of the values and their edges hold what is inside; what it is not made
    for is refused; settings never change.

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
            _check_bins(binning, p)
    for d in refuses:
        with contract(binning, f"{d} probabilities a row are refused with the remedy"):
            refused(partial(binning.assign, np.full((rows, d), 1 / d)), f"an array of shape ({rows}, {d})")


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


def _check_bins(binning: Binning, p: np.ndarray) -> None:
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


def check_lens(lens: Lens, *, predictions: Any = None, libraries: Iterable[str] = LIBRARIES) -> None:
    """Check that a lens keeps the contract of `kernelcal.lenses.Lens`.

    What is predicted for the simpler question is what follows from the predictions: the probability of a new label is
    the sum over the labels that become it. Otherwise a calibrated model would look miscalibrated through the lens. A
    row is seen as if it were alone; the rule for labels takes many sets of them; library, names, notes and question
    are kept or said; settings never change.

    Parameters
    ----------
    lens : Lens
        An instance.
    predictions : ClassPredictions, optional
        What it looks at; default 30 rows of 4 classes, with certain and tied ones.
    libraries : iterable of str, optional
        As for `check_kernel`.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.testing import check_lens
    >>> check_lens(kc.TopLabel())
    >>> check_lens(kc.Groups(["x", "x", "z", "z"]))
    """
    with contract(lens, "a lens derives from kernelcal.lenses.Lens"):
        claim(isinstance(lens, Lens), f"it is a {type(lens).__name__}")
    settings_are_fixed(lens, key=False)
    batch = read_only(_batch() if predictions is None else predictions)
    n, m = len(batch), batch.n_classes
    with untouched(predictions=batch), contract(lens, "view(predictions) returns a kernelcal.lenses.View"):
        seen = lens.view(batch)
        claim(isinstance(seen, View), f"it returned {type(seen).__name__}")
    new = seen.predictions
    with contract(lens, "the simpler predictions are ClassPredictions with as many rows, of at least 2 classes"):
        claim(isinstance(new, ClassPredictions), f"they are {type(new).__name__}")
        claim(len(new) == n, f"they have {len(new)} rows for {n}")
        claim(new.n_classes >= 2, f"they have {new.n_classes} classes")
        q = to_numpy(new.probabilities)
        claim(q.shape == (n, new.n_classes), f"probabilities have shape {q.shape}")
        claim(q.min() >= -1e-12 and np.allclose(q.sum(axis=1), 1, atol=1e-9), "probabilities are no distribution")
        claim(q.dtype == to_numpy(batch.probabilities).dtype, f"probabilities are {q.dtype}")
    with contract(lens, "the simpler predictions say what is asked: question is a text"):
        claim(isinstance(new.question, str) and new.question, f"it is {new.question!r}")
        claim(new.notes == batch.notes, f"notes are {new.notes!r}, expected those of the predictions")
    _check_labels(lens, seen, n, m, new.n_classes)
    with contract(lens, "the probability of a new label is the sum over the labels that become it"):
        close(q, _pushed_forward(batch, seen), rtol=1e-10, atol=1e-12, what="a probability")
    with contract(lens, "a row is seen as if it were alone"):
        whole = np.stack([np.asarray(seen.relabel(np.full(n, k))) for k in range(m)])
        for row in range(n):
            part = lens.view(batch[row : row + 1])
            close(part.predictions.probabilities, q[row : row + 1], rtol=1e-12, what=f"a probability of row {row}")
            found = [int(part.relabel(np.array([k]))[0]) for k in range(m)]
            claim(found == whole[:, row].tolist(), f"labels of row {row} become {found}, in the batch {whole[:, row]}")
    with contract(lens, "lens(y, predictions) gives targets and predictions for any statistic or test"):
        y = batch.sample(0)[0]
        labels, given = lens(np.array([batch.class_name(k) for k in y]), batch)
        claim(np.array_equal(labels, seen.relabel(y)), "the targets are not those of relabel")
        close(given.probabilities, q, rtol=1e-12, what="a probability")
    for name, move in installed(libraries):
        with contract(lens, f"{name} gives the same probabilities, as its own arrays"):
            moved = batch.map_arrays(move)
            found = lens.view(moved).predictions.probabilities
            same_library(found, moved.reference, "probabilities")
            close(found, q, rtol=1e-6, atol=1e-7)
    with contract(lens, "predictions of numbers are refused with the remedy"):
        refused(lambda: lens(np.zeros(3), Normal(np.zeros(3), 1.0)), "a batch of Normal")


def _batch() -> Categorical:
    p = np.random.default_rng(0).dirichlet([0.6, 1, 1, 2], 30)
    p[3], p[4], p[5] = np.eye(4)[1], np.full(4, 0.25), [0.4, 0.4, 0.1, 0.1]
    return Categorical(p, classes=("a", "b", "c", "d"), notes=("a note",))


def _check_labels(lens: Lens, seen: View, n: int, m: int, number: int) -> None:
    labels = np.random.default_rng(1).integers(0, m, (7, n))
    labels.setflags(write=False)
    with untouched(labels=labels), contract(lens, f"relabel turns labels into whole numbers from 0 to {number - 1}"):
        found = seen.relabel(labels)
        claim(np.shape(found) == (7, n), f"7 sets of labels, shape (7, {n}), gave shape {np.shape(found)}")
        claim(np.asarray(found).dtype.kind in "iu", f"they are {np.asarray(found).dtype}")
        low, high = int(found.min()), int(found.max())
        claim(low >= 0 and high < number, f"they go from {low} to {high} for {number} classes")
    with contract(lens, "many sets of labels are relabelled set by set, in any type of whole numbers"):
        for b in range(7):
            claim(np.array_equal(seen.relabel(labels[b]), found[b]), f"set {b} alone gives other labels")
        claim(np.array_equal(seen.relabel(labels.astype(np.uint8)), found), "labels in uint8 give others than in int64")


def _pushed_forward(batch: ClassPredictions, seen: View) -> np.ndarray:
    """Sum, row by row, the probabilities of all labels into those that they become."""
    p = to_numpy(batch.probabilities)
    q = np.zeros((len(batch), seen.predictions.n_classes))
    for k in range(batch.n_classes):
        becomes = seen.relabel(np.full(len(batch), k))
        for row in range(len(batch)):
            q[row, becomes[row]] += p[row, k]
    return q
