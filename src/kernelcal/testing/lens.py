"""The check of a lens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
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

__all__ = ["check_lens"]


def check_lens(lens: Lens, *, predictions: Any = None, libraries: Iterable[str] = LIBRARIES) -> None:
    """Check that a lens keeps the contract of `kernelcal.lenses.Lens`.

    What is predicted for the simpler question is what follows from the predictions: the probability of a new label is
    the sum over the labels that become it. Otherwise a calibrated model would look miscalibrated through the lens. A row
    is seen as if it were alone; the rule for labels takes many sets of them; library, names, notes and question are kept
    or said; settings never change.

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
