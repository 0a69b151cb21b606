"""Which pictures sums of one pass allow, of which no row is kept."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kernelcal.dependence import binomial_interval
from kernelcal.explanation import ByGroup
from kernelcal.plots import interval_plot, levels_plot, percent, reliability_plot
from kernelcal.reporting.pictures.models import evidence_drawing
from kernelcal.reporting.pictures.svg import Drawing
from kernelcal.statistics import BinTable

if TYPE_CHECKING:  # other pages need no sketches
    from kernelcal.sketch import SketchResult

__all__ = ["BELOW_LEVEL", "drawings_of_sums"]


BELOW_LEVEL = "share below level "  # what such means are called in the result
_GROUPS = 30  # that are drawn


def drawings_of_sums(found: SketchResult, level: float) -> list[Drawing]:
    """Pictures of what bins, levels and groups of one pass hold, and of what the test saw."""
    drawings = [_reliability(e.name, e.tables[0], level) for e in found.eces[:2]]
    levels = {float(k.removeprefix(BELOW_LEVEL)): v for k, v in found.means.items() if k.startswith(BELOW_LEVEL)}
    if levels:
        drawings.append(_of_levels(np.array(list(levels)), np.array(list(levels.values())), found.n, level))
    if found.by_group is not None:
        drawings.append(_of_groups(found.by_group))
    assert found.test is not None  # for the type checker: every sketch has one
    drawings.append(evidence_drawing(found.test))
    return drawings


def _reliability(name: str, table: BinTable, level: float) -> Drawing:
    """Said and happened in the bins that are held; the band is that of binomial numbers, which vary no less.

    Of events with different probabilities the number varies less than a binomial number of their mean (Hoeffding 1956),
    so that the band is where more than the stated share of calibrated models lie.
    """
    from scipy.stats import binom  # imported when needed: the import of kernelcal stays light

    question, rows, p = name.partition(", ")[2] or table.question, table.weight, table.mean_prediction
    filled = np.flatnonzero(rows > 0)
    bands = []
    for number in (1, max(len(filled), 1)):
        tail, band = (1 - level) / (2 * number), np.full((2, len(rows)), np.nan)
        n, q = rows[filled], np.clip(p[filled], 0.0, 1.0)
        band[:, filled] = np.stack([binom.ppf(tail, n, q), binom.isf(tail, n, q)]) / n
        bands.append((band[0], band[1]))
    frequency = table.frequency
    outside = (frequency < bands[1][0] - 1e-12) | (frequency > bands[1][1] + 1e-12)
    interval, lower, upper = table.interval_at(level), table.lower, table.upper
    assert interval is not None  # for the type checker: bins of one probability have these
    assert lower is not None
    assert upper is not None
    told = f"{int(outside.sum())} of {len(filled)} bins lie outside the band of all bins."
    what = "confidence in the first choice" if question == "top label" else "predicted probability"
    draw = partial(
        reliability_plot,
        p,
        frequency,
        table.count,
        edges=(lower, upper),
        interval=interval,
        pointwise=bands[0],
        simultaneous=bands[1],
        outside=outside,
        confidence_level=level,
    )
    return Drawing(
        f"Said and happened, {question}",
        f"Rows lie in bins by {what}. On the dashed line it happened as often as was said; below it, less often. "
        f"{told} Bars and numbers: rows in each bin.",
        f"Reliability diagram, {question}. {told}",
        lambda ax: draw(ax=ax),
        (4.2, 4.4),
    )


def _of_levels(levels: np.ndarray, below: np.ndarray, n: int, level: float) -> Drawing:
    low, high = binomial_interval(np.rint(below * n), n, level)
    broken = (levels < low) | (levels > high)
    draw = partial(
        levels_plot,
        levels,
        below,
        below,
        claimed=(levels, levels),
        interval=(low, high),
        broken=broken,
        confidence_level=level,
    )
    return Drawing(
        "Claimed and observed levels",
        "Share of outcomes below each quantile, with its interval. On the dashed line it is the share that was "
        f"claimed. {int(broken.sum())} of {len(levels)} claims lie outside the interval of their level.",
        "; ".join(f"level {a:g}: {100 * b:.1f} %" for a, b in zip(levels, below, strict=True)),
        lambda ax: draw(ax=ax),
        (4.2, 4.4),
    )


def _of_groups(found: ByGroup) -> Drawing:
    shown = found.findings[:_GROUPS]
    names = [f"{g.column}: {g.name}" for g in shown]
    gaps = [g.gap or 0.0 for g in shown]
    ends = [g.gap_interval or (gap, gap) for g, gap in zip(shown, gaps, strict=True)]
    wrong = sum(g in found.rejected for g in shown)
    return Drawing(
        "Groups",
        f"{found.gap_name[:1].upper()}{found.gap_name[1:]} of every group, with its "
        f"{percent(found.confidence_level)} interval. At 0 they agree on average; a group may be wrong at 0 too. "
        f"{wrong} of these {len(shown)} groups are rejected by their test.",
        "; ".join(f"{name}: {gap:+.3g}" for name, gap in zip(names, gaps, strict=True)),
        lambda ax: interval_plot(names, gaps, ends, label=found.gap_name, ax=ax),
        (4.4, 1.1 + 0.28 * len(shown)),
    )
