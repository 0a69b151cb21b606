"""Add up all parts in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelcal.sketch import Sketch
from kernelcal.stream.batches import Sums, sum_rows
from kernelcal.stream.survey import Survey

__all__ = ["add_up_here"]


def add_up_here(survey: Survey, empty: Sketch, lens: Any, progress: Callable[[int, int], None] | None) -> Sums:
    """Read every part once; no more than a batch is held."""
    sums, done, total = Sums(empty.empty()), 0, survey.rows
    for part in survey.parts:
        for rows in sum_rows(sums, part.batches(survey.roles), part.place, survey.roles, lens):
            done += rows
            if progress is not None:
                progress(done, total)
    return sums
