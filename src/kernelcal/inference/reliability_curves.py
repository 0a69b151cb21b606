"""Reliability of one question, and of every class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.binning import Binning
from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.errors import InputError
from kernelcal.inference.draws import Draws
from kernelcal.inference.redrawn import band_draws
from kernelcal.inference.reliability_result import ClassReliability, Reliability
from kernelcal.lenses import Lens
from kernelcal.pairs import one_thread, threaded_map
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.runs import Run
from kernelcal.statistics import ECE, BinnedEstimate, NullBand
from kernelcal.statistics.binned import BinnedPart, CountLaw

__all__ = ["class_reliability", "class_reliability_of", "reliability", "reliability_of"]


_NUMBERS = 2**22  # labels that are drawn at once
_AT_ONCE = 64  # draws that a thread makes
_CELLS = 2**24  # rows times classes, of which a table is made


def reliability(
    y: Any,
    predictions: Any,
    *,
    question: str | Lens | None = None,
    bins: int | Binning = 15,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
    weights: Any = None,
    classes: Any = None,
    normalize: bool = False,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> Reliability:
    """Mean prediction and frequency in bins, with an interval of the frequency and a band of calibrated models.

    Bins are those of `ece`, and depend on the predictions alone. For the band targets are redrawn from the predictions;
    a set of frequencies of a calibrated model lies inside, in all bins at once, with probability ``confidence_level``
    or more.

    Parameters
    ----------
    y, predictions, classes, normalize
        As for `skce`.
    question : str or Lens, optional
        ``top label`` (default), ``positive class``, or a lens that asks about one probability, as for `ECE`. For all
        classes use `class_reliability`.
    bins : int or Binning
        A number stands for `UniformBins`.
    confidence_level : float
        Of intervals and bands.
    draws : int
        Sets of targets drawn for the band, at least ``1 / (1 - confidence_level) - 1``.
    rng : int, numpy.random.Generator or None
        Seed (SPEC 7).
    weights : array of shape (n,), optional
        Case weights, not negative; held fixed. The interval is then that of the effective number of rows, and near;
        the band stays exact.
    clusters, time, horizon, series
        Which rows depend on each other, as for `kernelcal.calibration_test`: intervals then allow for it, and the
        band is that of targets that are redrawn alike, or not there where they cannot be.

    Returns
    -------
    Reliability
        ``.plot()`` draws the reliability diagram, ``.plot_counts()`` the confidence histogram.

    Raises
    ------
    InputError
        With the row and the remedy, and for questions about several probabilities.

    Notes
    -----
    Unless it is said how they depend, rows are assumed independent given the predictions. Cost: O(draws n).

    References
    ----------
    Murphy, Winkler (1977) for the diagram; Broecker, Smith (2007) for bands of calibrated models; Clopper, Pearson
    (1934) for the interval.

    Examples
    --------
    >>> import kernelcal as kc
    >>> p = [0.1] * 20 + [0.9] * 20
    >>> found = kc.reliability([0] * 8 + [1] * 12 + [1] * 20, p, question="positive class", bins=2)
    >>> found.table.frequency, found.outside
    (array([0.6, 1. ]), array([ True, False]))
    """
    run, ece = Run(confidence_level=confidence_level, draws=draws, rng=rng), ECE(question=question, bins=bins)
    _ = run.outside  # refuses too few draws
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    case = Case.of(y, predictions, weights=weights, classes=classes, normalize=normalize, **rows)
    return reliability_of(case, ece, run)


def reliability_of(case: Case, ece: ECE, run: Run) -> Reliability:
    """Reliability of one question about what was checked already, in the bins of an ECE."""
    parts, _ = _reliabilities(case, ece, run)
    if len(parts) > 1:
        raise InputError(
            f"a reliability diagram is about one probability, and this question has {len(parts)}: use "
            "kernelcal.inference.class_reliability, or ask about one class by question=kernelcal.OneClass(label)"
        )
    return parts[0]


def class_reliability(
    y: Any,
    predictions: Any,
    *,
    question: str = "class-wise",
    bins: int | Binning = 15,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
    weights: Any = None,
    classes: Any = None,
    normalize: bool = False,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> ClassReliability:
    """Reliability of every class against the rest; bands hold for all bins of all classes at once.

    Parameters
    ----------
    question : {"class-wise", "top label by class"}
        Every class against the rest, or the first choice apart for every predicted class.
    y, predictions, bins, confidence_level, draws, rng, weights, classes, normalize, clusters, time, horizon, series
        As for `reliability`. The labels that are drawn are the same for all classes.

    Returns
    -------
    ClassReliability
        ``.parts`` has a `Reliability` for every class; ``.plot()`` draws the worst ones.

    Notes
    -----
    Cost: O(draws n m) for m classes.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.inference import class_reliability
    >>> p = np.random.default_rng(0).dirichlet([1, 1, 1], 300)
    >>> y = kc.Categorical(p).sample(rng=1)[0]
    >>> [part.question for part in class_reliability(y, p, bins=5).parts][0]
    'class 0 against the rest'
    """
    run, ece = Run(confidence_level=confidence_level, draws=draws, rng=rng), ECE(question=question, bins=bins)
    _ = run.outside  # refuses too few draws
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    case = Case.of(y, predictions, weights=weights, classes=classes, normalize=normalize, **rows)
    return class_reliability_of(case, ece, run)


def class_reliability_of(case: Case, ece: ECE, run: Run) -> ClassReliability:
    """Reliability of every class of what was checked already."""
    parts, estimate = _reliabilities(case, ece, run)
    return ClassReliability(estimate, parts)


def _reliabilities(case: Case, ece: ECE, run: Run) -> tuple[tuple[Reliability, ...], BinnedEstimate]:
    case = case.of_classes().in_numpy
    prepared = ece.prepare(case.predictions, case.weights)
    if any(part.p.shape[1] > 1 for part in prepared.parts):
        raise InputError(
            f"a reliability diagram is about one probability, and question={ece.question!r} is about all classes at "
            "once: use kernelcal.inference.simplex_calibration for three classes, or class_reliability"
        )
    estimate = ece.of_bins(prepared, case)
    if case.rows is not None and case.rows.overlap:
        bands = _dependent_bands(prepared.parts, case, run)
    else:
        bands = null_bands(prepared.parts, case.predictions, run)
    columns = zip(estimate.parts, estimate.tables, bands, strict=True)
    several = len(bands) > 1
    made = [
        Reliability(
            replace(
                estimate,
                value=value,
                name=f"ECE, {t.question}",
                tables=(t,),
                parts=(value,),
                notes=case.predictions.notes,
            )
            if several
            else estimate,
            t,
            band.divided(t.weight),
            run.confidence_level,
            "all bins of all classes at once" if several else "all bins at once",
        )
        for value, t, band in columns
    ]
    return tuple(made), estimate


def _dependent_bands(parts: tuple[BinnedPart, ...], case: Case, run: Run) -> list[NullBand]:
    """Bands where rows depend on each other: each probability by itself, at a level for all parts (Bonferroni)."""
    level = 1 - (1 - run.confidence_level) / len(parts)
    each, found = replace(run, confidence_level=level), []
    for part in parts:
        rows = slice(None) if part.part.rows is None else part.part.rows
        own = replace(case[rows], predictions=Bernoulli(part.p[:, 0]), given=None)
        own = replace(own, targets=np.asarray(part.part.relabel(case.targets), dtype=np.int64))
        source = band_draws(own, each, "draws of the band of a curve")[0]
        if source is None or (1 - level) * (each.draws + 1) < 1:
            found.append(NullBand.nowhere(part.bins.size, run))
            continue
        bins = np.unique(part.bins.index)
        law = CountLaw.of_bins(part.p[:, 0], np.searchsorted(bins, part.bins.index), len(bins), part.weights)
        depths = [
            law.depth(part.counts(source.targets(own.predictions, some.start, some.stop))[:, bins, 0])
            for some in row_slices(each.draws, max(1, _NUMBERS // max(len(own), part.bins.size)))
        ]
        band = NullBand.of(law, np.concatenate(depths), each).among(bins, part.bins.size)
        found.append(replace(band, confidence_level=run.confidence_level))
    return found


@dataclass(frozen=True, eq=False)
class _Cells:
    """The bin, of all parts, that every label of every row counts in: one count of a draw serves all parts.

    Attributes
    ----------
    sizes : list of int
        Bins of every part.
    cells : numpy.ndarray of shape (n m,)
        Number of the bin among those of all parts for every row and label; the number of all where it counts in none.
    weights : numpy.ndarray of shape (n,), or None
        Case weights.
    """

    sizes: list[int]
    cells: np.ndarray
    weights: np.ndarray | None

    @classmethod
    def of(cls, parts: tuple[BinnedPart, ...], batch: ClassPredictions, draws: int) -> _Cells | None:
        """Make the table; None where it would cost more than the draws, or where parts count the same label."""
        n, m, sizes = len(batch), batch.n_classes, [part.bins.size for part in parts]
        if 4 * m > draws or n * m > _CELLS:
            return None
        total, first, weighted = sum(sizes), 0, parts[0].weights is not None
        cells, weights = np.full((n, m), total, dtype=np.intp), np.zeros(n)
        for part, size in zip(parts, sizes, strict=True):
            rows = np.arange(n) if part.part.rows is None else part.part.rows
            for label in range(m):
                events = np.flatnonzero(part.part.relabel(np.full((1, n), label))[0])
                if (cells[rows[events], label] < total).any():
                    return None
                cells[rows[events], label] = first + part.bins.index[events]
            weights[rows] = 1.0 if part.weights is None else part.weights
            first += size
        return cls(sizes, cells.ravel(), weights if weighted else None)

    def counts(self, source: Draws, batch: ClassPredictions, rows: slice) -> list[np.ndarray]:
        """Counts of some draws in the bins of every part, shape (draws, bins) each."""
        n, total = len(batch), sum(self.sizes)
        first = np.arange(n) * batch.n_classes

        def work(some: slice) -> np.ndarray:
            with one_thread():
                labels = source.targets(batch, rows.start + some.start, rows.start + some.stop)
            found = [np.bincount(self.cells[first + own], self.weights, total + 1)[:total] for own in labels]
            return np.array(found, dtype=np.float64)

        found = np.concatenate(threaded_map(work, row_slices(rows.stop - rows.start, _AT_ONCE), None))
        return np.split(found, np.cumsum(self.sizes)[:-1], axis=1)


def null_bands(parts: tuple[BinnedPart, ...], batch: ClassPredictions, run: Run) -> list[NullBand]:
    """Bands of sums of events in the bins of every part, simultaneous over all parts."""
    source = Draws(run.rng, "draws of the band of a curve")
    filled = [np.unique(part.bins.index) for part in parts]  # bins without rows hold 0 events in every draw
    laws = [
        CountLaw.of_bins(part.p[:, 0], np.searchsorted(bins, part.bins.index), len(bins), part.weights)
        for part, bins in zip(parts, filled, strict=True)
    ]
    depths: list[list[np.ndarray]] = [[] for _ in parts]
    cells = _Cells.of(parts, batch, run.draws)
    for rows in row_slices(run.draws, max(1, _NUMBERS // max(len(batch), *(part.bins.size for part in parts)))):
        if cells is None:
            drawn = source.targets(batch, rows.start, rows.stop)
            counts = [part.counts(part.part.relabel(drawn))[:, :, 0] for part in parts]
        else:
            counts = cells.counts(source, batch, rows)
        for bins, law, found, own in zip(filled, laws, depths, counts, strict=True):
            found.append(law.depth(own[:, bins]))
    whole = [np.concatenate(found) for found in depths]
    smallest = np.min([depth.min(axis=1) for depth in whole], axis=0)
    columns = zip(laws, whole, filled, parts, strict=True)
    return [NullBand.of(law, depth, run, smallest).among(bins, p.bins.size) for law, depth, bins, p in columns]
