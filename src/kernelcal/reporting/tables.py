"""Tables of the page: models in their order and in pairs, and where one model is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernelcal.comparison import Comparison, ScoreComparison, shared_figures, surest_pairs
from kernelcal.dependence import errors_aside
from kernelcal.evaluation import Evaluation
from kernelcal.explanation import ByGroup, Explanation, GroupFinding
from kernelcal.inference import GivenResult, PairedDifference
from kernelcal.plots import percent
from kernelcal.reporting.result import ModelReport
from kernelcal.tables import Grid, few_rule

__all__ = ["groups_table", "pairs", "ranking", "where"]


_PAIRS = 45  # ten models; of more pairs the surest are shown

_SENTENCES, _GROUPS, _CLASSES = 8, 30, 10


def ranking(compared: Comparison | ScoreComparison, level: float) -> Grid:
    """Models in their order: error or score with its interval, the test, and whom they cannot be told from."""
    return _by_scores(compared, level) if isinstance(compared, ScoreComparison) else _by_errors(compared)


def _by_scores(compared: ScoreComparison, level: float) -> Grid:
    """Models in the order of their weighted interval scores."""
    names, z, digits = [name for name, _ in compared.models], errors_aside(level), _digits(list(compared.scores))
    rows = [
        [
            f"{number}. {name}",
            f"{score:.{digits}f}",
            f"{score - z * error:.{digits}f} to {score + z * error:.{digits}f}",
            _pvalue(found),
            ", ".join(f"{names.index(other) + 1}" for other in compared.tied(name)) or "none",
        ]
        for number, ((name, found), score, error) in enumerate(
            zip(compared.models, compared.scores, compared.errors, strict=True), 1
        )
    ]
    notes = ["numbers in the last column are those of the first", *compared.notes]
    header = ["model", "weighted interval score", f"{percent(level)} interval", "test of calibration"]
    return Grid("", [*header, "cannot be told from"], rows, notes)


def _pvalue(found: Evaluation) -> str:
    return "not tested" if found.pvalue is None else f"p = {found.pvalue:.3g}"


def _by_errors(compared: Comparison) -> Grid:
    """Models in the order of their conditional errors."""
    names, first = [model.name for model in compared.models], compared.models[0]
    digits = _digits([model.ckce.estimate for model in compared.models])
    scores = shared_figures(compared)[:2]
    extra = [] if first.equivalence is None else [f"error below {first.equivalence.within:g}?"]
    interval = f"{first.ckce.confidence_level:.0%} interval"
    header = ["model", *scores, "error (CKCE)", interval, "test of calibration", *extra]
    rows = []
    for number, model in enumerate(compared.models, 1):
        ckce = model.ckce
        rows.append(
            [
                f"{number}. {model.name}",
                *(dict(model.evaluation.headline())[name].replace("inf", "infinite") for name in scores),
                f"{ckce.estimate:.{digits}f}",
                f"{ckce.lower:.{digits}f} to {ckce.upper:.{digits}f}",
                _pvalue(model.evaluation),
                *([] if model.equivalence is None else [f"p = {model.equivalence.pvalue:.2g}"]),
                ", ".join(f"{names.index(other) + 1}" for other in compared.tied(model.name)) or "none",
            ]
        )
    notes = [
        "the order is that of the conditional kernel calibration error (CKCE), which does not depend on how often a "
        "model is confident; numbers in the last column are those of the first",
        *(
            []
            if first.equivalence is None
            else ["a small p-value shows that the error (root of SKCE) is below the bound"]
        ),
        *compared.notes,
    ]
    return Grid("", [*header, "cannot be told from"], rows, notes)


def pairs(compared: Comparison | ScoreComparison, level: float) -> Grid:
    """Differences of all pairs with their intervals, and which are more than chance."""
    z = errors_aside(level, compared.law)
    measures = list(dict.fromkeys(d.measure for d in compared.differences))
    found = {(d.measure, d.first, d.second): d for d in compared.differences}
    every = list(dict.fromkeys((d.first, d.second) for d in compared.differences))
    surest = set(surest_pairs(compared.differences)[:_PAIRS])
    shown = [pair for pair in every if pair in surest]
    digits = {m: _digits([abs(d.difference) for d in compared.differences if d.measure == m]) for m in measures}
    rows = [
        [" \N{MINUS SIGN} ".join(pair), *(_difference(found[m, *pair], digits[m], z) for m in measures)]
        for pair in shown
    ]
    notes = [
        "first minus second, so that below 0 the first is better; after \N{PLUS-MINUS SIGN} half of the "
        f"{percent(level)} interval; p-values are corrected for the number of pairs (Holm); tie: not told apart "
        f"at {percent(compared.alpha)}",
    ]
    notes += [f"{len(every) - len(shown)} pairs that are less sure are left out"] if len(shown) < len(every) else []
    return Grid("", ["pair", *(f"difference in {m}" for m in measures)], rows, notes)


def _difference(d: PairedDifference, digits: int, z: float) -> str:
    if math.isinf(d.difference):
        return f"{d.second if d.difference < 0 else d.first} is infinite"
    if d.standard_error is None or d.adjusted is None:
        return f"{d.difference:+.3g}"
    half = z * d.standard_error
    p = f"p = {d.adjusted:.2g}" if d.adjusted >= 0.0001 else "p < 0.0001"
    words = f"{d.difference:+.{digits}f} \N{PLUS-MINUS SIGN} {half:.{digits}f}, {p}".replace("-", "\N{MINUS SIGN}")
    return words if d.better is not None else f"{words}, tie"


def _digits(values: list[float]) -> int:
    """Decimals that show three digits of the largest value."""
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    return 4 if largest == 0 else max(0, min(9, 2 - math.floor(math.log10(largest))))


def where(model: ModelReport) -> dict[str, Any]:
    """Sentences and tables; nothing without an explanation and without groups."""
    found, groups, test = model.explanation, model.evaluation.by_group, model.evaluation.test
    if found is None and groups is None:
        return {}
    given = None if test is None else test.given
    regions = [] if found is None else sorted(found.regions, key=lambda region: -abs(region.gap))
    sentences = [region.sentence for region in regions[:_SENTENCES]]
    notes = () if found is None else found.notes
    return {
        "sentences": [text[:1].upper() + text[1:] for text in sentences],
        "left": len(regions) - len(sentences),
        "tables": ([] if found is None else _tables(found, model)) + ([] if given is None else [_given(given)]),
        "given": () if given is None else tuple(text[:1].upper() + text[1:] for text in given.sentences),
        "places": 0 if given is None else given.places,
        "witness": None if found is None else found.witness,
        "groups": None if groups is None else groups.verdict,
        "differences": () if groups is None else groups.differences_in_words,
        "by_group": [] if groups is None else [groups_table(groups)],
        "sampled": model.explained_rows if _sampled(model) else 0,
        "notes": [note for note in notes if note not in model.evaluation.notes],
    }


def _tables(found: Explanation, model: ModelReport) -> list[Grid]:
    wrong = model.evaluation.rejected
    return [
        *([_classes(found)] if found.classes and wrong else []),
        *([_rows(found, model)] if found.rows and wrong else []),
    ]


def _given(found: GivenResult) -> Grid:
    """Places of the columns that were given, the surest first."""
    table = found._table()
    notes = [note for note in table.notes if note not in found.sentences]
    return Grid("Places of the columns that were given, the surest first", table.header, table.rows, notes)


def groups_table(found: ByGroup) -> Grid:
    """Groups, the surest first."""
    shown = found.findings[:_GROUPS]
    left = len(found.findings) - len(shown)
    level, numbers = percent(found.confidence_level), found.gap_name == "mean standardised residual"
    notes = [
        found.test_in_words,
        "what is wrong in a group is named where a direction is clear in its rows, the clearest first",
        f"every interval holds {level} by itself: {_intervals(found.law)}; the kernel error is the root of the SKCE of "
        "the group by itself",
        *found.small_in_words,
        *found.notes,
        *([f"not shown: {left} that are less sure"] if left else []),
    ]
    gap = "outcome minus predicted mean, in standard deviations" if numbers else "happened minus said, points"
    interval = f"{level} interval"
    header = ["group", "what is wrong", "p", "rows", "happened", "said", gap, interval, found.score_name, interval]
    return Grid("Groups, the surest first", [*header, "kernel error"], [_group(g, numbers) for g in shown], notes)


def _intervals(law: str) -> str:
    """What intervals of groups are, by how rows depend on each other."""
    if law in ("exact", "conservative") or law.startswith("valid"):
        return "that of shares is Clopper and Pearson's, that of means the normal law's"
    return "it allows for rows that depend on each other, by sums over clusters or windows along time"


def _group(g: GroupFinding, numbers: bool) -> list[str]:
    factor, digits = (1, 2) if numbers else (100, 1)

    def interval(ends: tuple[float, float] | None, form: str, factor: float = 1) -> str:
        return "none" if ends is None else f"{factor * ends[0]:{form}} to {factor * ends[1]:{form}}"

    def share(value: float | None) -> str:
        return "" if value is None else f"{value:.4g}" if numbers else f"{100 * value:.1f} %"

    few = numbers and g.gap is not None and g.median is not None and few_rule(g.gap, g.median)
    gap = "" if g.gap is None else f"{factor * g.gap:+.{digits}f}" + (f" (median {g.median:+.2f})" if few else "")
    figures = [share(g.observed), share(g.predicted), gap, interval(g.gap_interval, f"+.{digits}f", factor)]
    figures += ["" if g.score is None else f"{g.score:.4g}", interval(g.score_interval, ".4g")]
    shown = [text.replace("-", "\N{MINUS SIGN}") for text in (*figures, interval(g.root_interval, ".4f"))]
    p = "not tested" if g.pvalue is None else f"{g.pvalue:.3g}"
    return [f"{g.column}: {g.name}", "; ".join(g.directions), p, f"{g.n:,}", *shown]


def _sampled(model: ModelReport) -> bool:
    return model.explained_rows < model.evaluation.n


def _classes(found: Explanation) -> Grid:
    total = float(found.estimate)
    rows = [
        [c.name, f"{100 * c.predicted:.1f} %", f"{100 * c.observed:.1f} %", _share(c.contribution, total)]
        for c in found.classes[:_CLASSES]
    ]
    left = len(found.classes) - len(rows)
    notes = ["a class may be wrong though its average is right: too sure here, not sure enough there"]
    notes += [f"not shown: {left} that add less"] if left else []
    header = ["class", "said, on average", "happened", "share of the error"]
    return Grid("Classes, those that add most to the error first", header, rows, notes)


def _rows(found: Explanation, model: ModelReport) -> Grid:
    total, n = float(found.estimate), found.n
    rows = [[r.named, r.predicted, r.happened, _share(r.contribution * n, total, "x")] for r in found.rows]
    notes = [
        "row 0 is the first below the names of the columns, and rows that were left out are counted where a file was "
        "read; of equal rows the first is named; rows like one err in nearly the same way at nearly the same "
        "prediction, and are not shown; such rows are worth a look, but each may be chance"
    ]
    if any(r.happened.endswith(")") for r in found.rows):
        notes.append("in brackets the probability that was stated: of the first choice, and of what happened")
    return Grid("Rows that add most to the error", ["row", "said", "happened", "times the average row"], rows, notes)


def _share(part: float, total: float, unit: str = "%") -> str:
    """Part of the whole; without a whole above 0 there is none."""
    if not np.isfinite(part) or total <= 0:
        return ""
    return f"{100 * part / total:.0f} %" if unit == "%" else f"{part / total:.1f}"
