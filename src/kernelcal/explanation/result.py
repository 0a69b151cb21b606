"""What `explain` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.explanation.findings import ByGroup, GroupFinding
from kernelcal.explanation.regions import Region
from kernelcal.explanation.shares import ClassShare, RowShare
from kernelcal.explanation.witness import Witness
from kernelcal.inference import GivenResult
from kernelcal.statistics import Estimate
from kernelcal.tables import Grid, Shown, Table

__all__ = ["Explanation"]


_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Shown):
    """Where a model is wrong.

    Attributes
    ----------
    n : int
        Rows.
    estimate : Estimate
        Unbiased SKCE, which `contributions` and `classes` split; of quantiles with ties the squared least gap.
    witness : Witness or None
        Smoothed residuals with their band; None for vectors, and of quantiles with ties.
    regions : tuple of Region
        Where the witness leaves the band.
    contributions : numpy.ndarray of shape (n,), or None
        What each row adds; the sum is the estimate. None of quantiles with ties.
    rows : tuple of RowShare
        At most ten rows that add most; rows that are equal, or nearly, are one.
    classes : tuple of ClassShare
        What each class adds, largest first; empty for one probability, for numbers, and where the target kernel is not
        `Dirac`.
    by_group : ByGroup or None
        Groups with their figures, the surest first; None where none were given.
    alpha : float
        Level of all that is named: the band holds ``1 - alpha``, and a group is rejected whose p is at most alpha.
    question : str or None
        What a lens asked.
    seconds : float
        Time taken.
    notes : tuple of str
        What the reader must know.
    given : GivenResult or None
        What columns that were given show.

    Examples
    --------
    >>> import kernelcal as kc
    >>> found = kc.explain([0, 1, 1, 1] * 10, [0.2, 0.8, 0.7, 0.3] * 10, draws=99)
    >>> found.n, len(found.rows), len(found.regions)
    (40, 3, 1)
    """

    n: int
    estimate: Estimate
    witness: Witness | None
    regions: tuple[Region, ...]
    contributions: np.ndarray | None
    rows: tuple[RowShare, ...]
    classes: tuple[ClassShare, ...]
    by_group: ByGroup | None
    alpha: float
    question: str | None
    seconds: float
    notes: tuple[str, ...] = ()
    given: GivenResult | None = None

    @property
    def groups(self) -> tuple[GroupFinding, ...]:
        """Groups, the surest first; empty where none were given."""
        return () if self.by_group is None else self.by_group.findings

    def group(self, name: Any, column: str | None = None) -> GroupFinding:
        """Return one group by its name, with the column if several have the name."""
        found = [g for g in self.groups if g.name == str(name) and column in (None, g.column)]
        if len(found) == 1:
            return found[0]
        if found:
            columns = ", ".join(repr(g.column) for g in found)
            raise InputError(f"the columns {columns} all have a group {name!r}: name the column too")
        names = [f"{g.column}: {g.name}" for g in self.groups]
        shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise InputError(f"there is no group {name!r}: the groups are {shown or 'none, since none were given'}")

    @property
    def rejected(self) -> tuple[GroupFinding, ...]:
        """Groups whose p-value, corrected for their number, is at most alpha."""
        return () if self.by_group is None else self.by_group.rejected

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences on what is significant: regions, groups, places of columns that were given."""
        found = (*(region.sentence for region in self.regions), *(group.sentence for group in self.rejected))
        return found if self.given is None else (*found, *self.given.sentences)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the witness with its band, `Witness.plot`.

        Raises
        ------
        InputError
            Of vectors and of quantiles with ties, which have no witness.
        MissingExtraError
            Without matplotlib, the extra ``plot``.
        """
        if self.witness is None and self.contributions is None:
            raise InputError(
                "quantile forecasts with ties have no residuals, hence no witness to draw: draw what their levels "
                "claim, kernelcal.statistics.claimed_levels(y, predictions).plot()"
            )
        if self.witness is None:
            raise InputError(
                "vectors have no witness to draw: explain a coordinate at a time, or draw the groups with "
                "kernelcal.plots.interval_plot"
            )
        return self.witness.plot(ax, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; of the rows only those that add most."""
        parts: dict[str, Any] = {
            name: [x.to_dict() for x in getattr(self, name)] for name in ("regions", "classes", "rows")
        }
        parts["groups"] = None if self.by_group is None else self.by_group.to_dict()
        own = {
            "n": self.n,
            "question": self.question,
            "alpha": self.alpha,
            "findings": list(self.findings),
        }
        witness = None if self.witness is None else self.witness.to_dict()
        end = {"seconds": self.seconds, "notes": list(self.notes)}
        given = {} if self.given is None else {"given": self.given.to_dict()}
        error = self.estimate.name.lower().replace(" ", "_")
        return {**own, error: self.estimate.to_dict(), "witness": witness, **parts, **given, **end}

    def _tables(self) -> list[Table | Grid]:
        return tables(self)


def tables(found: Explanation) -> list[Table | Grid]:
    """Return the tables that have rows."""
    groups = [] if found.by_group is None else list(found.by_group._tables())
    return [
        _findings(found),
        *([_classes(found)] if found.classes else []),
        *groups,
        *([_rows(found)] if found.rows else []),
        *([] if found.given is None else found.given._tables()),
    ]


def _findings(found: Explanation) -> Table:
    rows = [
        ("rows", f"{found.n:,}"),
        *([("question", found.question)] if found.question else []),
        (f"{found.estimate.name}, {found.estimate.estimator}", f"{float(found.estimate):.3e}"),
        *_witness(found),
        *_tested(found),
    ]
    return Table("Where is the model wrong?", rows, found.notes)


def _witness(found: Explanation) -> list[tuple[str, str]]:
    if found.witness is None:
        return []
    law = found.witness.law
    p = ("witness, p-value", f"{found.witness.pvalue:.3g}, {law} ({found.witness.draws:,} draws)")
    inside = "nowhere outside: no place can be named"
    words = [("outside the band" if k == 0 else "", r.sentence) for k, r in enumerate(found.regions)]
    return [p, ("band", f"{100 * (1 - found.alpha):.4g}% at all places together")] + (
        words or [("outside the band", inside)]
    )


def _tested(found: Explanation) -> list[tuple[str, str]]:
    return [] if found.by_group is None else [("groups", found.by_group.verdict)]


def _classes(found: Explanation) -> Grid:
    rows = [
        [c.name, f"{c.contribution:+.2e}", f"{c.predicted:.4f}", f"{c.observed:.4f}"] for c in found.classes[:_SHOWN]
    ]
    header = ["class", "contribution", "mean\nprobability", "frequency"]
    return Grid("By class", header, rows, _cut(len(found.classes), "classes add most"))


def _rows(found: Explanation) -> Grid:
    rows = [[r.named, f"{r.contribution:+.2e}", r.predicted, r.happened] for r in found.rows]
    notes = ["of equal rows the first is named"] if any(r.count > 1 for r in found.rows) else []
    if any(r.alike for r in found.rows):
        notes.append("rows like one err in nearly the same way at nearly the same prediction, and are not shown")
    return Grid("Rows that add most", ["row", "contribution", "predicted", "happened"], rows, notes)


def _cut(number: int, what: str) -> list[str]:
    return [f"the first {_SHOWN} of {number:,} {what}"] if number > _SHOWN else []
