"""What is bet on: cells of outcomes whose probabilities the predictions give, one kind of predictions a file's half."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Bernoulli, ClassPredictions, Quantiles, RealPredictions, Samples
from kernelcal.statistics import pit_intervals_of

__all__ = ["CellBets", "Kind", "bets_of", "kind_of"]


_CELLS = 20  # of probability integral transforms
_DEGREE = 4  # of polynomials of ordered cells
_LEAST_WIDTH = 1e-12


@dataclass(frozen=True)
class Kind:
    """What a monitor watches, fixed by its first rows.

    Attributes
    ----------
    name : str
        ``binary``, ``classes``, ``numbers``, ``quantiles`` or ``ensembles``.
    cells : int
        Number of cells J an outcome may lie in.
    levels : tuple of float
        Cumulative probabilities between ordered cells, J - 1; empty for classes.
    names : tuple or None
        Names of classes.
    """

    name: str
    cells: int
    levels: tuple[float, ...] = ()
    names: tuple[Any, ...] | None = None

    @property
    def ordered(self) -> bool:
        """Whether cells lie in the order of a number."""
        return bool(self.levels)

    @cached_property
    def edges(self) -> np.ndarray:
        """Normal scores of the levels with both infinite ends, shape (J + 1,)."""
        return np.concatenate([[-np.inf], ndtri(np.array(self.levels)), [np.inf]])

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Probabilities of ordered cells, the same in all rows."""
        return np.diff(np.concatenate([[0.0], self.levels, [1.0]]))

    @cached_property
    def basis(self) -> np.ndarray:
        """Directions of bets, shape (J, M): that of yes; every class; polynomials of the mean normal scores of cells.

        These are orthonormal under the probabilities of the cells, and have mean 0.
        """
        if self.name == "binary":
            return np.array([[0.0], [1.0]])
        if not self.ordered:
            return np.eye(self.cells)
        p, heights = self.probabilities, np.exp(-0.5 * self.edges**2) / np.sqrt(2 * np.pi)
        scores = (heights[:-1] - heights[1:]) / p
        degree = min(_DEGREE, self.cells - 1)
        powers = scores[:, None] ** np.arange(degree + 1)
        made = np.linalg.qr(np.sqrt(p)[:, None] * powers)[0] / np.sqrt(p)[:, None]
        made *= np.where(made[-1] < 0, -1.0, 1.0)
        return np.asarray(made[:, 1:])


@dataclass(frozen=True)
class CellBets:
    """Rows of one kind.

    Attributes
    ----------
    p : numpy.ndarray of shape (n, J)
        Probabilities of the cells.
    low, high : numpy.ndarray of int, shape (n,)
        First and last cell that the outcome may lie in; equal but for outcomes that equal a quantile.
    features : numpy.ndarray of shape (n, d)
        What is known of the prediction.
    """

    p: np.ndarray
    low: np.ndarray
    high: np.ndarray
    features: np.ndarray

    def __len__(self) -> int:
        return len(self.low)


def kind_of(case: Case) -> Kind:
    """Return what the predictions of a case are, or refuse them."""
    batch = case.predictions
    if isinstance(batch, ClassPredictions):
        names = None if batch.classes is None else tuple(batch.classes)
        return Kind("binary" if batch.n_classes == 2 else "classes", batch.n_classes, (), names)
    if isinstance(batch, Quantiles):
        return Kind("quantiles", len(batch.cells.taus) + 1, tuple(map(float, batch.cells.taus)))
    if isinstance(batch, Samples) and not batch.event_shape:
        if batch.weights is not None or batch.size < 2:
            raise InputError("ensembles are watched by ranks among two members or more of equal weight")
        cells = batch.size + 1
        return Kind("ensembles", cells, tuple(k / cells for k in range(1, cells)))
    if isinstance(batch, RealPredictions) and not batch.event_shape and batch.has_cdf:
        return Kind("numbers", _CELLS, tuple(k / _CELLS for k in range(1, _CELLS)))
    raise InputError(
        f"predictions of {type(batch).__name__} with targets of shape {batch.event_shape} cannot be watched: classes, "
        "laws of one number, quantiles and ensembles can; of vectors watch one coordinate at a time"
    )


def bets_of(case: Case, kind: Kind, rng: np.random.Generator) -> CellBets:
    """Return what is bet on in the rows of a case; `rng` breaks ties of ranks and of laws with jumps."""
    batch, y = case.in_numpy.predictions, case.targets
    if isinstance(batch, ClassPredictions):
        p = np.asarray(batch.table(), dtype=np.float64)
        p = p / p.sum(axis=1, keepdims=True)
        labels = y.astype(np.int64)
        return CellBets(p, labels, labels, p[:, 1:] if isinstance(batch, Bernoulli) or kind.cells == 2 else p)
    p = np.broadcast_to(kind.probabilities, (len(case), kind.cells))
    if isinstance(batch, Quantiles):
        q, low, high = batch.cells.quantiles, *_cells_of_quantiles(batch, y)
        middle, spread = q[:, q.shape[1] // 2], q[:, -1] - q[:, 0]
        return CellBets(p, low, high, _places(middle, spread))
    if isinstance(batch, Samples):
        below, upto = batch.rank_range(y)
        rank = below + (rng.random(len(y)) * (upto - below + 1)).astype(np.int64)
        pool = np.column_stack([np.asarray(batch.draws, dtype=np.float64), y])
        return CellBets(p, rank, rank, _places(pool.mean(axis=1), pool.std(axis=1)))
    first, last = pit_intervals_of(case)
    u = first + rng.random(len(y)) * (last - first)
    cell = np.minimum((u * kind.cells).astype(np.int64), kind.cells - 1)
    return CellBets(p, cell, cell, _places(*_place_and_width(batch)))


def _cells_of_quantiles(batch: Quantiles, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and last cell of every outcome: with ties the claims do not tell which, and the least favourable counts."""
    codes = batch.cells.codes(y)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise InputError(
            f"row {row}: the outcome lies outside the quantiles of the levels 0 and 1, which had ruled it out: this is "
            "proof against calibration; leave these levels out to watch the others"
        )
    return codes // (len(batch.cells.taus) + 1), codes % (len(batch.cells.taus) + 1)


def _place_and_width(batch: RealPredictions) -> tuple[np.ndarray, np.ndarray]:
    place, width = to_numpy(batch.mean).astype(np.float64), to_numpy(batch.std).astype(np.float64)
    return np.where(np.isfinite(place), place, 0.0), np.where(np.isfinite(width), width, 1.0)


def _places(place: np.ndarray, width: np.ndarray) -> np.ndarray:
    return np.column_stack([place, np.log(np.maximum(width, _LEAST_WIDTH))])
