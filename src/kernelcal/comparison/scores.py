"""Quantile forecasts whose outcomes equal quantiles: compared by their scores, since their errors have no values."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.comparison.figures import by_rows
from kernelcal.comparison.result import pairs_table, tested_in_words
from kernelcal.comparison.standing import Standing
from kernelcal.defaults import SIGNIFICANCE
from kernelcal.dependence import MeanLaw
from kernelcal.errors import InputError
from kernelcal.evaluation import Evaluation, evaluated
from kernelcal.inference import PairedDifference
from kernelcal.inference.intervals import Along
from kernelcal.plots import interval_plot
from kernelcal.predictions import Quantiles
from kernelcal.runs import Run, Steps
from kernelcal.statistics import weighted_interval_score_rows_of
from kernelcal.tables import Grid, Shown

__all__ = ["ScoreComparison", "compared_by_scores", "notes_of", "with_ties"]


_WHY = (
    "outcomes equal quantiles, or quantiles each other, so that levels claim bounds and SKCE and CKCE have no "
    "values: the "
    "models are in the order of their weighted interval scores, which judge calibration and sharpness together"
)


@dataclass(frozen=True, repr=False)
class ScoreComparison(Shown):
    """What `compare` found about quantile forecasts with ties: models in the order of their weighted interval scores.

    Attributes
    ----------
    models : tuple of pairs of str and Evaluation
        Names and evaluations, the smallest score first.
    scores : tuple of float
        Weighted interval scores of the models.
    differences : tuple of PairedDifference
        Of every pair of models in the measure ``"WIS"``.
    errors : tuple of float
        Standard errors of the scores, in the order of the models.
    n : int
        Rows.
    seconds : float
        Time taken.
    notes : tuple of str
        What the reader must know.
    alpha : float
        Level at which tests reject and differences are no ties.
    law : MeanLaw or None
        Of differences of rows that depend on each other, and of errors; None of independent rows.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, wide, narrow = [0.0, 1.0, 2.0] * 5, [[-1.0, 1.0, 3.0]] * 15, [[0.0, 1.0, 2.0]] * 15
    >>> models = {name: kc.Quantiles(values, [0.1, 0.5, 0.9]) for name, values in (("wide", wide), ("narrow", narrow))}
    >>> found = kc.compare(y, models, draws=99)
    >>> type(found).__name__, [name for name, _ in found.models]
    ('ScoreComparison', ['narrow', 'wide'])
    """

    models: tuple[tuple[str, Evaluation], ...]
    scores: tuple[float, ...]
    differences: tuple[PairedDifference, ...]
    errors: tuple[float, ...]
    n: int
    seconds: float
    notes: tuple[str, ...] = ()
    alpha: float = SIGNIFICANCE
    law: MeanLaw | None = None

    def __getitem__(self, name: str) -> Evaluation:
        found = dict(self.models)
        if name not in found:
            raise InputError(f"there is no model {name!r}: the models are {', '.join(found)}")
        return found[name]

    def difference(self, measure: str, first: str, second: str) -> PairedDifference:
        """Difference of two models in the measure ``"WIS"``, first minus second."""
        for found in self.differences:
            if found.measure == measure and {found.first, found.second} == {first, second} and first != second:
                return found if found.first == first else found.reversed()
        raise InputError(
            f"there is no difference of {measure!r} between {first!r} and {second!r}: the measure is 'WIS'"
        )

    def tied(self, name: str) -> tuple[str, ...]:
        """Models that cannot be told from one by their scores, at the level `alpha` over all pairs."""
        return tuple(o for o, _ in self.models if o != name and self.difference("WIS", name, o).verdict == "tie")

    @property
    def standing(self) -> Standing:
        """Who leads, who cannot be told from it, and what to do."""
        return Standing.of_scores(self)

    @property
    def verdict(self) -> str:
        """One sentence on the best scores, and one on calibration."""
        standing = self.standing
        best, tied, wrong = standing.best, standing.tied, standing.wrong
        if not tied:
            scores = f"{best} has the best weighted interval score, better than that of every other model."
        elif standing.together:
            scores = "The models are tied: no two of them can be told apart by their weighted interval scores."
        else:
            scores = f"{best} has the best weighted interval score, tied with {', '.join(tied)}."
        return f"{scores} Calibration is rejected for {', '.join(wrong)}." if wrong else scores

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "n": self.n,
            "alpha": self.alpha,
            "verdict": self.verdict,
            "models": [
                {"name": name, "wis": score, "wis_standard_error": error, **found.to_dict()}
                for (name, found), score, error in zip(self.models, self.scores, self.errors, strict=True)
            ],
            "differences": [difference.to_dict() for difference in self.differences],
            "seconds": self.seconds,
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the score of every model with two standard errors to both sides; pairs may differ more surely.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        ends = [(s - 2 * e, s + 2 * e) for s, e in zip(self.scores, self.errors, strict=True)]
        names, label = [name for name, _ in self.models], "weighted interval score, with two standard errors"
        return interval_plot(names, self.scores, ends, label=label, title=f"Quantile forecasts, {self.n:,} rows", ax=ax)

    def _tables(self) -> tuple[Grid, ...]:
        names = [name for name, _ in self.models]
        rows = [
            [
                f"{number} {name}",
                f"{score:.4g} ({error:.2g})",
                "" if found.pvalue is None else f"{found.pvalue:.3g}",
                ", ".join(str(names.index(other) + 1) for other in self.tied(name)) or "none",
            ]
            for number, ((name, found), score, error) in enumerate(
                zip(self.models, self.scores, self.errors, strict=True), 1
            )
        ]
        title = f"{self.verdict} {self.n:,} rows."
        return Grid(
            title, ["model", "WIS\n(standard error)", tested_in_words(self), "tied with"], rows, self.notes
        ), pairs_table(self)


def notes_of(evaluations: Mapping[str, Evaluation]) -> tuple[str, ...]:
    """What the reader must know of one model, named, or of all."""
    said = [(name, note) for name, found in evaluations.items() for note in found.notes]
    return tuple(
        note if len(names) == len(evaluations) else f"{', '.join(names)}: {note}"
        for note in dict.fromkeys(note for _, note in said)
        for names in [[name for name, own in said if own == note]]
    )


def with_ties(models: Mapping[str, Case]) -> bool:
    """Tell whether an outcome equals a quantile, or quantiles each other, in a model of quantile forecasts."""
    quantiles = [case for case in models.values() if isinstance(case.predictions, Quantiles)]
    return any(case.predictions.cells.has_ties(case.targets) for case in quantiles)


def compared_by_scores(
    models: Mapping[str, Case], asked: Mapping[str, Case], run: Run, within: float | None
) -> ScoreComparison:
    """Evaluate every model as what it is, and compare weighted interval scores by the levels that all are asked."""
    started = time.perf_counter()
    if within is not None:
        raise InputError(
            "within= bounds the SKCE, which has no value where outcomes equal quantiles: leave it out; "
            "kernelcal.statistics.claimed_levels tells the gap of every level"
        )
    steps = Steps(run.progress, len(models), run.draws)
    found = {name: evaluated(case, replace(run, progress=steps.next())) for name, case in models.items()}
    steps.finish()
    rows = {name: weighted_interval_score_rows_of(case) for name, case in asked.items()}
    ordered = sorted(models, key=lambda name: float(np.mean(rows[name])))
    dependent, n = next(iter(asked.values())).rows, len(next(iter(rows.values())))
    along = None if dependent is None else Along(dependent)
    found_pairs = by_rows("WIS", {name: rows[name] for name in ordered}, along=along)
    differences = (replace(d, alpha=run.alpha) for d in found_pairs)
    notes = (_WHY, *notes_of(found)) if along is None else (_WHY, *along.law.notes, *notes_of(found))
    if along is None:
        errors = tuple(float(rows[name].std(ddof=1)) / n**0.5 for name in ordered)
    else:
        errors = tuple(along.law.error(rows[name]) for name in ordered)
    scores = tuple(float(rows[name].mean()) for name in ordered)
    own = tuple((name, found[name]) for name in ordered)
    seconds = time.perf_counter() - started
    return ScoreComparison(
        own, scores, tuple(differences), errors, n, seconds, notes, run.alpha, None if along is None else along.law
    )
