"""A witness as pictures: one a component."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.plots.panel import panel
from kernelcal.plots.witness import witness_plot

__all__ = ["draw_witness", "furthest_outside"]

_NUMBERS = {  # what is drawn of predictions of numbers, by component
    "shift": ("shift: higher or lower?", "mean deviation, in standard deviations"),
    "width": ("width: too narrow or too wide?", "squared deviation - 1, smoothed"),
}


def draw_witness(witness: Any, ax: Any, component: str | None, number: int) -> Any:
    """Draw one component on its axes, or a panel of several."""
    if component is not None and component not in witness.names:
        raise InputError(f"the witness has no component {component!r}: its components are {', '.join(witness.names)}")
    if component is not None or len(witness.names) == 1:
        return _one(witness, 0 if component is None else witness.names.index(component), ax)
    shown = furthest_outside(witness)[: number if ax is None else len(ax)]
    left = len(witness.names) - len(shown)
    more = f", {len(shown)} of {len(witness.names)} classes, those furthest outside" if left else ""
    title = f"Where outcomes differ from predictions, p = {witness.pvalue:.3g}{more}"
    axes = panel([partial(_one, witness, k) for k in shown], title, ax)
    if witness.of_numbers:  # a panel says once what its axes mean, but these differ
        for k, one in zip(shown, axes, strict=False):
            one.set_ylabel(_NUMBERS[witness.names[k]][1])
    return axes


def furthest_outside(witness: Any) -> list[int]:
    """Components of classes, the one furthest outside its band first; those of numbers in their order."""
    if witness.of_numbers:
        return list(range(len(witness.names)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(np.abs(witness.field) / witness.sd, nan=0.0, posinf=np.inf)
    return [int(k) for k in np.argsort(-ratio.max(axis=0), kind="stable")]


def _one(witness: Any, component: int, ax: Any = None, *, legend: bool = True) -> Any:
    k, name = component, witness.names[component]
    words, label = f"class {name}", "observed - predicted, smoothed"
    if witness.of_numbers:
        words, label = _NUMBERS[name]
    alone = len(witness.names) == 1
    return witness_plot(
        witness.position[:, k],
        witness.gap[:, k],
        witness.gap_band[:, k],
        witness.outside[:, k],
        connected=witness.rows is None,
        confidence_level=witness.confidence_level,
        variable="predicted mean" if witness.of_numbers else f"predicted probability of {words}",
        label=label,
        together="at all places together" if alone else "at all places and in all pictures together",
        title=f"Where outcomes differ from predictions, {words}" if legend else words,
        subtitle=f"exact p = {witness.pvalue:.3g}, {witness.draws:,} draws" if legend else "",
        legend=legend,
        ax=ax,
    )
