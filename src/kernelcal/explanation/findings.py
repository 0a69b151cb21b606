"""What was found in every group, as a table: figures with intervals, p-values, and what is wrong in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernelcal.explanation.sizes import FEW
from kernelcal.plots import percent
from kernelcal.tables import Grid, Shown, Table, few_rule

__all__ = ["ByGroup", "GroupDifference", "GroupFinding"]


_SHOWN = 10
_NAMED = 5
_PROVED = ("exact", "conservative")  # laws of independent rows

Ends = tuple[float, float]


@dataclass(frozen=True)
class GroupFinding(Shown):
    """One group of rows.

    Attributes
    ----------
    column, name : str
        Column, and its value.
    n : int
        Rows.
    gap : float or None
        Observed minus predicted: of one probability; of classes accuracy minus confidence of the first choice; of
        numbers the mean standardised residual; of quantiles the share above them minus what was claimed, with ties the
        least that agrees with the claims. None where no row has weight.
    observed, predicted : float or None
        What `gap` is the difference of; of numbers the mean outcome and predicted mean, in their own unit.
    gap_interval : tuple of float or None
        Interval of this gap alone: Clopper-Pearson of shares, Agresti-Coull of quantiles, the normal law of means.
    unseen : float or None
        A gap below this lies within chance: it does not show by itself.
    score, score_interval : float and tuple of float, or None
        Proper score of the group, named by `ByGroup.score_name`, and its interval.
    skce : float or None
        Unbiased SKCE of the group by itself; None for a group with less than two rows, and of quantiles with ties.
    root_interval : tuple of float or None
        Interval of its root.
    pvalue : float or None
        Exact p-value of the default family in this group, corrected for the choice among all groups of all columns.
    own_pvalue : float or None
        The same before it is corrected: of this group alone.
    fired : str
        Member of the family that decides; empty for a group that is not rejected.
    deviation : float or None
        Of this member, in standard deviations of the draws.
    directions : tuple of str
        For a group that is rejected, in which directions, the clearest first.
    median : float or None
        Of numbers the median of what `gap` is the mean of, which no single row rules.
    contribution : float or None
        What its rows add to the kernel error of all rows; None where that was not split, as of quantiles with ties.

    Examples
    --------
    >>> import kernelcal as kc
    >>> groups = {"site": ["north", "south"] * 20}
    >>> one = kc.explain([0, 1, 1, 1] * 10, [0.2, 0.8, 0.7, 0.3] * 10, groups=groups, draws=99).by_group.findings[0]
    >>> one.column, round(one.gap, 3)
    ('site', 0.45)
    """

    column: str
    name: str
    n: int
    gap: float | None
    observed: float | None = None
    predicted: float | None = None
    gap_interval: Ends | None = None
    unseen: float | None = None
    score: float | None = None
    score_interval: Ends | None = None
    skce: float | None = None
    root_interval: Ends | None = None
    pvalue: float | None = None
    own_pvalue: float | None = None
    fired: str = ""
    deviation: float | None = None
    directions: tuple[str, ...] = ()
    median: float | None = None
    contribution: float | None = None

    @property
    def gap_in_words(self) -> str:
        """The gap, with the median beside it where few rows make the mean."""
        if self.gap is None:
            return ""
        few = self.median is not None and few_rule(self.gap, self.median)
        return f"{self.gap:+.4f}" + (f" (median {self.median:+.2f})" if few else "")

    @property
    def few(self) -> bool:
        """Whether the group is so small that only gross errors would show."""
        return self.pvalue is not None and self.n < FEW

    @property
    def sentence(self) -> str:
        """Directions and p-value in one sentence."""
        p = "not tested" if self.pvalue is None else f"p = {self.pvalue:.3g} over all groups"
        return f"{self.column} {self.name}: {'; '.join(self.directions) or 'no direction'} ({p})"

    def _table(self) -> Table:
        rows = [("rows", f"{self.n:,}"), ("gap", self.gap_in_words + _ends(self.gap_interval, "+.4f"))]
        rows += [] if self.observed is None else [("observed, predicted", f"{self.observed:.4f}, {self.predicted:.4f}")]
        rows += [] if self.score is None else [("score", f"{self.score:.4f}{_ends(self.score_interval)}")]
        rows += [] if self.contribution is None else [("contribution", f"{self.contribution:+.3g}")]
        rows += [] if self.skce is None else [("own SKCE", f"{self.skce:.3g}")]
        rows += [] if self.root_interval is None else [("its root", _root(self.root_interval))]
        return Table(f"{self.column}: {self.name}", [*rows, ("finding", self.sentence)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that are not finite become None."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _ends(ends: Ends | None, form: str = ".4f") -> str:
    return "" if ends is None else f" ({ends[0]:{form}} to {ends[1]:{form}})"


def _root(ends: Ends) -> str:
    return f"{ends[0]:.4f} to {ends[1]:.4f}"


@dataclass(frozen=True)
class GroupDifference(Shown):
    """Whether the groups of a column differ from each other in their calibration.

    Attributes
    ----------
    column : str
        The column.
    groups, n : int
        Groups of at least 10 rows, and their rows.
    pvalue : float or None
        Approximate p-value of the hypothesis that outcomes depend on the group through the predictions alone: a
        miscalibration that is the same function of the prediction in all groups. None where it was not tested.
    signal : str
        In what they differ most: ``bias``, ``slope`` (of one probability) or ``width`` (of numbers); of several classes
        bias or slope of the first choice, frequency or slope of one class.
    reason : str
        Why it was not tested; empty where it was.
    adjusted : float or None
        The p-value corrected for the choice among all columns that were tested (Holm).
    columns : int
        How many these are.
    looks_at : str
        What a difference is looked for in, where this is not all that was predicted.

    Examples
    --------
    >>> import kernelcal as kc
    >>> groups = {"site": ["north", "south"] * 20}
    >>> found = kc.explain([0, 1, 1, 1] * 10, [0.2, 0.8, 0.7, 0.3] * 10, groups=groups, draws=99)
    >>> found.by_group.differences[0].column, found.by_group.differences[0].groups
    ('site', 2)
    """

    column: str
    groups: int
    n: int
    pvalue: float | None = None
    signal: str = ""
    reason: str = ""
    adjusted: float | None = None
    columns: int = 1
    looks_at: str = ""

    def in_words(self, alpha: float) -> str:
        """One sentence, at a level."""
        if self.pvalue is None:
            return f"whether groups of {self.column} differ was not tested: {self.reason}"
        p, said = self._pvalue_in_words, f"; looked at: {self.looks_at}" if self.looks_at else ""
        if self.adjusted is None or self.adjusted > alpha:
            return f"no evidence that the {self.groups} groups of {self.column} differ from each other ({p}{said})"
        return f"the {self.groups} groups of {self.column} differ from each other in their {self.signal} ({p}{said})"

    @property
    def _pvalue_in_words(self) -> str:
        over = f" over {self.columns} columns (Holm)" if self.columns > 1 else ""
        return f"p = {self.adjusted:.3g}{over}, approximate"

    def _table(self) -> Table:
        p = "not tested" if self.pvalue is None else self._pvalue_in_words
        rows = [("groups, rows", f"{self.groups:,}, {self.n:,}"), ("p-value", p)]
        rows += [("looked at", self.looks_at)] if self.looks_at else []
        return Table(f"Do groups of {self.column} differ?", [*rows, ("most", self.signal or self.reason)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False, repr=False)
class ByGroup(Shown):
    """Every group of every column: how far off it is, and whether that is more than chance.

    Attributes
    ----------
    findings : tuple of GroupFinding
        The surest first; groups without a test last.
    gap_name, score_name : str
        What the gap and the score of a group are.
    alpha : float
        Level at which groups are rejected, all together.
    confidence_level : float
        Coverage of the intervals, of each by itself.
    draws : int
        Draws of the test; 0 where no group was tested.
    law : str
        Whether p-values are exact, or conservative where outcomes equal quantiles; or how rows depend on each other.
    differences : tuple of GroupDifference
        For every column whether its groups differ from each other; approximate.
    notes : tuple of str
        What the reader must know: columns that were cut, groups that are small.
    statistic : str
        By what every group is tested.

    Examples
    --------
    >>> import kernelcal as kc
    >>> groups = {"site": ["north", "south"] * 20}
    >>> found = kc.explain([0, 1, 1, 1] * 10, [0.2, 0.8, 0.7, 0.3] * 10, groups=groups, draws=99).by_group
    >>> [(one.name, one.n) for one in found.findings]
    [('south', 20), ('north', 20)]
    """

    findings: tuple[GroupFinding, ...]
    gap_name: str
    score_name: str
    alpha: float
    confidence_level: float
    draws: int
    notes: tuple[str, ...] = ()
    law: str = "exact"
    differences: tuple[GroupDifference, ...] = ()
    statistic: str = "the whole default family"

    @property
    def rejected(self) -> tuple[GroupFinding, ...]:
        """Groups whose p-value, corrected for their number, is at most alpha."""
        return tuple(g for g in self.findings if g.pvalue is not None and g.pvalue <= self.alpha)

    @property
    def verdict(self) -> str:
        """One sentence."""
        tested = sum(g.pvalue is not None for g in self.findings)
        if not tested:
            return "No group was tested."
        if not self.rejected:
            least = f"smallest p = {min(g.pvalue for g in self.findings if g.pvalue is not None):.3g}"
            return f"No evidence against calibration in any of {_number(tested)} ({least}, {_test(self.law)})."
        are = "is" if len(self.rejected) == 1 else "are"
        return f"{len(self.rejected):,} of {_number(tested)} {are} rejected: {self._listed(self.rejected)}."

    @property
    def test_in_words(self) -> str:
        """What the p-values are."""
        level = percent(self.alpha)
        if self.law not in _PROVED:
            return (
                f"every group is tested by {self.statistic} ({_test(self.law)}), with p-values that are "
                f"corrected for the choice among all groups: of groups that are calibrated any is rejected in about "
                f"{level} of data sets, whatever the other groups are"
            )
        return (
            f"every group is tested by {self.statistic}, with {self.law} p-values that are corrected for the "
            f"choice among all groups: of groups that are calibrated any is rejected in at most {level} of data sets, "
            "whatever the other groups are"
        )

    @property
    def small_in_words(self) -> tuple[str, ...]:
        """Which groups are so small that only gross errors would show, and what would not."""
        small = [g for g in self.findings if g.few]
        if not small:
            return ()
        words = [f"{g.column} {g.name} ({g.n:,} rows{_unseen(g)})" for g in sorted(small, key=lambda g: g.n)]
        more = f" and {len(words) - _NAMED:,} more groups" if len(words) > _NAMED else ""
        return (f"only gross errors would show in {', '.join(words[:_NAMED])}{more}",)

    @property
    def differences_in_words(self) -> tuple[str, ...]:
        """For every column whether its groups differ from each other, beyond what they share."""
        return tuple(difference.in_words(self.alpha) for difference in self.differences)

    def _listed(self, groups: Sequence[GroupFinding]) -> str:
        more = f" and {len(groups) - _SHOWN:,} more" if len(groups) > _SHOWN else ""
        return ", ".join(f"{g.column} {g.name}" for g in groups[:_SHOWN]) + more

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own = {"verdict": self.verdict, "alpha": self.alpha, "draws": self.draws, "law": self.law}
        names = {"gap": self.gap_name, "score": self.score_name, "confidence_level": self.confidence_level}
        findings = [g.to_dict() for g in self.findings]
        differences = [difference.to_dict() for difference in self.differences]
        notes = [*self.notes, *self.small_in_words]
        return {**own, **names, "findings": findings, "differences": differences, "notes": notes}

    def _tables(self) -> list[Table | Grid]:
        tables: list[Table | Grid] = [self._grid()]
        if self.rejected:
            words = [(f"{g.column}: {g.name}", "; ".join(g.directions)) for g in self.rejected[:_SHOWN]]
            tables.append(Table("What is wrong in the groups that are rejected", words))
        return tables

    def _grid(self) -> Grid:
        shown, split = self.findings[:_SHOWN], any(g.contribution is not None for g in self.findings)
        names = ["group", "rows", "observed", "predicted", self.gap_name.replace(", ", "\n"), "interval"]
        header = [*names, self.score_name.replace(" interval ", "\ninterval "), "interval", "root of SKCE\ninterval"]
        header += ["contribution"] * split
        left = len(self.findings) - len(shown)
        notes = [
            self.test_in_words,
            f"intervals hold {percent(self.confidence_level)} each",
            *self.differences_in_words,
            *self.small_in_words,
            *self.notes,
            *([f"the first {_SHOWN} of {len(self.findings):,} groups, the surest first"] if left else []),
        ]
        return Grid("By group", [*header, "p-value"], [_row(g, split=split) for g in shown], notes)


def _test(law: str) -> str:
    if law in _PROVED:
        return f"{law} test"
    return f"test of rows {law}" if law.startswith("dependent") else f"test {law.split(', ')[0]}"


def _number(tested: int) -> str:
    return f"{tested:,} group{'s' if tested > 1 else ''}"


def _unseen(g: GroupFinding) -> str:
    return "" if g.unseen is None else f": gaps below {g.unseen:.2g}"


def _row(g: GroupFinding, *, split: bool) -> list[str]:
    def interval(ends: Ends | None, form: str = ".4f") -> str:
        return "none" if ends is None else f"{ends[0]:{form}} to {ends[1]:{form}}"

    def number(value: float | None, form: str = ".4g") -> str:
        return "" if value is None else f"{value:{form}}"

    return [
        f"{g.column}: {g.name}",
        f"{g.n:,}",
        number(g.observed),
        number(g.predicted),
        g.gap_in_words,
        interval(g.gap_interval, "+.4f"),
        number(g.score),
        interval(g.score_interval, ".4g"),
        interval(g.root_interval),
        *([number(g.contribution, "+.2e")] if split else []),
        "not tested" if g.pvalue is None else f"{g.pvalue:.3g}",
    ]
