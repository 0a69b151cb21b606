"""One pass over any number of rows, in parts that can be added up."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.sketch.findings import SketchResult
    from kernelcal.sketch.grouped import (
        MOST_GROUPS,
        GroupColumn,
        GroupedCase,
        GroupedSketch,
        checked_pool,
        empty_like,
        load_sketch,
        refuse_other_groups,
    )
    from kernelcal.sketch.main import Sketch

__all__ = [
    "MOST_GROUPS",
    "GroupColumn",
    "GroupedCase",
    "GroupedSketch",
    "Sketch",
    "SketchResult",
    "checked_pool",
    "empty_like",
    "load_sketch",
    "refuse_other_groups",
]
