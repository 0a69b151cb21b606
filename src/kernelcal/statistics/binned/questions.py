"""Questions of binned errors: which probability is compared with which event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.binning import Binning, EdgeBins, QuantileBins, checked_choice, checked_count
from kernelcal.errors import InputError
from kernelcal.lenses import ClassWise, Lens, OneClass, TopLabel, View
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.registry import Registry

__all__ = ["PRESETS", "QUESTIONS", "Part", "Preset", "asked", "parts_of", "usual_questions"]


@dataclass(frozen=True, eq=False)
class Part:
    """One comparison; a question has one or, such as class-wise, several, whose errors are averaged.

    Attributes
    ----------
    name : str
        What is asked.
    p : numpy.ndarray of shape (k, d)
        Probability of the event (d = 1) or of every class.
    relabel : callable
        From labels of shape (B, n) to events 0/1 (d = 1) or classes, shape (B, k).
    rows : numpy.ndarray of shape (k,), optional
        The rows that take part, where not all do.
    """

    name: str
    p: np.ndarray
    relabel: Callable[[np.ndarray], np.ndarray]
    rows: np.ndarray | None = None


def asked(question: Any, predictions: ClassPredictions) -> Any:
    """Return the question: without one given, what a lens has asked already, else what the predictions say.

    One column of probabilities says how likely the positive class is, and that is asked; several columns claim a first
    choice.
    """
    if question is not None:
        return question
    if _is_asked(predictions):
        return predictions.question
    return "positive class" if isinstance(predictions, Bernoulli) else "top label"


def usual_questions(predictions: ClassPredictions) -> tuple[str | None, ...]:
    """Questions of the binned errors in a report; None is what a lens has asked."""
    if not isinstance(predictions, Bernoulli):
        return ("top label",)
    return ("positive class", "top label") if predictions.question is None else (None,)


def parts_of(question: Any, predictions: ClassPredictions) -> tuple[Part, ...]:
    """Comparisons that answer a question about predictions in NumPy."""
    if _is_asked(predictions) and question == predictions.question:
        return (_part(View(predictions, lambda labels: labels)),)
    if isinstance(question, Lens):
        return (_part(question.view(predictions)),)
    return QUESTIONS[question](predictions)


def _is_asked(predictions: ClassPredictions) -> bool:
    """Whether the one probability is that of an event that a lens, or the user, has named."""
    return isinstance(predictions, Bernoulli) and predictions.question is not None


def _part(view: View) -> Part:
    p = view.predictions
    columns = to_numpy(p.p)[:, None] if isinstance(p, Bernoulli) else p.table()
    return Part(p.question or "", columns, view.relabel)


def _top_label(predictions: ClassPredictions) -> tuple[Part, ...]:
    return (_part(TopLabel().view(predictions)),)


def _positive_class(predictions: ClassPredictions) -> tuple[Part, ...]:
    if predictions.n_classes != 2:
        raise InputError(
            f"question='positive class' is for two classes, the predictions have {predictions.n_classes}: ask about "
            "one class by question=kernelcal.lenses.OneClass(label), or question='class-wise'"
        )
    return (_part(OneClass(predictions.class_name(1)).view(predictions)),)


def _class_wise(predictions: ClassPredictions) -> tuple[Part, ...]:
    return tuple(_part(lens.view(predictions)) for lens in ClassWise().lenses(predictions))


def _simplex(predictions: ClassPredictions) -> tuple[Part, ...]:
    return (_part(View(predictions, lambda labels: labels)),)


def _by_predicted_class(predictions: ClassPredictions) -> tuple[Part, ...]:
    """Top label within the rows of each predicted class, in bins of their own."""
    confidence, top = _part(TopLabel().view(predictions)), predictions.top_labels()

    def part(k: int) -> Part:
        rows = np.flatnonzero(top == k)
        name = f"top label {predictions.class_name(k)}"
        return Part(name, confidence.p[rows], lambda labels: (labels[..., rows] == k).astype(np.int64), rows)

    return tuple(part(int(k)) for k in np.unique(top))


QUESTIONS: Registry[Callable[[ClassPredictions], tuple[Part, ...]]] = Registry(
    "question", "or a lens such as kernelcal.TopLabel()"
)
for _name, _parts, _asks in (
    ("top label", _top_label, "is the most probable class right as often as it claims"),
    ("positive class", _positive_class, "of two classes: does class 1 occur as often as predicted"),
    ("class-wise", _class_wise, "every class against the rest"),
    ("simplex", _simplex, "all classes at once"),
    ("top label by class", _by_predicted_class, "top label apart for every predicted class"),
):
    QUESTIONS.register(_name, _parts, summary=_asks)


@dataclass(frozen=True)
class Preset:
    """Default number of bins and question of a library, and its bins by strategy."""

    bins: int
    question: str
    strategies: dict[str, Callable[[int], Binning]]

    def binning(self, bins: int | None, strategy: str) -> Binning:
        """Bins as the library makes them."""
        checked_choice(strategy, "strategy", tuple(self.strategies))
        return self.strategies[strategy](self.bins if bins is None else checked_count(bins, "bins", "bins=10"))


def _equal(bins: int) -> list[float]:
    return [float(edge) for edge in np.linspace(0, 1, bins + 1)]


def _torch_equal(bins: int) -> list[float]:
    """``torch.linspace(0, 1, bins + 1)`` in float64: from both ends to the middle, rounded once each."""
    step = 1 / bins
    below = (bins + 1) // 2
    return [step * i if i < below else float(1 - Fraction(step) * (bins - i)) for i in range(bins + 1)]


def _mapie(bins: int) -> int:
    """MAPIE counts edges: the smallest value has a bin, and one less are left for the rest."""
    if bins < 2:
        raise InputError("MAPIE with one bin uses only predictions of exactly 0 and gives NaN: bins must be at least 2")
    return bins - 1


PRESETS: Registry[Preset] = Registry("library")
for _library, _preset in {
    # sklearn.calibration.calibration_curve: searchsorted(edges[1:-1], p)
    "sklearn": Preset(5, "positive class", {"uniform": lambda b: EdgeBins(_equal(b)), "quantile": QuantileBins}),
    # torchmetrics.functional.classification.calibration_error: bucketize(p, edges, right=True) - 1
    "torchmetrics": Preset(
        15, "top label", {"uniform": lambda b: EdgeBins(_torch_equal(b), closed="left", lone_end=True)}
    ),
    # mapie.metrics.calibration: digitize(p, edges, right=True) with as many edges as bins
    "mapie": Preset(
        50,
        "top label",
        {
            "uniform": lambda b: EdgeBins(_equal(_mapie(b)), lone_end=True),
            "quantile": lambda b: QuantileBins(_mapie(b), lone_end=True),
        },
    ),
    # netcal.metrics.confidence.ECE: scipy.stats.binned_statistic_dd, after clipping p to [eps, 1 - eps]
    "netcal": Preset(
        10,
        "top label",
        {
            "uniform": lambda b: EdgeBins(_equal(b), closed="left"),
            "quantile": lambda b: QuantileBins(b, closed="left"),
        },
    ),
}.items():
    PRESETS.register(_library, _preset, summary=f"{_preset.bins} bins, {_preset.question}")
