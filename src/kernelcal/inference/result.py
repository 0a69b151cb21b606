"""What a test says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelcal.defaults import SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.inference.given import GivenResult
from kernelcal.plots import members_plot, null_plot
from kernelcal.tables import Grid, Shown, Table

__all__ = ["Member", "TestResult"]


def _draw_result(result: Any, member: str | None, ax: Any) -> Any:
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


@dataclass(frozen=True)
class Member(Shown):
    """One statistic of a family.

    Attributes
    ----------
    name : str
        What it measures.
    value : float
        Observed value; large speaks against calibration.
    pvalue : float
        P-value of this statistic alone, before the family is accounted for; of a class (`ClassWise`) after Holm.
    deviation : float
        Observed value in standard deviations of the null, from its mean; nan if the null has no variance.
    ranked : bool
        Whether it has part in the p-value of the family; if not, it is told for the direction that it has.

    Examples
    --------
    >>> import kernelcal as kc
    >>> member = kc.calibration_test([1] * 30, [0.5] * 30, draws=99).members[0]
    >>> member.name, member.pvalue
    ('bias', 0.01)
    """

    name: str
    value: float
    pvalue: float
    deviation: float
    ranked: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(vars(self))

    def _table(self) -> Table:
        return Table(self.name, [("value", f"{self.value:.6g}"), ("p", f"{self.pvalue:.4g}, {_deviation(self)}")])


@dataclass(frozen=True, repr=False)
class TestResult(Shown):
    """Result of a calibration test.

    Attributes
    ----------
    statistic : float
        Observed statistic; for a family its smallest member p-value.
    pvalue : float
        P-value, never 0.
    null : str
        Law under calibration that was used.
    draws : int
        Draws that were made, 0 for a law without draws; `stopped_early` tells whether more had been allowed.
    monte_carlo_error : float
        Standard error of the p-value over other seeds, ``sqrt(p (1 - p) / (draws + 1))``.
    members : tuple of Member
        Every statistic of the family.
    fired : str
        Where calibration is rejected, the member that decided it; empty where it is not. The most extreme member is
        there in `members` in both cases.
    directions : tuple of str
        In plain words, what is wrong: over-confident, which class is over-predicted. Empty without evidence.
    impossible_rows : tuple of int
        Rows whose label had a predicted probability of exactly 0 (the first ten), by their numbers in a file.
    n : int
        Rows.
    engine : str
        What computed the statistics.
    question : str or None
        What was asked, if not all classes at once.
    notes : tuple of str
        What the reader must know.
    null_draws : mapping of str to numpy.ndarray
        Values of every statistic under calibration, by its name, shape (draws,); empty for a law without draws, and
        where there are more than 250,000 of them. Not in `to_dict`.
    alpha : float
        Level at which it rejects: what is said in `fired` and `directions` is said where ``pvalue <= alpha``.
    seed : int or None
        Seed of the draws; None for a law without draws, and where a generator was given, which moves on.
    draws_asked : int
        Draws that were allowed, of which `draws` were made.
    early_stopping : bool
        Whether fewer were allowed to do.
    given : GivenResult or None
        What columns that were given show; None without any.

    Examples
    --------
    >>> import kernelcal as kc
    >>> test = kc.calibration_test([1] * 30, [0.5] * 30, draws=99)
    >>> test.pvalue, test.rejected, test.directions
    (0.01, True, ('class 1 is under-predicted (15.0 expected, 30 observed)',))
    """

    __test__ = False  # the name begins with "Test": pytest must not collect it

    statistic: float
    pvalue: float
    null: str
    draws: int
    stopped_early: bool
    monte_carlo_error: float
    members: tuple[Member, ...]
    fired: str
    directions: tuple[str, ...]
    impossible_rows: tuple[int, ...]
    n: int
    engine: str
    question: str | None = None
    notes: tuple[str, ...] = ()
    null_draws: Mapping[str, np.ndarray] = field(default_factory=dict, compare=False)
    alpha: float = SIGNIFICANCE
    seed: int | None = field(default=None, compare=False)
    draws_asked: int = 0
    early_stopping: bool = False
    given: GivenResult | None = field(default=None, compare=False)

    @property
    def rejected(self) -> bool:
        """Whether calibration is rejected at the level `alpha`."""
        return self.pvalue <= self.alpha

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that are not finite become None."""
        members = [{key: _plain(value) for key, value in vars(member).items()} for member in self.members]
        own = {key: _plain(value) for key, value in vars(self).items() if key not in ("null_draws", "given")}
        shown = {} if self.given is None else {"given": self.given.to_dict()}
        return {**own, "members": members, **shown}

    def plot(self, ax: Any = None, *, member: str | None = None) -> Any:
        """Draw observed values among those under calibration: a histogram of one statistic, a line for each of several.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.
        member : str, optional
            Name of one statistic of several, whose histogram is drawn.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InputError
            For a member that is not there, or whose draws are not.
        MissingExtraError
            Without matplotlib, the extra ``plot``.
        """
        return _draw_result(self, member, ax)

    def _table(self) -> Table:
        error = f" (Monte-Carlo error {self.monte_carlo_error:.2g})" if self.draws else ""
        drawn = f", {self.draws:,} draws" + (", stopped early" if self.stopped_early else "") if self.draws else ""
        rows = [
            ("p-value", f"{self.pvalue:.4g}{error}"),
            ("null", self.null + drawn),
            ("rows", f"{self.n:,}"),
        ]
        rows += [("question", self.question)] if self.question else []
        rows += [("direction", "; ".join(self.directions))] if self.directions else []
        rows += [("fired", self.fired)] if len(self.members) > 1 and self.fired else []
        rows += [(member.name, f"p {member.pvalue:.4g}, {_deviation(member)}") for member in self.members]
        return Table("Calibration test", [*rows, ("engine", self.engine)], self.notes)

    def _tables(self) -> Sequence[Table | Grid]:
        return (self._table(),) if self.given is None else (self._table(), *self.given._tables())


def _deviation(member: Member) -> str:
    if math.isnan(member.deviation):
        return "no variance under the null"
    return f"{member.deviation:+.1f} sd"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return list(value) if isinstance(value, tuple) else value
