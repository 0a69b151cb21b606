"""Expected and maximum calibration error over bins, for a question that is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernelcal.binning import Binning, UniformBins
from kernelcal.binning.base import checked_choice
from kernelcal.cases import Case, refuse_numbers
from kernelcal.errors import InputError
from kernelcal.lenses import Lens
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics.base import Statistic
from kernelcal.statistics.bin_table import BinnedEstimate
from kernelcal.statistics.distances import DISTANCES
from kernelcal.statistics.ece_prepared import BinnedPart, PreparedECE, Summary
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.presets import PRESETS
from kernelcal.statistics.questions import QUESTIONS, asked, parts_of

__all__ = ["ECE", "ece", "mce"]


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
    distance : {"total variation", "l1", "euclidean", "squared", "max"} or callable
        Distance d in a bin; total variation is half of l1. For questions about one probability all are ``|gap|``,
        and ``squared`` is its square. A function gets means and frequencies of shape (b, d) and returns (b,).
    norm : {"mean", "max"}
        ``max`` takes the largest distance of all bins: the maximum calibration error, MCE.
    estimator : {"plug-in", "corrected"}
        ``corrected``, with ``squared``: without the pairs of a row with itself, which hold the noise of the outcomes,
        ``sum_b (|sum p - sum y|^2 - sum |p - y|^2) / n_b`` divided by n; called debiased in the literature. It is 0 on
        average for a calibrated model, may be negative, and is not clipped.
    convention : str
        Library whose settings these are; `preset` writes it, results show it.

    Raises
    ------
    InputError
        For options that do not fit together, and for data that cannot be used.

    Notes
    -----
    Case weights w replace every count by a sum of weights; ``w_i^2`` multiplies what the corrected error leaves out.
    A binned error depends on its bins and is positive for calibrated models too: it is an effect size to be compared
    with others' figures, not evidence. ``calibration_test(y, predictions, statistic=ECE())`` gives evidence.
    Cost: O(n d) and that of the bins.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015); Widmann, Lindsten, Zachariah (2019), section J.1.1; Kumar, Liang, Ma (2019);
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
        _ = self._binning  # checks the number
        if not callable(self.distance):
            DISTANCES.chosen(self.distance)
        checked_choice(self.norm, "norm", ("mean", "max"))
        checked_choice(self.estimator, "estimator", ("plug-in", "corrected"))
        if self.estimator == "corrected" and (self.distance != "squared" or self.norm != "mean"):
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
        case = case.of_classes().in_numpy
        return self.of_bins(self.prepare(case.predictions, case.weights), case)

    def of_bins(self, prepared: PreparedECE, case: Case) -> BinnedEstimate:
        """Estimate with bins that were made for these predictions and weights."""
        parts, tables = zip(*(part.estimate(case.targets) for part in prepared.parts), strict=True)
        return BinnedEstimate(
            value=np.mean(parts),
            name=prepared.names[0],
            estimator="binned" if self.estimator == "plug-in" else "binned, corrected",
            n=len(case),
            engine=prepared.engine,
            options=self._options(case.predictions),
            notes=prepared.notes,
            tables=tables,
            parts=parts,
        )

    def prepare(self, predictions: ClassPredictions, weights: np.ndarray | None = None) -> PreparedECE:
        """Make the bins, which depend on the predictions alone."""
        refuse_numbers(predictions, "ECE")
        summary = Summary(self.distance, self.norm, self.estimator == "corrected")
        parts = parts_of(asked(self.question, predictions), predictions)
        binned = tuple(BinnedPart(part, self._binning, weights, summary) for part in parts)
        name = f"{'MCE' if self.norm == 'max' else 'ECE'}, {self._asked(predictions)}"
        return PreparedECE(name, binned, predictions.notes + _mean_note(len(parts)))

    @cached_property
    def _binning(self) -> Binning:
        return self.bins if isinstance(self.bins, Binning) else UniformBins(self.bins)

    def _asked(self, predictions: ClassPredictions) -> str:
        """Name of the question; of predictions that a lens has made, with the lens."""
        question, own = asked(self.question, predictions), predictions.question
        name = question if isinstance(question, str) else question.view(predictions).predictions.question
        return name if own is None or own == name else f"{name} of {own}"

    def _options(self, predictions: ClassPredictions) -> dict[str, Any]:
        distance = self.distance if isinstance(self.distance, str) else getattr(self.distance, "__name__", "function")
        own = {"question": self._asked(predictions), "bins": str(self._binning), "distance": distance}
        return {**own, "convention": self.convention} if self.convention else own


ece = function_of(ECE)

mce = function_of(ECE, "mce", "Maximum calibration error, the largest distance of all bins.", norm="max")


def _check_question(question: Any) -> None:
    if question is None or isinstance(question, Lens):
        return
    QUESTIONS.chosen(question)


def _mean_note(parts: int) -> tuple[str, ...]:
    return () if parts == 1 else (f"the value is the mean over {parts} classes; .parts has each",)
