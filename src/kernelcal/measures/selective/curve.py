"""The risk-coverage curve of answers, beside the one that calibrated confidences have; abstentions are counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.errors import InputError
from kernelcal.inference import Draws
from kernelcal.measures.selective.kept import ConfidenceOrder, confidences, serves_answers, weights_of_answers
from kernelcal.predictions import checked_weights
from kernelcal.runs import Run
from kernelcal.tables import Grid, Shown

__all__ = ["RiskCoverage", "curve_of", "risk_coverage"]

_SHOWN = (0.25, 0.5, 0.75, 0.9, 1.0)  # shares of the answers in the table
_PLACES = 200  # of the picture
_NUMBERS = 2**22  # outcomes held at once


@dataclass(frozen=True, repr=False)
class RiskCoverage(Shown):
    """Errors among the answers that are kept, the surest first.

    Attributes
    ----------
    coverage : numpy.ndarray of shape (k,)
        Share of all questions that is answered and kept; it ends at the share that was answered.
    risk, expected, low, high : numpy.ndarray of shape (k,)
        Share of wrong answers among those; its mean and the ends of its band, point by point, if the confidences are
        calibrated.
    confidence : numpy.ndarray of shape (k,)
        Least confidence that is kept.
    n, abstained : int
        Answers, and questions without one.
    pvalue : float
        Of the whole curve: its mean squared distance from the mean in standard deviations, among redrawn outcomes.
    confidence_level : float
        Of the band.
    question : str
        What was asked, if not the target itself.

    Examples
    --------
    >>> from kernelcal.measures import risk_coverage
    >>> curve = risk_coverage([1, 1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    >>> curve.risk.round(2), curve.n
    (array([0.  , 0.  , 0.33, 0.25, 0.4 , 0.5 ]), 6)
    """

    coverage: np.ndarray
    risk: np.ndarray
    expected: np.ndarray
    low: np.ndarray
    high: np.ndarray
    confidence: np.ndarray
    n: int
    abstained: int
    pvalue: float
    confidence_level: float
    question: str = ""

    def at(self, share: float) -> int:
        """Place on the curve at which a share of the answers is kept."""
        return min(int(np.searchsorted(self.coverage, share * self.coverage[-1] - 1e-12)), len(self.coverage) - 1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        arrays = ("coverage", "risk", "expected", "low", "high", "confidence")
        plain = ("n", "abstained", "pvalue", "confidence_level")
        own = {name: getattr(self, name) for name in plain}
        return {**own, **{name: getattr(self, name).tolist() for name in arrays}}

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve over the band of calibrated confidences.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from kernelcal.plots import risk_coverage_plot

        return risk_coverage_plot(
            self.coverage,
            self.risk,
            self.expected,
            (self.low, self.high),
            confidence_level=self.confidence_level,
            title=f"{self._title}, p = {self.pvalue:.3g}",
            ax=ax,
        )

    @property
    def _title(self) -> str:
        silent = f", {self.abstained:,} abstained" if self.abstained else ""
        return f"Risk and coverage of {self.n:,} answers{silent}"

    def _table(self) -> Grid:
        level = f"{100 * self.confidence_level:g} % of\ncalibrated"
        heads = ("coverage of\nall questions", "confidence\nat least", "accuracy", "expected if\ncalibrated", level)
        rows = []
        for share in _SHOWN:
            k = self.at(share)
            right = 1 - np.array([self.risk[k], self.expected[k], self.high[k], self.low[k]])
            rows.append(
                (
                    f"{100 * share:g} % of the answers",
                    f"{self.coverage[k]:.3f}",
                    f"{self.confidence[k]:.3f}",
                    f"{right[0]:.4f}",
                    f"{right[1]:.4f}",
                    f"{right[2]:.4f} to {right[3]:.4f}",
                )
            )
        notes = [f"p-value of the whole curve: {self.pvalue:.3g}"]
        if self.abstained:
            whole = self.n + self.abstained
            right_of_all = (1 - self.risk[-1]) * self.coverage[-1]
            notes.append(
                f"{self.abstained:,} of {whole:,} questions were not answered; if these count as wrong, the accuracy "
                f"of all is {right_of_all:.4f}"
            )
        return Grid(self._title, ("kept", *heads), rows, notes)


def risk_coverage(
    y: Any,
    predictions: Any,
    *,
    abstained: Any = None,
    weights: Any = None,
    lens: Any = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
    classes: Any = None,
) -> RiskCoverage:
    """Errors among the answers that are kept, the surest first, beside what calibrated confidences have.

    Parameters
    ----------
    y : array of shape (n,)
        Whether each answer was right; of classes with ``lens=TopLabel()`` the labels.
    predictions : Predictions or what `as_predictions` takes
        Confidences that the answers are right.
    abstained : array of shape (n,), or int, optional
        Where no answer was given, whose outcome and confidence are not looked at (they may be missing); or how many
        such questions there are beside the rows.
    weights : array of shape (n,), optional
        Case weights.
    lens : Lens, optional
        A simpler question, such as `TopLabel`.
    confidence_level, draws, rng, classes
        As for `measure`.

    Returns
    -------
    RiskCoverage
        Prints as a table; ``.plot()`` draws it.

    Raises
    ------
    InputError
        With the row and the remedy.

    Notes
    -----
    Rows of one confidence share what they have, as in a random order on average. The curve of every set of redrawn
    outcomes is in the same order, since it depends on the confidences alone: the p-value is exact for independent rows.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> p = np.random.default_rng(0).uniform(0.3, 1.0, 300)
    >>> right = np.random.default_rng(1).random(300) < p
    >>> found = kc.measures.risk_coverage(right, p, abstained=20)
    >>> found.coverage[-1].round(4), found.pvalue > 0.05
    (np.float64(0.9375), True)
    """
    run = Run(confidence_level=confidence_level, draws=draws, rng=rng)
    silent = 0
    if abstained is not None and np.ndim(abstained) == 0:
        silent = _count(abstained)
    elif abstained is not None:
        silent, kept = _answered(abstained, np.size(y))
        y, predictions = np.asarray(y)[kept], _rows(predictions, kept)
        weights = None if weights is None else checked_weights(weights, len(kept))[kept]  # type: ignore[index]
    case = Case.of(y, predictions, weights=weights, lens=lens, classes=classes)
    return curve_of(case, run, silent)


def curve_of(case: Case, run: Run, abstained: int = 0) -> RiskCoverage:
    """Curve of what was checked already."""
    case = case.in_numpy
    if not serves_answers(case.predictions):
        raise InputError(
            "risk and coverage are of one confidence a row, beside whether the answer was right: of several classes "
            "pass lens=kernelcal.TopLabel() (command line: --lens top-label)"
        )
    if case.rows is not None and case.rows.overlap:
        raise InputError(
            "the band of a risk-coverage curve is of independent rows: the measures accuracy, accuracy-at-80, aurc and "
            "excess-aurc allow for clusters"
        )
    p, trials = confidences(case.predictions)
    own = ConfidenceOrder(p, weights_of_answers(case.predictions, case.weights))
    places = np.unique(np.linspace(0, len(p) - 1, min(len(p), _PLACES)).round().astype(int))
    draws = Draws(run.rng, "draws of measures")
    step = max(1, _NUMBERS // len(p))
    parts = [
        own.risks(draws.targets(case.predictions, first, min(first + step, run.draws)) / trials)[:, places]
        for first in range(0, run.draws, step)
    ]
    curves = np.concatenate([own.risks(case.targets[None] / trials)[:, places], *parts])
    drawn = curves[1:]
    tail = (1 - run.confidence_level) / 2
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    far = (((curves - mean) / np.where(spread > 0, spread, 1.0)) ** 2).mean(axis=1)
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    answered = len(p) / (len(p) + abstained)
    return RiskCoverage(
        coverage=own.kept[places] / own.total * answered,
        risk=curves[0],
        expected=drawn.mean(axis=0),
        low=low,
        high=high,
        confidence=p[own.order][places],
        n=len(p),
        abstained=abstained,
        pvalue=float(np.mean(far >= far[0] - 1e-9)),
        confidence_level=run.confidence_level,
        question=case.predictions.question or "",
    )


def _count(number: Any) -> int:
    try:
        found = -1 if isinstance(number, bool | np.bool_) else int(number)
        whole = found >= 0 and found == number
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise InputError(
            f"abstained must be a whole number of questions from 0, or true and false of every row, got {number!r}"
        )
    return found


def _answered(abstained: Any, n: int) -> tuple[int, np.ndarray]:
    """How many rows have no answer, and which have one."""
    without = np.asarray(abstained)
    if without.dtype.kind != "b" or without.shape != (n,):
        raise InputError(
            "abstained must be a number of questions, or true and false of every row, got "
            f"{without.dtype} of shape {without.shape} for {n} rows: of numbers pass abstained == 1"
        )
    if n and without.all():
        raise InputError(f"all {n:,} questions were abstained from: of no answer there is no risk")
    return int(without.sum()), ~without


def _rows(predictions: Any, kept: np.ndarray) -> Any:
    if hasattr(predictions, "event_shape"):
        same, rows = len(predictions) == len(kept), predictions
    else:
        rows = np.asarray(predictions)
        same = rows.shape[:1] == kept.shape
    if not same:
        raise InputError(f"there are {len(kept):,} targets and answers of another number: one row a question")
    return rows[np.flatnonzero(kept)]
