"""Expected and maximum calibration error over bins, for a question that is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.binning import Binning, Bins, UniformBins, checked_choice
from kernelcal.cases import Case, refuse_numbers
from kernelcal.dependence import share_interval
from kernelcal.errors import InputError
from kernelcal.lenses import Lens
from kernelcal.predictions import ClassPredictions, RealPredictions
from kernelcal.registry import Registry
from kernelcal.statistics.base import Prepared, Statistic
from kernelcal.statistics.binned.bin_table import BinnedEstimate, BinTable
from kernelcal.statistics.binned.law_errors import law_part
from kernelcal.statistics.binned.questions import PRESETS, QUESTIONS, Part, asked, parts_of
from kernelcal.statistics.functions import function_of

__all__ = ["DISTANCES", "ECE", "BinnedPart", "PreparedECE", "Summary", "distances", "ece", "mce", "question_in_words"]


DISTANCES: Registry[Callable[[np.ndarray], np.ndarray]] = Registry("distance", "or a function of means and frequencies")
for _name, _function, _is in (
    ("total variation", lambda gap: np.abs(gap, out=gap).sum(axis=-1) / 2, "half of l1"),
    ("l1", lambda gap: np.abs(gap, out=gap).sum(axis=-1), "sum of the absolute gaps"),
    ("euclidean", lambda gap: np.sqrt(np.einsum("...k,...k->...", gap, gap)), "root of the sum of squared gaps"),
    ("squared", lambda gap: np.einsum("...k,...k->...", gap, gap), "sum of squared gaps"),
    ("max", lambda gap: np.abs(gap, out=gap).max(axis=-1), "largest absolute gap"),
    ("mmd", lambda gap: np.sqrt(np.einsum("...k,...k->...", gap, gap)), "distance of mean embeddings"),
    ("squared mmd", lambda gap: np.einsum("...k,...k->...", gap, gap), "its square"),
):
    DISTANCES.register(_name, _function, summary=_is)


SQUARES = ("squared", "squared mmd")


def distances(distance: Any, sums: np.ndarray, counts: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Distance in each bin, shape (B, b), from sums of predictions (b, d), of labels (B, b, d) and of weights (b,)."""
    if not isinstance(distance, str):
        mean = sums / weight[:, None]
        return np.stack([_called(distance, mean, one / weight[:, None]) for one in counts])
    gap = counts - sums
    gap /= weight[:, None]
    if gap.shape[-1] == 1:  # one probability: every norm is |gap|, as is the total variation between Bernoullis
        return gap[..., 0] ** 2 if distance in SQUARES else np.abs(gap[..., 0])
    return DISTANCES[distance](gap)


