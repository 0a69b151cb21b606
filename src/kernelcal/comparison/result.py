"""What a comparison of several models found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelcal.comparison.standing import Standing
from kernelcal.dependence import MeanLaw
from kernelcal.errors import InputError
from kernelcal.evaluation import Evaluation
from kernelcal.inference import Equivalence, Interval, PairedDifference
from kernelcal.kernels import Kernel, Stationary
from kernelcal.plots import interval_plot
from kernelcal.statistics import CKCE, SKCE
from kernelcal.tables import Grid, Shown, Table

__all__ = ["ComparedModel", "Comparison", "pairs_table", "shared_figures", "surest_pairs", "tested_in_words"]


_PAIRS = 45  # ten models; of more pairs the surest are shown


@dataclass(frozen=True)
class ComparedModel(Shown):
    """One model of a comparison.

    Attributes
    ----------
    name : str
        Its name.
    evaluation : Evaluation
        Scores, SKCE with interval, exact test, as of `evaluate`, with the kernels that all models share.
    ckce : Interval
        Conditional error without the noise of the targets, and its interval.
    plug_in : float
        Conditional error as published, the noise of the targets in it.
    equivalence : Equivalence or None
        Whether it is calibrated to within the bound that was asked for.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m1(3).sample(40, rng=0)
    >>> first = kc.compare(y, {"right": p, "flat": [[1 / 3] * 3] * 40}, draws=99).models[0]
    >>> first.name, first.evaluation.n
    ('flat', 40)
    """

    name: str
    evaluation: Evaluation
    ckce: Interval
    plug_in: float
    equivalence: Equivalence | None = None

    def _tables(self) -> tuple[Table | Grid, ...]:
        own = [
            ("CKCE without the noise of the targets", f"{self.ckce.estimate:.4g}"),
            (f"{self.ckce.confidence_level:.0%} interval", f"{self.ckce.lower:.4g} to {self.ckce.upper:.4g}"),
            ("plug-in", f"{self.plug_in:.4g}"),
        ]
        within = () if self.equivalence is None else self.equivalence._tables()
        return (Table(self.name, own, self.ckce.notes), self.evaluation._table(), *within)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        within = None if self.equivalence is None else self.equivalence.to_dict()
        own = {"ckce": self.ckce.to_dict(), "ckce_plug_in": self.plug_in, "equivalence": within}
        return {"name": self.name, **self.evaluation.to_dict(), **own}


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """What `compare` found: models in the order of their CKCE, and the difference of every pair.

    Attributes
    ----------
    models : tuple of ComparedModel
        Sorted, the smallest CKCE first.
    differences : tuple of PairedDifference
        For every measure every pair of models, in the order of `models`.
    skce, ckce : SKCE, CKCE
        The statistics with the kernels and lengthscales that all models share.
    n : int
        Rows.
    seconds : float
        Time taken.
    notes : tuple of str
        What the reader must know.
    law : MeanLaw or None
        Of differences of rows that depend on each other, their errors and intervals; None of independent rows.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m1(3).sample(40, rng=0)
    >>> found = kc.compare(y, {"right": p, "flat": [[1 / 3] * 3] * 40}, draws=99)
    >>> [model.name for model in found.models], found.difference("log score", "right", "flat").difference < 0
    (['flat', 'right'], True)
    """

    models: tuple[ComparedModel, ...]
    differences: tuple[PairedDifference, ...]
    skce: SKCE
    ckce: CKCE
    n: int
    seconds: float
    notes: tuple[str, ...] = ()
    law: MeanLaw | None = None

    def __getitem__(self, name: str) -> ComparedModel:
        for model in self.models:
            if model.name == name:
                return model
        raise InputError(f"there is no model {name!r}: the models are {', '.join(m.name for m in self.models)}")

    def difference(self, measure: str, first: str, second: str) -> PairedDifference:
        """Difference of two models in a measure such as ``"CKCE"``, first minus second."""
        for found in self.differences:
            if found.measure == measure and {found.first, found.second} == {first, second} and first != second:
                return found if found.first == first else found.reversed()
        known = ", ".join(dict.fromkeys(d.measure for d in self.differences))
        raise InputError(
            f"there is no difference of {measure!r} between {first!r} and {second!r}: the measures are {known}, and "
            f"the models {', '.join(m.name for m in self.models)}"
        )

    def tied(self, name: str, measure: str = "CKCE") -> tuple[str, ...]:
        """Models that cannot be told from one in a measure, at the level `alpha` over all pairs."""
        others = [model.name for model in self.models if model.name != self[name].name]
        return tuple(other for other in others if self.difference(measure, name, other).verdict == "tie")

    @property
    def alpha(self) -> float:
        """Level at which tests reject and differences are no ties."""
        return self.models[0].evaluation.alpha

    @property
    def scores(self) -> dict[str, float]:
        """Mean log score of every model that has one, in nats; infinite where an outcome had probability 0."""
        values = {m.name: getattr(m.evaluation, "log_score", None) for m in self.models}
        values |= {m.name: getattr(m.evaluation, "negative_log_likelihood", values[m.name]) for m in self.models}
        return {name: float(value) for name, value in values.items() if value is not None}

    @property
    def best_score(self) -> str | None:
        """Model with the smallest log score; None where not all models have one."""
        scores = self.scores
        return min(scores, key=lambda name: scores[name]) if len(scores) == len(self.models) else None

    @property
    def score_in_words(self) -> str:
        """What the proper score says beside the calibration error; empty where it says the same.

        A model may be calibrated because it says little, and a score that is infinite is no praise. Where no model is
        the best calibrated one, the best score is that of some model beside the others'.
        """
        first, best, scores = self.models[0].name, self.best_score, self.scores
        infinite = [m.name for m in self.models if math.isinf(scores.get(m.name, 0.0))]
        said = ""
        if best is not None and best != first and scores[best] < scores[first]:
            said = self._score_beside(best, first)
            infinite = [name for name in infinite if name != first]  # it is said there
        elif best is not None and len(self.tied(first)) == len(self.models) - 1:
            second = min((name for name in scores if name != best), key=lambda name: scores[name])
            said = self._score_beside(best, second) if scores[best] < scores[second] else ""
        beyond = f"the log score of {', '.join(infinite)} is infinite: an outcome had probability 0" if infinite else ""
        return "; ".join(filter(None, [said, beyond]))

    def _score_beside(self, best: str, other: str) -> str:
        """The best log score, that of another model, and whether they differ by more than chance."""
        sure = self.difference("log score", best, other).better == best if self._has("log score") else True
        far = "" if sure else ", which may be chance"
        score = f"that of {other} is {_number(self.scores[other])}"
        return f"{best} has the best log score ({self.scores[best]:.4g}, {score}){far}"

    def _has(self, measure: str) -> bool:
        return any(d.measure == measure for d in self.differences)

    @property
    def verdict(self) -> str:
        """One sentence on the best calibrated model, and on the best log score where that is another's."""
        return " ".join(filter(None, [self._by_ckce, _sentence(self.score_in_words)]))

    @property
    def standing(self) -> Standing:
        """Who leads, who cannot be told from it, and what to do."""
        return Standing.of_errors(self)

    def surely_lower_score(self, first: str, second: str) -> bool:
        """Whether a model's log score is below another's by more than chance, or the other's is infinite."""
        if math.isinf(self.scores[second]) and math.isfinite(self.scores[first]):
            return True
        return self._has("log score") and self.difference("log score", first, second).better == first

    @property
    def _by_ckce(self) -> str:
        standing = self.standing
        best, tied = standing.best, standing.tied
        if standing.ruled_out:
            return f"{best} has the smallest CKCE, but gave an outcome probability 0."
        if not tied:
            return f"{best} is the best calibrated: its CKCE is below that of every other model."
        if standing.together:
            return "The models are tied: no two of them can be told apart by their CKCE."
        return f"{best} has the smallest CKCE, tied with {', '.join(tied)}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        kernels = {
            name: {"prediction_kernel": str(s.prediction_kernel), "target_kernel": str(s.target_kernel)}
            for name, s in (("skce", self.skce), ("ckce", self.ckce))
        }
        return {
            "n": self.n,
            "alpha": self.alpha,
            "verdict": self.verdict,
            "models": [model.to_dict() for model in self.models],
            "differences": [difference.to_dict() for difference in self.differences],
            "kernels": kernels,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }

    def _tables(self) -> tuple[Grid, ...]:
        return models_table(self), pairs_table(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the CKCE of every model with its interval; models whose intervals overlap may still differ.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingExtraError
            Without matplotlib, the extra ``plot``.
        """
        level = self.models[0].ckce.confidence_level
        return interval_plot(
            [model.name for model in self.models],
            [model.ckce.estimate for model in self.models],
            [(model.ckce.lower, model.ckce.upper) for model in self.models],
            label=f"CKCE without the noise of the targets, with {level:.0%} interval",
            title=f"Conditional calibration error, {self.n:,} rows",
            ax=ax,
        )


def _number(score: float) -> str:
    return f"{score:.4g}" if math.isfinite(score) else "infinite"


def _sentence(words: str) -> str:
    """Words as a sentence; names of models keep their letters."""
    return f"{words[:1].upper() + words[1:] if words.startswith('the ') else words}." if words else ""


def sort_key(model: ComparedModel) -> float:
    """CKCE of a model; one that is not a number comes last."""
    return model.ckce.estimate if math.isfinite(model.ckce.estimate) else math.inf


def models_table(comparison: Comparison) -> Grid:
    """Return the models in the order of their CKCE."""
    rows = [_model_row(number, model, comparison) for number, model in enumerate(comparison.models, 1)]
    figures = [name.replace(", ", "\n") for name in shared_figures(comparison)]
    level = f"{comparison.models[0].ckce.confidence_level:.0%} interval"
    within = comparison.models[0].equivalence
    extra = [] if within is None else [f"within\n{within.within:g}"]
    header = ["model", *figures, "SKCE", tested_in_words(comparison), "CKCE", level, "plug-in", *extra, "tied with"]
    skce, ckce = comparison.skce, comparison.ckce
    kernels = (
        f"SKCE: {_rounded(skce.prediction_kernel)}, {_rounded(skce.target_kernel)}",
        f"CKCE without the noise of the targets: {_rounded(ckce.prediction_kernel)}, {_rounded(ckce.target_kernel)}; "
        "plug-in: as published, with it",
    )
    title = f"{comparison.verdict} {comparison.n:,} rows."
    return Grid(title, header, rows, (*kernels, *comparison.notes))


def tested_in_words(comparison: Any) -> str:
    """Header of p-values of calibration, which are exact of independent rows."""
    return "exact\np-value" if comparison.law is None else "p-value"


def shared_figures(comparison: Comparison) -> list[str]:
    """Names of the figures that all models have: those of quantile forecasts and of whole distributions differ."""
    known = [dict(model.evaluation.headline()) for model in comparison.models]
    return [name for name in known[0] if all(name in own for own in known)]


def _rounded(kernel: Kernel | None) -> str:
    """Lengthscales to four digits, for the reader."""

    def leaf(k: Kernel) -> Kernel:
        return k.with_lengthscale(float(f"{k.lengthscale:.4g}")) if isinstance(k, Stationary) else k

    return "" if kernel is None else str(kernel.map_leaves(leaf))


def _model_row(number: int, model: ComparedModel, comparison: Comparison) -> list[str]:
    names = [other.name for other in comparison.models]
    tied = ", ".join(str(names.index(name) + 1) for name in comparison.tied(model.name))
    p, interval = model.evaluation.pvalue, model.ckce
    within = [] if model.equivalence is None else [f"p = {model.equivalence.pvalue:.2g}"]
    return [
        f"{number} {model.name}",
        *(dict(model.evaluation.headline())[name] for name in shared_figures(comparison)),
        f"{float(model.evaluation.estimate):.2e}",
        "" if p is None else f"{p:.3g}",
        f"{interval.estimate:.2e}",
        f"{interval.lower:.2e} to {interval.upper:.2e}",
        f"{model.plug_in:.2e}",
        *within,
        tied or "none",
    ]


def pairs_table(comparison: Any) -> Grid:
    """Return the differences of all pairs, one line a pair; of very many pairs those of which most is known."""
    measures = list(dict.fromkeys(d.measure for d in comparison.differences))
    found = {(d.measure, d.first, d.second): d for d in comparison.differences}
    pairs = list(dict.fromkeys((d.first, d.second) for d in comparison.differences))
    shown = pairs
    if len(pairs) > _PAIRS:
        shown = surest_pairs(comparison.differences)[:_PAIRS]
    rows = [[" - ".join(pair), *(_difference(found[m, *pair]) for m in measures)] for pair in shown]
    notes = ["difference (standard error), p-value corrected by Holm over the pairs; below 0 the first model is better"]
    if len(shown) < len(pairs):
        notes.append(f"{len(shown)} of {len(pairs)} pairs are shown, those whose {measures[0]} differs most surely")
    both_near_0 = sum(bool(d.notes) and d.measure == "SKCE" for d in comparison.differences)
    if both_near_0:
        test = "the exact test" if comparison.law is None else "the test of dependent rows"
        notes.append(f"~: both models are calibrated as far as {test} can tell; their SKCE is tied near 0")
    return Grid("Paired differences", ["pair", *measures], rows, notes)


def surest_pairs(differences: Sequence[PairedDifference]) -> list[tuple[str, str]]:
    """Pairs of models by the p-value of the first measure, smallest first; pairs that cannot be compared come last."""
    first = [d for d in differences if d.measure == differences[0].measure]
    known = sorted(first, key=lambda d: math.inf if d.pvalue is None else d.pvalue)
    return [(d.first, d.second) for d in known]


def _difference(d: PairedDifference) -> str:
    if d.standard_error is None or d.adjusted is None:
        return f"{d.difference:+.3g}"
    if d.better is not None:
        sign = "*"
    else:
        sign = "~" if d.notes else "tie"
    return f"{d.difference:+.2e} ({d.standard_error:.1e}), p = {d.adjusted:.2g} {sign}"
