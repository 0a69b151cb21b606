"""What columns that are given show of errors: where, in words, with p-values over all places and bands over columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.plots import percent, profile_plot
from kernelcal.tables import Grid, Shown, Table

__all__ = ["ColumnProfile", "GivenResult", "PlaceFinding"]


_SHOWN, _SENTENCES = 10, 5


@dataclass(frozen=True, eq=False)
class PlaceFinding(Shown):
    """One place of the columns, or one trend.

    Attributes
    ----------
    columns : tuple of str
        Column, or the two of an intersection.
    where : str
        In words; of a trend ``trend of age, upper half``.
    kind : str
        What deviates: the first of the words in which it is said.
    rows : int
        Rows of the place; of a trend of its upper half, of a curve of both ends.
    observed, predicted : float
        Frequencies; of numbers the mean standardised residual and 0, or the spread in the unit of the predicted one
        and 1. Of a trend those of the upper half of the rows, of a curve those of both ends.
    elsewhere : (float, float) or None
        Observed and predicted in all other rows; None for a place that holds all.
    score : float
        Standardised sum, as a normal quantile: positive where there is more than predicted.
    pvalue : float
        Over all places, trends and intersections of all columns together.
    sentence : str
        All this in words.
    specific : bool
        Whether the gap differs from that elsewhere: if not, it is an error of all rows that shows here too.
    repeated : bool
        Whether nothing is left of it in rows outside the stronger places that are named.
    clear : bool
        Whether a shift is significant beside the spread that outcomes have too: where they spread wider than predicted,
        chance moves them further. What is not clear is not said in words.

    Examples
    --------
    >>> import kernelcal as kc
    >>> test = kc.calibration_test([0, 1, 1, 1] * 10, [0.5] * 40, given={"site": ["north", "south"] * 20}, draws=99)
    >>> one = test.given.findings[0]
    >>> one.where, one.rows, one.observed, one.predicted
    ('site is south', 20, 1.0, 0.5)
    """

    columns: tuple[str, ...]
    where: str
    kind: str
    rows: int
    observed: float
    predicted: float
    elsewhere: tuple[float, float] | None
    score: float
    pvalue: float
    sentence: str
    specific: bool = True
    repeated: bool = False
    clear: bool = True

    @property
    def said(self) -> bool:
        """Whether it is said in words, if it is significant."""
        return self.specific and self.clear and not self.repeated

    @property
    def gap(self) -> float:
        """Observed minus predicted."""
        return self.observed - self.predicted

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        elsewhere = None if self.elsewhere is None else list(self.elsewhere)
        return {**vars(self), "columns": list(self.columns), "gap": self.gap, "elsewhere": elsewhere}

    def _table(self) -> Table:
        rows = [
            ("rows", f"{self.rows:,}"),
            ("observed", f"{self.observed:.4f}"),
            ("predicted", f"{self.predicted:.4f}"),
        ]
        return Table(self.where, [*rows, ("finding", self.sentence)])


@dataclass(frozen=True, eq=False, repr=False)
class ColumnProfile(Shown):
    """Observed minus predicted over one column, with the band of calibrated models.

    Attributes
    ----------
    column : str
        Its name.
    labels : tuple of str
        Ranges or categories.
    edges : numpy.ndarray of shape (ranges + 1,), or None
        Ends of the ranges of a column of numbers; None for categories.
    gap, low, high : numpy.ndarray of shape (ranges,)
        Observed minus predicted, and the band; NaN where there are too few rows.
    rows : numpy.ndarray of int, shape (ranges,)
        Rows of each range.
    label : str
        What the gap is.
    alpha : float
        Chance of a calibrated model to leave the band anywhere.
    dates : bool
        Whether the ends are days since 1970.

    Examples
    --------
    >>> import kernelcal as kc
    >>> test = kc.calibration_test([0, 1, 1, 1] * 10, [0.5] * 40, given={"site": ["north", "south"] * 20}, draws=99)
    >>> profile = test.given.profile("site")
    >>> profile.labels, profile.gap
    (('north', 'south'), array([0. , 0.5]))
    """

    column: str
    labels: tuple[str, ...]
    edges: np.ndarray | None
    gap: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray
    label: str
    alpha: float
    dates: bool = False

    @property
    def outside(self) -> np.ndarray:
        """Ranges whose gap leaves the band."""
        with np.errstate(invalid="ignore"):
            return (self.gap > self.high) | (self.gap < self.low)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Any:
        """Draw the gaps over the column: steps with a band for numbers, bars with bands for categories."""
        return profile_plot(
            self.labels if self.edges is None else self.edges,
            self.gap,
            self.low,
            self.high,
            self.outside,
            variable=self.column,
            label=self.label,
            confidence_level=1 - self.alpha,
            dates=self.dates,
            legend=legend,
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None where there are too few rows."""
        plain = {k: [None if np.isnan(v) else float(v) for v in getattr(self, k)] for k in ("gap", "low", "high")}
        edges = None if self.edges is None else self.edges.tolist()
        return {"column": self.column, "labels": list(self.labels), "edges": edges, "rows": self.rows.tolist(), **plain}

    def _table(self) -> Grid:
        rows = [
            [name, f"{n:,}", f"{gap:+.4f}", f"{low:+.4f} to {high:+.4f}"]
            for name, n, gap, low, high in zip(self.labels, self.rows, self.gap, self.low, self.high, strict=True)
        ]
        band = f"{percent(1 - self.alpha)} band"
        return Grid(self.column, ["where", "rows", self.label, band], rows)


