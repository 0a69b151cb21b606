"""How a comparison prints: one line a model, one line a pair."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernelcal.inference.paired import PairedDifference
from kernelcal.kernels import Kernel, Stationary
from kernelcal.tables import Grid

if TYPE_CHECKING:
    from kernelcal.compare.comparison import ComparedModel, Comparison

__all__ = ["models_table", "pairs_table"]

_PAIRS = 45  # ten models; of more pairs the surest are shown


def models_table(comparison: Comparison) -> Grid:
    """Return the models in the order of their CKCE."""
    rows = [_model_row(number, model, comparison) for number, model in enumerate(comparison.models, 1)]
    figures = [name.replace(", ", "\n") for name, _ in comparison.models[0].evaluation.headline()]
    level = f"{comparison.models[0].ckce.confidence_level:.0%} interval"
    within = comparison.models[0].equivalence
    extra = [] if within is None else [f"within\n{within.within:g}"]
    header = ["model", *figures, "SKCE", "exact\np-value", "CKCE", level, "plug-in", *extra, "tied with"]
    skce, ckce = comparison.skce, comparison.ckce
    kernels = (
        f"SKCE: {_rounded(skce.prediction_kernel)}, {_rounded(skce.target_kernel)}",
        f"CKCE without the noise of the targets: {_rounded(ckce.prediction_kernel)}, {_rounded(ckce.target_kernel)}; "
        "plug-in: as published, with it",
    )
    title = f"{comparison.verdict} {comparison.n:,} rows."
    return Grid(title, header, rows, (*kernels, *comparison.notes))


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
        *(value for _, value in model.evaluation.headline()),
        f"{float(model.evaluation.estimate):.2e}",
        "" if p is None else f"{p:.3g}",
        f"{interval.estimate:.2e}",
        f"{interval.lower:.2e} to {interval.upper:.2e}",
        f"{model.plug_in:.2e}",
        *within,
        tied or "none",
    ]


def pairs_table(comparison: Comparison) -> Grid:
    """Return the differences of all pairs, one line a pair; of very many pairs those of which most is known."""
    measures = list(dict.fromkeys(d.measure for d in comparison.differences))
    found = {(d.measure, d.first, d.second): d for d in comparison.differences}
    pairs = list(dict.fromkeys((d.first, d.second) for d in comparison.differences))
    shown = pairs
    if len(pairs) > _PAIRS:
        shown = sorted(pairs, key=lambda pair: _sure(found[measures[0], *pair]))[:_PAIRS]
    rows = [[" - ".join(pair), *(_difference(found[m, *pair]) for m in measures)] for pair in shown]
    notes = ["difference (standard error), p-value corrected by Holm over the pairs; below 0 the first model is better"]
    if len(shown) < len(pairs):
        notes.append(f"{len(shown)} of {len(pairs)} pairs are shown, those whose {measures[0]} differs most surely")
    both_near_0 = sum(bool(d.notes) and d.measure == "SKCE" for d in comparison.differences)
    if both_near_0:
        notes.append("~: both models are calibrated as far as the exact test can tell; their SKCE is tied near 0")
    return Grid("Paired differences", ["pair", *measures], rows, notes)


def _sure(difference: PairedDifference) -> float:
    return math.inf if difference.pvalue is None else difference.pvalue


def _difference(d: PairedDifference) -> str:
    if d.standard_error is None or d.adjusted is None:
        return f"{d.difference:+.3g}"
    if d.better is not None:
        sign = "*"
    else:
        sign = "~" if d.notes else "tie"
    return f"{d.difference:+.2e} ({d.standard_error:.1e}), p = {d.adjusted:.2g} {sign}"
