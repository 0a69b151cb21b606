"""What is bet on: cells of outcomes whose probabilities the predictions give, one kind of predictions a file's half."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import ClassPredictions, Quantiles, RealPredictions, Samples
from kernelcal.statistics import pit_intervals_of

__all__ = ["NAMES", "CellBets", "Kind", "bets_of", "kind_of", "mark_of"]


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

    @property
    def in_words(self) -> str:
        """What is watched, for messages."""
        if self.ordered:
            return f"{self.name} in {self.cells} cells"
        names = "" if self.names is None else f" ({', '.join(map(str, self.names[:5]))})"
        return f"{self.cells} classes{names}"

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
        What is known of the prediction; of ensembles what is known of members and outcome together, in no order.
    impossible : numpy.ndarray of bool, shape (n,)
        Outcomes that the prediction had ruled out.
    """

    p: np.ndarray
    low: np.ndarray
    high: np.ndarray
    features: np.ndarray
    impossible: np.ndarray

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, rows: Any) -> CellBets:
        return CellBets(*(getattr(self, name)[rows] for name in NAMES))

    def followed_by(self, others: CellBets) -> CellBets:
        """These rows, then others."""
        return CellBets(*(np.concatenate([getattr(self, name), getattr(others, name)]) for name in NAMES))


NAMES = tuple(CellBets.__annotations__)


def kind_of(case: Case) -> Kind:
    """Return what the predictions of a case are, or refuse them."""
    batch = case.predictions
    if isinstance(batch, ClassPredictions):
        names = None if batch.classes is None else tuple(map(_plain, batch.classes))
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


def _plain(name: Any) -> Any:
    """Name of a class as a file keeps it."""
    name = name.item() if isinstance(name, np.generic) else name
    return name if isinstance(name, str | int | float) else str(name)


def bets_of(case: Case, kind: Kind, uniforms: np.ndarray) -> tuple[CellBets, bool]:
    """Return what is bet on in the rows of a case, and whether ties or jumps made use of the uniform numbers."""
    batch, y = case.in_numpy.predictions, case.targets
    never, used = np.zeros(len(case), dtype=bool), False
    if isinstance(batch, ClassPredictions):
        p = np.asarray(batch.table(), dtype=np.float64)
        p = p / p.sum(axis=1, keepdims=True)
        labels = y.astype(np.int64)
        features = p[:, 1:] if kind.name == "binary" else p
        return CellBets(p, labels, labels, features, p[np.arange(len(p)), labels] == 0), used
    p = np.broadcast_to(kind.probabilities, (len(case), kind.cells))
    if isinstance(batch, Quantiles):
        q, codes = batch.cells.quantiles, batch.cells.codes(y.astype(np.float64)).astype(np.int64)
        never, codes = codes < 0, np.where(codes < 0, -1 - codes, codes)
        # with ties the claims do not tell which cell it is, and the least favourable counts
        low, high = codes // kind.cells, codes % kind.cells
        return CellBets(p, low, high, _places(q[:, q.shape[1] // 2], q[:, -1] - q[:, 0]), never), used
    if isinstance(batch, Samples):
        below, upto = (np.asarray(x, dtype=np.int64) for x in batch.rank_range(y))
        rank = below + (uniforms * (upto - below + 1)).astype(np.int64)
        # sorted: not even roundings tell which of the pool happened
        pool = np.sort(np.column_stack([np.asarray(batch.draws, dtype=np.float64), y]), axis=1)
        features = _places(pool.mean(axis=1), pool.std(axis=1))
        return CellBets(p, rank, rank, features, never), bool((upto > below).any())
    first, last = pit_intervals_of(case)
    u = first + uniforms * (last - first)
    cell = np.minimum((u * kind.cells).astype(np.int64), kind.cells - 1)
    return CellBets(p, cell, cell, _places(*_place_and_width(batch)), never), bool((last > first).any())


def mark_of(case: Case, bets: CellBets) -> int:
    """Return a number that other outcomes, or other predictions as far as they are known, hardly have."""
    first = zlib.crc32(np.asarray(case.targets, dtype=np.float64).tobytes())
    return zlib.crc32(bets.features.tobytes(), first)


def _place_and_width(batch: RealPredictions) -> tuple[np.ndarray, np.ndarray]:
    place, width = to_numpy(batch.mean).astype(np.float64), to_numpy(batch.std).astype(np.float64)
    return np.where(np.isfinite(place), place, 0.0), np.where(np.isfinite(width), width, 1.0)


def _places(place: np.ndarray, width: np.ndarray) -> np.ndarray:
    return np.column_stack([place, np.log(np.maximum(width, _LEAST_WIDTH))])
