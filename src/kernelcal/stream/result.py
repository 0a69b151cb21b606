"""What a pass over parts found, and what was read."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Self

from kernelcal.evaluate import Plan
from kernelcal.io.rows import count
from kernelcal.sketch import Sketch, SketchResult
from kernelcal.stream.batches import Sums

__all__ = ["StreamResult"]


@dataclass(frozen=True, repr=False, kw_only=True)
class StreamResult(SketchResult):
    """What `evaluate_files` and `evaluate_frame` found.

    Attributes
    ----------
    read : str
        What was read: files, rows, columns, classes, and what was dropped.
    plan : Plan
        What was planned.
    sketch : Sketch
        The sums themselves, to be saved, or added to those of other days.
    """

    read: str
    plan: Plan
    sketch: Sketch = field(repr=False, compare=False)

    @classmethod
    def of(cls, sums: Sums, read: str, plan: Plan, confidence_level: float, seconds: float) -> Self:
        """Make the result of all sums."""
        found = sums.sketch.result(confidence_level)
        own = {f.name: getattr(found, f.name) for f in fields(found)}
        dropped = [
            f"{count(number)} {what}"
            for number, what in ((sums.missing, "with missing values"), (sums.unwanted, "with the target to drop"))
            if number
        ]
        end = f"; dropped {', '.join(dropped)}" if dropped else ""
        notes = (*found.notes, *([f"dropped {', '.join(dropped)}"] if dropped else []))
        return cls(**{**own, "notes": notes, "seconds": seconds}, read=read + end, plan=plan, sketch=sums.sketch)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that are not finite become None."""
        return {"read": self.read, "plan": self.plan.to_dict(), **super().to_dict()}
