"""One pass of groups: sums of every group of a column, as those of all rows."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.sketch.grouped.columns import MOST_GROUPS, POOLED, GroupColumn, GroupedCase, checked_pool
    from kernelcal.sketch.grouped.main import GroupedSketch, empty_like, load_sketch, refuse_other_groups

__all__ = [
    "MOST_GROUPS",
    "POOLED",
    "GroupColumn",
    "GroupedCase",
    "GroupedSketch",
    "checked_pool",
    "empty_like",
    "load_sketch",
    "refuse_other_groups",
]
