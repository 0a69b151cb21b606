"""A test result as a picture: observed values among those under calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.plots.members import members_plot
from kernelcal.plots.null_draws import null_plot

__all__ = ["draw_result"]


def draw_result(result: Any, member: str | None, ax: Any) -> Any:
    """Draw one statistic as a histogram, several as lines."""
    names = [m.name for m in result.members]
    if member is not None and member not in names:
        raise InputError(f"the test has no member {member!r}; its members are {', '.join(map(repr, names))}")
    if member is None and len(names) == 1:
        member = names[0] if names[0] in result.null_draws else None
    return _all(result, ax) if member is None else _one(result, member, ax)


def _one(result: Any, name: str, ax: Any) -> Any:
    if name not in result.null_draws:
        raise InputError(
            f"the draws of {name!r} were not kept: the law {result.null!r} makes none, or they were too many or of "
            "several tests; leave member out to see how far it lies from its mean"
        )
    found = next(m for m in result.members if m.name == name)
    drawn = result.null_draws[name]
    title = f"Calibration test, {result.n:,} rows"
    return null_plot(drawn, found.value, name=name, pvalue=found.pvalue, null=result.null, title=title, ax=ax)


def _all(result: Any, ax: Any) -> Any:
    members = result.members
    drawn = [_standardised(result.null_draws.get(m.name, np.empty(0))) for m in members]
    several = " of all together" if len(members) > 1 else ""
    return members_plot(
        [m.name for m in members],
        [m.deviation for m in members],
        [m.pvalue for m in members],
        drawn=drawn,
        title=f"Calibration test, {result.n:,} rows, p = {result.pvalue:.3g}{several}",
        subtitle=result.null + (f", {result.draws:,} draws" if result.draws else ""),
        ax=ax,
    )


def _standardised(drawn: np.ndarray) -> np.ndarray:
    """Draws in the unit of `Member.deviation`; none where they do not vary or are not finite."""
    if len(drawn) == 0 or not np.isfinite(drawn).all() or drawn.std() == 0:
        return np.empty(0)
    return np.asarray((drawn - drawn.mean()) / drawn.std())
