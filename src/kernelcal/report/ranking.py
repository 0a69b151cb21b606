"""Several models in two short tables, in words of the reader."""

from __future__ import annotations

import math

from kernelcal.compare import Comparison
from kernelcal.inference.paired import PairedDifference
from kernelcal.report.intervals import level_in_words
from kernelcal.tables import Grid

__all__ = ["pairs", "ranking"]

_PAIRS = 45  # ten models; of more pairs the surest are shown


def ranking(compared: Comparison) -> Grid:
    """Models in the order of their conditional error: its interval, the test, and whom they cannot be told from."""
    names, first = [model.name for model in compared.models], compared.models[0]
    digits = _digits([model.ckce.estimate for model in compared.models])
    scores = [name for name, _ in first.evaluation.headline()[:2]]
    extra = [] if first.equivalence is None else [f"error below {first.equivalence.within:g}?"]
    interval = f"{first.ckce.confidence_level:.0%} interval"
    header = ["model", *scores, "error (CKCE)", interval, "test of calibration", *extra]
    rows = []
    for number, model in enumerate(compared.models, 1):
        p, ckce = model.evaluation.pvalue, model.ckce
        rows.append(
            [
                f"{number}. {model.name}",
                *(value for _, value in model.evaluation.headline()[:2]),
                f"{ckce.estimate:.{digits}f}",
                f"{ckce.lower:.{digits}f} to {ckce.upper:.{digits}f}",
                "not tested" if p is None else f"p = {p:.3g}",
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


def pairs(compared: Comparison) -> Grid:
    """Differences of all pairs with their intervals, and which are more than chance."""
    from scipy.special import ndtri  # imported when needed, as everywhere

    level = compared.models[0].ckce.confidence_level
    z = float(ndtri(0.5 + level / 2))
    measures = list(dict.fromkeys(d.measure for d in compared.differences))
    found = {(d.measure, d.first, d.second): d for d in compared.differences}
    every = list(dict.fromkeys((d.first, d.second) for d in compared.differences))
    surest = sorted(every, key=lambda pair: _sure(found[measures[0], *pair]))[:_PAIRS]
    shown = [pair for pair in every if pair in set(surest)]
    digits = {m: _digits([abs(d.difference) for d in compared.differences if d.measure == m]) for m in measures}
    rows = [
        [" \N{MINUS SIGN} ".join(pair), *(_difference(found[m, *pair], digits[m], z) for m in measures)]
        for pair in shown
    ]
    notes = [
        "first minus second, so that below 0 the first is better; after \N{PLUS-MINUS SIGN} half of the "
        f"{level_in_words(level)} interval; p-values are corrected for the number of pairs (Holm); tie: not told apart "
        "at 5 %",
    ]
    notes += [f"{len(every) - len(shown)} pairs that are less sure are left out"] if len(shown) < len(every) else []
    return Grid("", ["pair", *(f"difference in {m}" for m in measures)], rows, notes)


def _sure(difference: PairedDifference) -> float:
    return math.inf if difference.pvalue is None else difference.pvalue


def _difference(d: PairedDifference, digits: int, z: float) -> str:
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
