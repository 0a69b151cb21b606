"""Where a model is wrong, as short tables with numbers that a reader can weigh."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernelcal.explain import Explanation, GroupFinding
from kernelcal.report.figures import GroupGap
from kernelcal.report.intervals import level_in_words
from kernelcal.report.result import ModelReport
from kernelcal.tables import Grid

__all__ = ["where"]

_SENTENCES, _GROUPS, _CLASSES = 8, 30, 10


def where(model: ModelReport) -> dict[str, Any]:
    """Sentences and tables; nothing without an explanation."""
    found = model.explanation
    if found is None:
        return {}
    regions = sorted(found.regions, key=lambda region: -abs(region.gap))
    sentences = [region.sentence for region in regions[:_SENTENCES]]
    return {
        "sentences": [text[:1].upper() + text[1:] for text in sentences],
        "left": len(regions) - len(sentences),
        "tables": _tables(found, model),
        "witness": found.witness,
        "groups": len(found.groups),
        "rejected": len(found.rejected),
        "sampled": model.explained_rows if _sampled(model) else 0,
        "notes": [note for note in found.notes if note not in model.evaluation.notes],
    }


def _tables(found: Explanation, model: ModelReport) -> list[Grid]:
    tables = []
    if found.groups:
        tables.append(_groups(found, model))
    wrong = model.evaluation.pvalue is not None and model.evaluation.pvalue <= 1 - found.confidence_level
    if found.classes and wrong:
        tables.append(_classes(found))
    if found.rows and wrong:
        tables.append(_rows(found, model))
    return tables


def _groups(found: Explanation, model: ModelReport) -> Grid:
    numbers = found.gap_name == "mean standardised residual"
    gap = "outcome minus predicted mean, in standard deviations" if numbers else "happened minus said, points"
    rows = [_group(g, model.group_gaps[g.column, g.name], 2 if numbers else 1) for g in found.groups[:_GROUPS]]
    left = len(found.groups) - len(rows)
    level = f"{1 - found.confidence_level:.0%}"
    sampled = f", which rest on the {model.explained_rows:,} rows of the random choice" * _sampled(model)
    notes = [
        f"p-values{sampled} are exact and corrected for the number of groups: of a calibrated model any of them is "
        f"below {level} in at most {level} of data sets",
        "a group is tested for errors of all kinds, not for its average alone",
        *([f"not shown: {left} that are less sure"] if left else []),
    ]
    header = ["group", "rows", gap, f"{level_in_words(found.confidence_level)} interval", "p", "what is wrong"]
    return Grid("Groups, the surest first", header, rows, notes)


def _group(g: GroupFinding, seen: GroupGap, digits: int) -> list[str]:
    low, high = seen.gap - seen.half, seen.gap + seen.half
    interval = "none" if math.isnan(seen.half) else f"{low:+.{digits}f} to {high:+.{digits}f}"
    p = "not tested" if g.pvalue is None else f"{g.pvalue:.3g}"
    numbers = [text.replace("-", "\N{MINUS SIGN}") for text in (f"{seen.gap:+.{digits}f}", interval)]
    return [f"{g.column}: {g.name}", f"{seen.rows:,}", *numbers, p, "; ".join(g.directions[:1])]


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
    rows = [[f"{r.row:,}", r.predicted, r.happened, _share(r.contribution * n, total, "x")] for r in found.rows]
    sampled = " of the random choice" * _sampled(model)
    notes = [
        f"row numbers{sampled} count from 0 and, where rows were dropped, only those that were kept; such rows are "
        "worth a look, but each may be chance"
    ]
    return Grid("Rows that add most to the error", ["row", "said", "happened", "times the average row"], rows, notes)


def _share(part: float, total: float, unit: str = "%") -> str:
    """Part of the whole; without a whole above 0 there is none."""
    if not np.isfinite(part) or total <= 0:
        return ""
    return f"{100 * part / total:.0f} %" if unit == "%" else f"{part / total:.1f}"
