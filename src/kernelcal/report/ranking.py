"""Several models in one short table, in words of the reader."""

from __future__ import annotations

from kernelcal.compare import Comparison
from kernelcal.tables import Grid

__all__ = ["ranking"]


def ranking(compared: Comparison) -> Grid:
    """Models in the order of their conditional error: its interval, the test, and whom they cannot be told from."""
    names = [model.name for model in compared.models]
    level = f"{compared.models[0].ckce.level:.0%} interval"
    scores = [name for name, _ in compared.models[0].evaluation.headline()[:2]]
    within = compared.models[0].equivalence
    extra = [] if within is None else [f"within {within.within:g}?"]
    header = ["model", *scores, "error (CKCE)", level, "test of calibration", *extra, "cannot be told from"]
    rows = []
    for number, model in enumerate(compared.models, 1):
        p, ckce = model.evaluation.pvalue, model.ckce
        tied = [f"{names.index(other) + 1}" for other in compared.tied(model.name)]
        test = "not tested" if p is None else f"p = {p:.3g}"
        inside = [] if model.equivalence is None else [f"p = {model.equivalence.pvalue:.2g}"]
        shown = [value for _, value in model.evaluation.headline()[:2]]
        ends = f"{ckce.lower:.4g} to {ckce.upper:.4g}"
        name = f"{number}. {model.name}"
        rows.append([name, *shown, f"{ckce.estimate:.4g}", ends, test, *inside, ", ".join(tied) or "none"])
    notes = [
        "the order is that of the conditional kernel calibration error (CKCE), which does not depend on how often a "
        "model is confident; numbers in the last column are those of the first",
        *compared.notes,
    ]
    return Grid(f"{compared.n:,} rows, {len(names)} models", header, rows, notes)