def _called(function: Callable[..., Any], mean: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    values = np.asarray(function(mean, frequency), dtype=np.float64)
    if values.shape != (len(mean),):
        raise InputError(
            f"the distance must return one number a bin, shape ({len(mean)},), from means and frequencies of shape "
            f"{mean.shape}; it returned shape {values.shape}"
        )
    return values


_IN_CACHE = 2**10  # rows from which counts are made draw by draw: arrays of all draws leave the cache
_NUMBERS = 2**21  # frequencies of several draws that are held at a time


@dataclass(frozen=True)
class Summary:
    """How the gaps of the bins become one number."""

    distance: Any
    norm: str
    corrected: bool


class PreparedECE(Prepared):
    """One binned error, the mean over the parts of its question."""

    engine = "one pass"

    def __init__(self, kind: str, question: str, parts: tuple[BinnedPart, ...], notes: tuple[str, ...]) -> None:
        self.names, self.parts, self.notes = (f"{kind}, {question}",), parts, notes
        self.question = question
        self.bytes_per_draw = max(part.bytes_per_draw for part in parts)

    def values(self, labels: np.ndarray) -> np.ndarray:
        """Values for labels of shape (B, n): shape (B, 1)."""
        return np.stack([part.values(labels) for part in self.parts], axis=1).mean(axis=1, keepdims=True)


class BinnedPart:
    """Bins of one comparison: weights and sums of predictions are made once, counts of labels for every draw."""

    def __init__(self, part: Part, binning: Binning, weights: np.ndarray | None, summary: Summary) -> None:
        self.part, self.summary = part, summary
        self.weights = weights if weights is None or part.rows is None else weights[part.rows]
        self.bins = binning.assign(part.p, self.weights)
        self.p = part.p.astype(np.float64, copy=False)
        self.weight = np.bincount(self.bins.index, self.weights, minlength=self.bins.size).astype(np.float64)
        weighted = self.p if self.weights is None else self.p * self.weights[:, None]
        self.sums = _sums(weighted, self.bins)
        self.used = slice(None) if self.weight.all() else np.flatnonzero(self.weight)
        self.bytes_per_draw = 40 * len(self.p)

    def values(self, labels: np.ndarray) -> np.ndarray:
        """Errors for labels of shape (B, n), shape (B,)."""
        step = _NUMBERS // self.sums.size
        return np.concatenate([self._values(self.part.relabel(labels[s])) for s in row_slices(len(labels), step)])

    def estimate(self, labels: np.ndarray) -> tuple[float, BinTable]:
        """Error for labels of shape (n,), and its bins."""
        events = self.part.relabel(labels[None])
        counts = self.counts(events)
        squares = None if self.weights is None else np.bincount(self.bins.index, self.weights**2, len(self.weight))
        table = BinTable(self.part.name, self.bins, self.weight, self.sums, counts[0], squares)
        return float(self._from_counts(counts, events)[0]), table

    def along(self, table: BinTable, case: Case) -> BinTable:
        """The same bins, with intervals for rows that depend on each other; with case weights there are none."""
        if self.p.shape[1] > 1:
            return table
        assert case.rows is not None  # for the type checker: it was asked for rows that depend
        rows, hit = case.rows if self.part.rows is None else case.rows[self.part.rows], self.part.relabel(case.targets)

        def within(level: float) -> tuple[np.ndarray, np.ndarray]:
            low, high = np.full((2, self.bins.size), np.nan)
            for k in np.unique(self.bins.index) if self.weights is None else ():
                inside = np.flatnonzero(self.bins.index == k)
                low[k : k + 1], high[k : k + 1] = share_interval(hit[None, inside], rows[inside], level)
            return low, high

        return replace(table, within=within)

    def _values(self, events: np.ndarray) -> np.ndarray:
        return self._from_counts(self.counts(events), events)

    def _from_counts(self, counts: np.ndarray, events: np.ndarray) -> np.ndarray:
        weight, sums, counts = self.weight[self.used], self.sums[self.used], counts[:, self.used]
        if self.summary.corrected:
            whole = ((sums - counts) ** 2).sum(axis=-1) / weight
            return (whole.sum(axis=1) - self._own_squares(events)) / weight.sum()
        own = distances(self.summary.distance, sums, counts, weight)
        return own.max(axis=1) if self.summary.norm == "max" else _dot(own, weight) / weight.sum()

    def counts(self, events: np.ndarray) -> np.ndarray:
        """Sums of weights by bin and class (by bin and event), shape (B, bins, d)."""
        draws, (size, d) = len(events), self.sums.shape
        if d == 1 and events.shape[1] >= _IN_CACHE:
            own = events if self.weights is None else events * self.weights
            return np.stack([np.bincount(self.bins.index, one, size) for one in own])[:, :, None]
        cells = self.bins.index * d + (events if d > 1 else 0) + size * d * np.arange(draws)[:, None]
        w = np.ones(1) if self.weights is None else self.weights
        each = np.broadcast_to(w if d > 1 else events * w, events.shape)
        return np.bincount(cells.ravel(), each.ravel(), draws * size * d).reshape(draws, size, d)

    def _own_squares(self, events: np.ndarray) -> np.ndarray:
        """Sum of ``w_i^2 |p_i - y_i|^2 / w_bin`` over rows: what a pair of a row with itself adds, shape (B,)."""
        w = np.ones(len(self.p)) if self.weights is None else self.weights
        if self.p.shape[1] == 1:
            squares = (self.p[:, 0] - events) ** 2
        else:  # |p - e_y|^2 = |p|^2 - 2 p_y + 1
            squares = (self.p**2).sum(axis=1) - 2 * self.p[np.arange(len(self.p)), events] + 1
        return _dot(squares, np.divide(w**2, self.weight[self.bins.index], out=np.zeros_like(w), where=w > 0))


def _dot(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sums of rows; a matrix product would round the same row differently in another batch."""
    return np.asarray((rows * weights).sum(axis=1))


def _sums(values: np.ndarray, bins: Bins) -> np.ndarray:
    """Sums of rows by bin, shape (bins, d): of few columns one by one, else over rows sorted by bin."""
    index, size = bins.index, bins.size
    count = np.bincount(index, minlength=size)
    if values.shape[1] <= 16 or not count.all():
        return np.stack([np.bincount(index, column, minlength=size) for column in values.T], axis=1)
    order = np.argsort(index, kind="stable")
    starts, many = np.cumsum(count) - count, count > 1
    sums = values[order[starts]]  # in a fine grid most rows are alone: copying them is quicker than a sum
    if many.any():
        shared = order[many[index[order]]]
        sums[many] = np.add.reduceat(values[shared], np.flatnonzero(np.diff(index[shared], prepend=-1)), axis=0)
    return sums


@dataclass(frozen=True, kw_only=True)
class ECE(Statistic):
    """Expected calibration error, ``sum_b (n_b / n) d(mean prediction, frequency)`` over the bins that hold rows.

    Parameters
    ----------
    question : str or Lens, optional
        ``top label``: is the most probable class right as often as it claims? ``positive class`` (two classes): does
        class 1 occur as often as predicted? ``class-wise``: every class against the rest; the value is the mean over
        classes. ``simplex``: all classes at once. ``top label by class``: top label apart for every predicted class;
        the value is the mean over them. Or any `Lens`. These are different numbers. Default: what a lens has asked
        of the predictions already, else ``top label``.
    bins : int or Binning
        A number stands for `UniformBins`.
    distance : {"total variation", "l1", "euclidean", "squared", "max", "mmd", "squared mmd"} or callable
        Distance d in a bin; total variation is half of l1. For questions about one probability all are ``|gap|``,
        and ``squared`` is its square. A function gets means and frequencies of shape (b, d) and returns (b,). ``mmd``
        compares mean embeddings under the default target kernel, of classes as ``euclidean``.
    norm : {"mean", "max"}
        ``max`` takes the largest distance of all bins: the maximum calibration error, MCE.
    estimator : {"plug-in", "corrected"}
        ``corrected``, with ``squared``: without the pairs of a row with itself, which hold the noise of the outcomes,
        ``sum_b (|sum p - sum y|^2 - sum |p - y|^2) / n_b`` divided by n; called debiased in the literature. It is 0 on
        average for a calibrated model, may be negative, and is not clipped.
    convention : str
        Library whose settings these are, one of the names that `preset` takes, or none; `preset` writes it, results
        show it, and it changes no number.

    Raises
    ------
    InputError
        For options that do not fit together, and for data that cannot be used.

    Notes
    -----
    Of counts, numbers and vectors the law of the outcomes in a bin is compared with the mean predicted law; bins are
    made by ranks of the predicted means, so that equal-width bins hold equally many rows. Counts take all distances
    between laws on 0, 1, 2, ...; other targets take ``mmd`` and ``squared mmd``, with which the value estimates the
    mean (squared) MMD of the conditional laws, ECMMD.

    Case weights w replace every count by a sum of weights; ``w_i^2`` multiplies what the corrected error leaves out.
    A binned error depends on its bins and is positive for calibrated models too: it is an effect size to be compared
    with others' figures, not evidence. ``calibration_test(y, predictions, statistic=ECE())`` gives evidence.
    Cost: O(n d) and that of the bins.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015); Widmann, Lindsten, Zachariah (2019), section J.1.1; (2021), Definition B.1 and
    Theorem G.1, for counts and general targets; Kumar, Liang, Ma (2019);
    Gupta, Ramdas (2021) for ``top label by class``.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = [1, 1, 1, 1], [0.2, 0.2, 0.8, 0.8]
    >>> kc.ECE(question="positive class", bins=2)(y, p)
    ECE, positive class
    -------------------
    ECE, positive class  0.5
    estimator            binned
    rows                 4
    question             positive class
    bins                 2 equal-width bins
    distance             total variation
    engine               one pass
    bins that hold rows  2 of 2
    bin                       rows  mean p  frequency  95 % interval
    0 to 0.5                     2  0.2000     1.0000  0.1581 to 1.0000
    0.5 to 1                     2  0.8000     1.0000  0.1581 to 1.0000

    >>> round(float(kc.ece(y, p, question="top label", bins=10)), 12)
    0.3
    >>> round(float(kc.statistics.mce([0, 1, 1], [0.1, 0.1, 0.9], question="positive class")), 12)
    0.4
    """

    question: str | Lens | None = None
    bins: int | Binning = 15
    distance: str | Callable[[np.ndarray, np.ndarray], Any] = "total variation"
    norm: str = "mean"
    estimator: str = "plug-in"
    convention: str = ""

    def __post_init__(self) -> None:
        _check_question(self.question)
        if not callable(self.distance):
            DISTANCES.chosen(self.distance)
        _ = self._binning  # checks the number
        checked_choice(self.norm, "norm", ("mean", "max"))
        if not isinstance(self.convention, str) or self.convention:
            checked_choice(self.convention, "convention", tuple(PRESETS))
        checked_choice(self.estimator, "estimator", ("plug-in", "corrected"))
        if self.estimator == "corrected" and (self.distance not in SQUARES or self.norm != "mean"):
            raise InputError(
                "estimator='corrected' needs distance='squared' and norm='mean': only there the noise is known"
            )

    @classmethod
    def preset(cls, library: str, *, bins: int | None = None, strategy: str = "uniform", **options: Any) -> Self:
        """Settings that give the numbers of another library.

        Parameters
        ----------
        library : {"sklearn", "torchmetrics", "mapie", "netcal"}
            Whose bins, default number of bins and default question are taken.
        bins : int, optional
            The library's argument.
        strategy : {"uniform", "quantile"}
            Equal widths, or quantiles where the library has them.
        **options
            Settings of `ECE`, such as ``question="positive class"`` for the binary tasks of torchmetrics and netcal.

        Examples
        --------
        >>> import kernelcal as kc
        >>> y, p = [1, 0], [0.95, 1.0]
        >>> float(kc.ECE.preset("torchmetrics", bins=10, question="positive class")(y, p))  # 1.0 has a bin of its own
        0.525
        >>> float(kc.ECE(bins=10, question="positive class")(y, p))
        0.475
        """
        preset = PRESETS.chosen(library)
        settings = {"question": preset.question, "convention": library, **options}
        return cls(bins=preset.binning(bins, strategy), **settings)

    def estimated(self, case: Case) -> BinnedEstimate:
        """Estimate, in NumPy."""
        case = case.in_numpy
        return self.of_bins(self.prepare(case.predictions, case.weights), case)

    def of_bins(self, prepared: PreparedECE, case: Case) -> BinnedEstimate:
        """Estimate with bins that were made for these predictions and weights."""
        parts, tables = zip(*(part.estimate(case.targets) for part in prepared.parts), strict=True)
        if case.rows is not None and case.rows.overlap:
            tables = tuple(part.along(table, case) for part, table in zip(prepared.parts, tables, strict=True))
        return BinnedEstimate(
            value=np.mean(parts),
            name=prepared.names[0],
            estimator="binned" if self.estimator == "plug-in" else "binned, corrected",
            n=len(case),
            engine=prepared.engine,
            options=self._options(prepared.question),
            notes=prepared.notes,
            tables=tables,
            parts=parts,
        )

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedECE:
        """Make the bins, which depend on the predictions alone."""
        summary = Summary(self.distance, self.norm, self.estimator == "corrected")
        if isinstance(predictions, RealPredictions):
            return self._of_laws(predictions, weights, summary)
        refuse_numbers(predictions, "ECE")
        question = asked(self.question, predictions)
        parts = parts_of(question, predictions)
        binned = tuple(BinnedPart(part, self._binning, weights, summary) for part in parts)
        kind, notes = "MCE" if self.norm == "max" else "ECE", predictions.notes + _mean_note(len(parts))
        return PreparedECE(kind, question_in_words(question, predictions), binned, notes)

    def _of_laws(self, predictions: RealPredictions, weights: np.ndarray | None, summary: Summary) -> PreparedECE:
        """Whole laws of counts, numbers and vectors, in bins by their means."""
        if self.question is not None:
            raise InputError(
                f"question={self.question!r} is for classes; of {type(predictions).__name__} whole laws are compared: "
                "leave it out"
            )
        part = law_part(predictions, self._binning, weights, summary, distances)
        parts = cast("tuple[BinnedPart, ...]", (part,))  # it has the methods that an estimate and a test ask for
        return PreparedECE("MCE" if self.norm == "max" else "ECE", part.name, parts, predictions.notes)

    @cached_property
    def _binning(self) -> Binning:
        return self.bins if isinstance(self.bins, Binning) else UniformBins(self.bins)

    def _options(self, question: str) -> dict[str, Any]:
        distance = self.distance if isinstance(self.distance, str) else getattr(self.distance, "__name__", "function")
        own = {"question": question, "bins": str(self._binning), "distance": distance}
        return {**own, "convention": self.convention} if self.convention else own


ece = function_of(ECE)

mce = function_of(ECE, "mce", "Maximum calibration error, the largest distance of all bins.", norm="max")


def question_in_words(question: Any, predictions: ClassPredictions) -> str:
    """Name of a question; of predictions that a lens has made, with the lens."""
    name, own = (
        question if isinstance(question, str) else question.view(predictions).predictions.question,
        predictions.question,
    )
    return name if own is None or own == name else f"{name} of {own}"


def _check_question(question: Any) -> None:
    if question is None or isinstance(question, Lens):
        return
    QUESTIONS.chosen(question)


def _mean_note(parts: int) -> tuple[str, ...]:
    return () if parts == 1 else (f"the value is the mean over {parts} classes; .parts has each",)