@dataclass(frozen=True, eq=False, repr=False)
class GivenResult(Shown):
    """What errors have to do with the columns that were given.

    Attributes
    ----------
    n : int
        Rows.
    columns : tuple of str
        Columns that vary.
    places : int
        Places, trends and intersections over which the p-values are.
    findings : tuple of PlaceFinding
        The strongest first, at most 100.
    pvalue : float
        Of the columns alone: places, intersections and kernels in x, before it joins the other members of the family.
    profiles : tuple of ColumnProfile
        One a column, that of the strongest first.
    draws : int
        Draws of the test.
    alpha : float
        Level at which places are named.
    notes : tuple of str
        What the reader must know.
    law : str
        ``exact``, or how rows depend on each other.

    Examples
    --------
    >>> import kernelcal as kc
    >>> test = kc.calibration_test([0, 1, 1, 1] * 10, [0.5] * 40, given={"site": ["north", "south"] * 20}, draws=99)
    >>> test.given.columns, test.given.pvalue
    (('site',), 0.01)
    """

    n: int
    columns: tuple[str, ...]
    places: int
    findings: tuple[PlaceFinding, ...]
    pvalue: float
    profiles: tuple[ColumnProfile, ...]
    draws: int
    alpha: float
    notes: tuple[str, ...] = ()
    law: str = "exact"

    @property
    def rejected(self) -> tuple[PlaceFinding, ...]:
        """Places whose p-value over all places is at most alpha."""
        return tuple(found for found in self.findings if found.pvalue <= self.alpha)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is significant, clear, and does not only repeat a stronger place, or all rows; five at most."""
        return tuple(found.sentence for found in self.rejected if found.said)[:_SENTENCES]

    @property
    def _law(self) -> str:
        return f"of rows {self.law}" if self.law.startswith("dependent") else self.law

    def profile(self, column: str) -> ColumnProfile:
        """Return the profile of one column."""
        for found in self.profiles:
            if found.column == column:
                return found
        raise InputError(f"there is no column {column!r}: the columns are {', '.join(map(repr, self.columns))}")

    def plot(self, ax: Any = None, *, column: str | None = None, legend: bool = True) -> Any:
        """Draw observed minus predicted over a column, with the band that holds for all ranges of all columns.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.
        column : str, optional
            Its name; default the column of the strongest place.
        legend : bool
            Whether to say below the axes what everything is.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InputError
            For a column that is not there.
        MissingExtraError
            Without matplotlib, the extra ``plot``.
        """
        if not self.profiles:
            raise InputError("there are too few rows in every range and category of the columns: nothing can be drawn")
        found = self.profiles[0] if column is None else self.profile(column)
        return found.plot(ax, legend=legend)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own = {"n": self.n, "columns": list(self.columns), "places": self.places, "pvalue": self.pvalue}
        parts = {name: [x.to_dict() for x in getattr(self, name)] for name in ("findings", "profiles")}
        end = {"draws": self.draws, "alpha": self.alpha, "law": self.law, "notes": list(self.notes)}
        return {**own, "sentences": list(self.sentences), **parts, **end}

    def _table(self) -> Grid:
        several = len({f.kind for f in self.findings}) > 2
        rows = [
            [
                f.where,
                *([f.kind] if several else []),
                f"{f.rows:,}",
                f"{f.observed:.4f}",
                f"{f.predicted:.4f}",
                f"{f.gap:+.4f}",
                f"{f.pvalue:.3g}",
            ]
            for f in self.findings[:_SHOWN]
        ]
        left = [f"the first {_SHOWN} of {self.places:,}"] if self.places > _SHOWN else []
        over = (
            "no place of the columns has rows, and uncertain events, enough to be looked at"
            if not self.places
            else f"p-values are {self._law}, over all {self.places:,} places, trends and intersections of "
            f"{', '.join(self.columns[:_SHOWN])}; the columns by themselves, with kernels: p = {self.pvalue:.3g}"
        )
        header = ["where", *(["what"] if several else []), "rows", "observed", "predicted", "gap", "p-value"]
        return Grid("Given the columns", header, rows, [*self.sentences, over, *left, *self.notes])
