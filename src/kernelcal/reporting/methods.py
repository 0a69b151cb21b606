"""How it was found and what it assumes, in plain words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelcal.comparison import Comparison, ScoreComparison
from kernelcal.dependence import Dependence
from kernelcal.explanation import ByGroup
from kernelcal.plots import percent
from kernelcal.reporting.result import ModelReport
from kernelcal.runs import Run

__all__ = ["assumptions", "groups_in_words", "independent_rows", "kernels_in_words", "methods"]


_LONG = re.compile(r"\d+\.\d{5,}")  # digits that say nothing
_LEAST = "least gap"
_BESIDE = re.compile(
    r"whatever the dependence|by flipped signs|rows of one cluster|clusters differ|few |.*: the p-value"
)
_NO_PLACES = (
    "Where outcomes equal quantiles, or quantiles each other, residuals have bounds and no values: no place and no row "
    "is named, and groups are tested by what their levels claim."
)


def methods(
    models: Sequence[ModelReport], compared: Comparison | ScoreComparison | None, run: Run
) -> list[tuple[str, str]]:
    """Names of the methods and what each does."""
    first = models[0].evaluation
    found = [("Question", "Calibration: among all rows with the same prediction, do outcomes follow that prediction?")]
    if first.question:
        found.append(("Lens", f"Everything here is about a simpler question: {first.question}."))
    if first.test is not None:
        found.append(("Test", _test(models, run)))
        found.append(("Level", _level(models, run)))
    name = first.estimate.name
    kernels = kernels_in_words(first.estimate.options)
    size = f"{name}, {first.estimate.estimator}: {kernels}. Computed by: {first.estimate.engine}."
    if name == _LEAST:
        size = "Root mean square gap between claimed and observed levels, the least that agrees with the claims."
    found.append(("Size of the error", size))
    if first.interval is not None:
        nominal = f"nominal {first.interval.confidence_level:.0%}, {first.interval.method}"
        found.append(("Interval of the error", f"{nominal}. It may miss its level in small samples."))
    own = "Clopper-Pearson for shares, the normal law for means over rows"
    if models[0].rows is not None:
        found.append(("Rows that depend on each other", _dependence(models[0])))
        if models[0].rows.overlap:
            own = (
                "of means the law of Student of sums over clusters or stretches, less their skewness (Hall); of shares "
                "Clopper and Pearson's for as many independent rows as have their error"
            )
    words = f"{percent(run.confidence_level)}: {own}. With case weights there are none."
    found.append(("Intervals of shares and means", words))
    if any(model.explanation is not None for model in models):
        found.append(("Where it is wrong", _explained(models, run)))
    if any(model.evaluation.estimate.name == _LEAST for model in models):
        found.append(("Outcomes that equal quantiles", _NO_PLACES))
    groups = models[0].evaluation.by_group
    if groups is not None:
        found.append(("Groups", groups_in_words(groups)))
    if compared is not None:
        found.append(("Comparison", _comparison(compared, run)))
    return found


def assumptions(models: Sequence[ModelReport], compared: Comparison | ScoreComparison | None) -> list[str]:
    """What the reader must make sure of."""
    independent = (
        "Rows are independent of each other, given the predictions. Answers to one prompt, visits of one patient or "
        "neighbouring days may not be: p-values are then too small, and intervals too short."
    )
    found = [
        independent_rows(models[0].rows, independent),
        "The model was not fitted, chosen or recalibrated on these rows.",
    ]
    if any(model.evaluation.by_group is not None for model in models):
        found.append("Groups were not chosen by looking at the outcomes.")
    if compared is not None:
        found.append("All models predict the same rows.")
    return [*found, "A large p-value does not show that a model is calibrated: small errors and few rows hide."]


def independent_rows(
    rows: Dependence | None, alone: str = "Rows are independent of each other, given the predictions."
) -> str:
    """Which rows must be independent of each other; `alone` where none depend."""
    if rows is None:
        return alone
    if rows.clusters is not None:
        return "Rows of different clusters are independent of each other, given the predictions."
    steps = "1 step" if rows.horizon == 1 else f"{rows.horizon} steps"
    return f"Forecasts look {steps} ahead, and different series are independent of each other."


def _dependence(model: ModelReport) -> str:
    """How rows depend, and what p-values rest on."""
    test, rows = model.evaluation.test, model.rows
    assert rows is not None  # for the type checker: it was asked for rows that depend
    beside = [] if test is None else [note for note in test.notes if _BESIDE.match(note)]
    what = rows.in_words if test is None else test.null
    words = ". ".join(f"{text[:1].upper()}{text[1:]}" for text in (what, *beside))
    return f"{words}. P-values, bands and intervals allow for it; what could not be had is left out."


def _test(models: Sequence[ModelReport], run: Run) -> str:
    tests = [model.evaluation.test for model in models if model.evaluation.test is not None]
    laws = ", ".join(dict.fromkeys(test.null for test in tests))
    members = len(tests[0].members)
    several = f"{members} measures of error are ranked together, which keeps one p-value for all. " * (members > 1)
    stopping = "; drawing stops early once p is clearly large" * run.early_stopping
    exact = "The p-value is exact at every number of rows. " * laws.startswith("exact")
    return (
        f"{several}Their values are compared with those of outcomes drawn from the predictions themselves: {laws}, "
        f"up to {run.draws:,} draws{stopping}. {exact}It is never 0."
    )


def _level(models: Sequence[ModelReport], run: Run) -> str:
    often = "in at most" if models[0].rows is None else "in about"
    return (
        f"The verdict, the places, classes, groups and rows that are named, and differences of models all ask for the "
        f"level {percent(run.alpha)}: of a calibrated model each of these says something wrong {often} so many data "
        f"sets. It does not depend on the coverage of the intervals, {percent(run.confidence_level)}."
    )


def kernels_in_words(options: dict[str, object]) -> str:
    """Kernels of an estimate, with as many digits as say something."""
    named = ((key.replace("_", " "), value) for key, value in options.items() if "kernel" in key)
    words = "; ".join(f"{key} {value}" for key, value in named) or "default kernels"
    return _LONG.sub(lambda number: f"{float(number[0]):.4g}", words)


def _explained(models: Sequence[ModelReport], run: Run) -> str:
    level = percent(1 - run.alpha)
    rows = [m for m in models if m.explanation is not None and m.explained_rows < m.evaluation.n]
    some = f" It rests on {rows[0].explained_rows:,} rows, chosen at random by the seed." if rows else ""
    return (
        f"The gap between what happened and what was said is smoothed over similar predictions. In {level} of data "
        f"sets a calibrated model stays inside the band everywhere, and each place outside counts.{some}"
    )


def groups_in_words(found: ByGroup) -> str:
    """How groups are tested."""
    rows = "of every set of independent rows" if found.law.startswith("of ") else "for all rows"
    return (
        f"{found.test_in_words[:1].upper()}{found.test_in_words[1:]}. All groups are compared with the same "
        f"{found.draws:,} sets of outcomes, drawn {rows} (Westfall and Young, step-down)."
    )


def _comparison(compared: Comparison | ScoreComparison, run: Run) -> str:
    law = "These p-values are those of many rows."
    if compared.law is not None:
        law = f"{compared.law.notes[0][:1].upper()}{compared.law.notes[0][1:]}."
    if isinstance(compared, ScoreComparison):
        return (
            "The mean weighted interval score of every model by the levels that are forecast; differences of pairs on "
            "the same rows, with p-values corrected for the number of pairs (Holm), at "
            f"{percent(run.alpha)}. {law}"
        )
    units = "rows" if compared.law is None else "clusters or stretches of rows"
    return (
        f"The conditional error (CKCE, without the noise of the outcomes) of every model, with the {units} drawn again "
        f"{run.draws:,} times for its interval; differences of pairs on the same rows, with p-values corrected "
        f"for the number of pairs (Holm), at {percent(run.alpha)}. {law}"
    )
