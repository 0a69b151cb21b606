"""Pictures of survival: Cox-Snell residuals, and observed against predicted risk at a horizon."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.plots import ACCENT, BAND, INK, OBSERVED, axes_or_new, finished, percent
from kernelcal.survival.data import Survival
from kernelcal.survival.figures import kaplan_meier

__all__ = ["horizon_groups", "horizon_plot", "residual_plot"]


_MOST_GROUPS, _A_GROUP = 10, 40  # groups, and rows of one at least


def residual_plot(seen: Survival, confidence_level: float, pvalue: float, ax: Any = None) -> Any:
    """Draw the Nelson-Aalen estimate of the cumulative hazard of the residuals H_i, which calibration makes a line."""
    ax = axes_or_new(ax, 5.2, 5.0)
    curve = kaplan_meier(seen.hazard, seen.event, seen.weights)
    shown = curve.survival > 0
    times = curve.times[shown]
    ends = np.array([curve.interval(t, confidence_level) for t in times]).reshape(-1, 2)
    with np.errstate(divide="ignore"):
        heights, low, high = -np.log(curve.survival[shown]), -np.log(ends[:, 1]), -np.log(ends[:, 0])
    limit = float(max(times.max(initial=1.0), heights.max(initial=1.0)))
    ax.fill_between(
        times,
        low,
        np.minimum(high, 2 * limit),
        step="post",
        color=BAND,
        label=f"{percent(confidence_level)}, point by point",
    )
    ax.plot([0, limit], [0, limit], color=INK, linewidth=1, linestyle="--", label="calibrated")
    ax.step(
        np.concatenate([[0.0], times]), np.concatenate([[0.0], heights]), where="post", color=OBSERVED, label="seen"
    )
    ax.set_xlim(0, limit)
    ax.set_ylim(0, limit * 1.05)
    ax.set_xlabel("predicted cumulative hazard until event or censoring")
    ax.set_ylabel("its cumulative hazard, seen")
    return finished(ax, f"Survival, {len(seen):,} rows, {int(seen.event.sum()):,} events, p = {pvalue:.3g}")


def horizon_groups(seen: Survival, time: float, confidence_level: float) -> np.ndarray:
    """Mean predicted risk, Kaplan-Meier risk and its interval, shape (g, 4), of groups in the order of the risk.

    Groups of which no row was watched so long are left out.
    """
    risk = -np.expm1(-seen.hazard_at(np.full(len(seen), time)))
    order = np.argsort(risk, kind="stable")
    groups = np.array_split(order, max(1, min(_MOST_GROUPS, len(seen) // _A_GROUP)))
    found = []
    for rows in groups:
        weights = None if seen.weights is None else seen.weights[rows]
        curve = kaplan_meier(seen.time[rows], seen.event[rows], weights)
        if not curve.known(time):
            continue
        low, high = curve.interval(time, confidence_level)
        mean = float(np.average(risk[rows], weights=weights))
        found.append((mean, 1 - curve.at(time), 1 - high, 1 - low))
    return np.array(found).reshape(-1, 4)


def horizon_plot(seen: Survival, time: float, confidence_level: float, ax: Any = None) -> Any:
    """Draw the groups with their intervals beside the diagonal."""
    ax = axes_or_new(ax, 5.2, 5.0)
    x, y, low, high = horizon_groups(seen, time, confidence_level).T
    if len(x) == 0:
        raise InputError(f"no row was watched until {time:g}: draw an earlier horizon")
    outside = (x < low) | (x > high)
    limit = min(1.0, 1.1 * float(max(x.max(), high.max())))
    ax.plot([0, limit], [0, limit], color=INK, linewidth=1, linestyle="--", label="calibrated")
    for colour, which, label in (
        (OBSERVED, ~outside, "Kaplan-Meier in a group"),
        (ACCENT, outside, "off the diagonal"),
    ):
        if which.any():
            ends = np.abs(np.array([low[which], high[which]]) - y[which])
            ax.errorbar(
                x[which],
                y[which],
                yerr=ends,
                fmt="o",
                color=colour,
                capsize=2,
                label=f"{label}, {percent(confidence_level)}",
            )
    ax.set_xlim(0, limit)
    ax.set_ylim(0, limit)
    ax.set_xlabel(f"predicted risk up to {time:g}")
    ax.set_ylabel("observed risk")
    return finished(ax, f"Risk up to {time:g}, {len(seen):,} rows in {len(x)} groups of the predicted risk")
