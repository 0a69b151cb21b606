"""Calibration of three classes at once, as arrows in a triangle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.binning import Binning, MedianVarianceBins
from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.errors import InputError
from kernelcal.inference.draws import Draws
from kernelcal.plots import percent, simplex_plot
from kernelcal.predictions import ClassPredictions
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.statistics import ECE, BinnedEstimate, BinTable
from kernelcal.statistics.binned import BinnedPart
from kernelcal.tables import Grid, Shown

__all__ = ["SimplexCalibration", "simplex_calibration", "simplex_of"]


_SHOWN = 30


@dataclass(frozen=True, eq=False, repr=False)
class SimplexCalibration(Shown):
    """Mean predictions and frequencies of three classes in bins.

    Attributes
    ----------
    ece : BinnedEstimate
        Expected calibration error of these bins, all classes at once.
    names : tuple of str
        Of the classes.
    outside : numpy.ndarray of shape (b,)
        Bins whose gap is larger than any in a share ``confidence_level`` of calibrated models.
    points, outcomes : numpy.ndarray of shape (k, 3) and (k,)
        Predictions and outcomes that are drawn: all, or 2,000 of them.
    confidence_level : float
        Of `outside`.
    draws : int
        Draws behind it.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> found = kc.simplex_calibration(y, p, draws=99)
    >>> found.names, bool(found.outside.any())
    (('0', '1', '2'), True)
    """

    ece: BinnedEstimate
    names: tuple[str, ...]
    outside: np.ndarray
    points: np.ndarray
    outcomes: np.ndarray
    confidence_level: float
    draws: int

    @property
    def table(self) -> BinTable:
        """Counts, mean predictions and frequencies of the bins."""
        return self.ece.tables[0]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the points."""
        own = {
            "names": list(self.names),
            "outside": self.outside.tolist(),
            "confidence_level": self.confidence_level,
            "draws": self.draws,
        }
        return {"ece": self.ece.to_dict(), **own, **self.table.to_dict()}

    def plot(self, ax: Any = None) -> Any:
        """Draw the triangle.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        filled, t = self.table.weight > 0, self.table
        some = f" ({len(self.points):,} of them drawn)" if len(self.points) < self.ece.n else ""
        return simplex_plot(
            self.points,
            self.outcomes,
            self.names,
            starts=t.mean_prediction[filled],
            ends=t.frequency[filled],
            outside=self.outside[filled],
            confidence_level=self.confidence_level,
            title=f"Calibration of three classes, ECE {float(self.ece):.4f}",
            subtitle=f"{self.ece.n:,} rows{some}, {self.ece.options['bins']}",
            ax=ax,
        )

    def _table(self) -> Grid:
        t = self.table
        filled = np.flatnonzero(t.weight > 0)
        rows = [
            (
                f"{t.count[k]:,}",
                _numbers(t.mean_prediction[k]),
                _numbers(t.frequency[k]),
                "outside" if self.outside[k] else "",
            )
            for k in filled[:_SHOWN]
        ]
        more = (f"{len(filled) - _SHOWN} more bins are not shown",) if len(filled) > _SHOWN else ()
        words = f"outside: a larger gap than {percent(self.confidence_level)} of calibrated models have in any bin"
        head = ("rows", "mean prediction", "frequencies", "")
        return Grid(f"{self.ece.name} = {float(self.ece):.4f}", head, rows, (words, *more, *self.ece.notes))


def _numbers(values: np.ndarray) -> str:
    return " ".join(f"{value:.3f}" for value in values)


_NUMBERS = 2**22
_POINTS = 2000  # a vector picture of more is large, and shows no more


def simplex_calibration(
    y: Any,
    predictions: Any,
    *,
    bins: Binning | int | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
    weights: Any = None,
    classes: Any = None,
    normalize: bool = False,
) -> SimplexCalibration:
    """Mean predictions and frequencies of three classes in bins of whole predictions.

    The gap of a bin, ``|sum w (e_y - p)|^2 / sum w^2 (1 - |p|^2)``, is 1 on average under calibration. A bin is called
    outside if its gap is larger than the largest one of all bins in a share ``confidence_level`` of redrawn targets: a
    calibrated model has any such bin with probability ``1 - confidence_level`` at most.

    Parameters
    ----------
    y, predictions, classes, normalize
        As for `skce`, of three classes; of more, merge them first with `Groups`.
    bins : Binning or int, optional
        Default `MedianVarianceBins` of at least ``max(10, n / 30)`` rows; a number stands for `UniformBins`.
    confidence_level, draws, rng, weights
        As for `reliability`.

    Returns
    -------
    SimplexCalibration

    Raises
    ------
    InputError
        With the row and the remedy, and for another number of classes.

    Notes
    -----
    Rows are assumed independent given the predictions. Cost: O(draws n).

    References
    ----------
    Vaicenavicius et al. (2019) for the arrows.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.inference import simplex_calibration
    >>> p = np.random.default_rng(0).dirichlet([1, 1, 1], 600)
    >>> y = kc.Categorical(p).sample(rng=1)[0]
    >>> int(simplex_calibration(y, p).outside.sum()), bool(simplex_calibration((y + 1) % 3, p).outside.any())
    (0, True)
    """
    run = Run(confidence_level=confidence_level, draws=draws, rng=rng)
    _ = run.outside  # refuses too few draws
    ece = None if bins is None else ECE(question="simplex", bins=bins)
    return simplex_of(Case.of(y, predictions, weights=weights, classes=classes, normalize=normalize), run, ece)


def simplex_of(case: Case, run: Run, ece: ECE | None = None) -> SimplexCalibration:
    """Calibration of three classes of what was checked already."""
    case, run = case.of_classes().in_numpy, run.shared()
    batch, n = case.predictions, len(case)
    if batch.n_classes != 3:
        raise InputError(
            f"a triangle has three corners, and the predictions have {batch.n_classes} classes: merge classes by "
            "kernelcal.Groups, or use kernelcal.inference.class_reliability"
        )
    if ece is None:
        ece = ECE(question="simplex", bins=MedianVarianceBins(min(n, max(10, n // 30))))
    prepared = ece.prepare(batch, case.weights)
    part = prepared.parts[0]
    outside = _gaps(part, case.targets[None])[0] > _largest(part, batch, run) * (1 + 1e-9)
    drawn = np.sort(generator_of(run.rng, "points of a picture").permutation(n)[:_POINTS])
    names = tuple(str(batch.class_name(k)) for k in range(3))
    estimate = ece.of_bins(prepared, case)
    points, outcomes = part.p[drawn], case.targets[drawn]
    return SimplexCalibration(estimate, names, outside, points, outcomes, run.confidence_level, run.draws)


def _gaps(part: BinnedPart, labels: np.ndarray) -> np.ndarray:
    """Gaps of the bins for labels of shape (B, n), in units of what calibration gives: shape (B, b)."""
    w = np.ones(len(part.p)) if part.weights is None else part.weights
    spread = np.bincount(part.bins.index, w**2 * (1 - (part.p**2).sum(axis=1)), minlength=part.bins.size)
    squares = ((part.counts(part.part.relabel(labels)) - part.sums) ** 2).sum(axis=2)
    # certain predictions leave no room: what is not a rounding error is infinitely far
    return np.where(squares > 1e-18, squares / np.maximum(spread, 1e-300), 0.0)


def _largest(part: BinnedPart, batch: ClassPredictions, run: Run) -> float:
    """Value that the largest gap exceeds with probability ``1 - confidence_level`` at most."""
    source = Draws(run.rng, "draws of the band of a triangle")
    slices = row_slices(run.draws, max(1, _NUMBERS // (3 * len(batch))))
    maxima = [_gaps(part, source.targets(batch, rows.start, rows.stop)).max(axis=1) for rows in slices]
    return float(np.sort(np.concatenate(maxima))[-run.outside])
