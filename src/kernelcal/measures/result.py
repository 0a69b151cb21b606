"""What `measure` returns: a table of values, intervals, what calibrated models have, and p-values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernelcal.tables import Grid, Shown

__all__ = ["Measured", "MeasuredValue"]


@dataclass(frozen=True)
class MeasuredValue:
    """One measure of some rows, and what it takes not to stand alone.

    Attributes
    ----------
    name, unit : str
        The measure.
    value : float
        NaN where it is not defined for these rows.
    interval : tuple of float
        Ends of its interval; NaN where there is none, and `how` says why.
    expected, expected_error : float
        Mean under calibration, and its Monte Carlo standard error.
    band : tuple of float
        Between which calibrated predictions have it, as often as the confidence level says.
    pvalue : float
        P-value of calibration, of this measure alone: exact for independent rows.
    corrected : float
        Of a group: corrected for the number of groups of its column (Holm); else the p-value.
    ideal : float or None
        Value of calibrated predictions of endlessly many rows.
    how : str
        How the interval was found, or why there is none.
    column, group : str
        The group; empty for all rows.
    n : int
        Rows.
    apart : float
        Of a group: how much it differs from all other rows, on the scale of the measure; NaN where that is not known.
    apart_interval : tuple of float
        Interval of this difference.
    apart_pvalue : float
        P-value of no difference, by standard errors, corrected for the number of groups (Holm); calibration is not
        assumed.
    scale : str
        Of the difference: ``log`` and ``logit`` are differences of logarithms and of log-odds.

    Examples
    --------
    >>> from kernelcal.measures import measure
    >>> one = measure([0, 1, 1, 0, 1, 0] * 5, [0.2, 0.7, 0.6, 0.4, 0.9, 0.3] * 5, "oe", draws=99).values[0]
    >>> round(one.value, 3), one.ideal, one.interval[0] < one.value < one.interval[1]
    (0.968, 1.0, True)
    """

    name: str
    unit: str
    value: float
    interval: tuple[float, float]
    expected: float
    expected_error: float
    band: tuple[float, float]
    pvalue: float
    corrected: float
    ideal: float | None
    how: str
    n: int
    column: str = ""
    group: str = ""
    apart: float = math.nan
    apart_interval: tuple[float, float] = (math.nan, math.nan)
    apart_pvalue: float = math.nan
    scale: str = "plain"

    @property
    def away(self) -> float:
        """How far the interval lies from the ideal value at least: what the gate of sizes looks at; NaN without one."""
        low, high = self.interval
        if self.ideal is None or math.isnan(low):
            return math.nan
        return max(low - self.ideal, self.ideal - high, 0.0)

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON; what is not known is None."""
        own: dict[str, Any] = {
            "measure": self.name,
            "value": _plain(self.value),
            "unit": self.unit,
            "interval": _ends(self.interval),
            "interval_method": self.how,
            "expected": _plain(self.expected),
            "expected_error": _plain(self.expected_error),
            "expected_band": _ends(self.band),
            "pvalue": _plain(self.pvalue),
            "ideal": self.ideal,
            "n": self.n,
        }
        if not self.column:
            return own
        group = {"column": self.column, "group": self.group, **own, "corrected_pvalue": _plain(self.corrected)}
        differs = {"difference": _plain(self.apart), "difference_scale": self.scale}
        ends = {"difference_interval": _ends(self.apart_interval), "difference_pvalue": _plain(self.apart_pvalue)}
        return {**group, **differs, **ends}

    @property
    def cells(self) -> tuple[str, ...]:
        """Cells of a table: value, interval, expected, p."""
        return _number(self.value), _both(self.interval), _number(self.expected), _p(self.pvalue)


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _ends(ends: tuple[float, float]) -> list[float | None] | None:
    return None if math.isnan(ends[0]) else [_plain(end) for end in ends]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}" if abs(value) >= 1e4 else f"{value:.4f}"


def _both(ends: tuple[float, float]) -> str:
    return "-" if math.isnan(ends[0]) else f"{_number(ends[0])} to {_number(ends[1])}"


def _p(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


@dataclass(frozen=True, repr=False)
class Measured(Shown):
    """Measures of one model: values, intervals, what calibrated predictions have, and p-values.

    Attributes
    ----------
    values : tuple of MeasuredValue
        One a measure, of all rows.
    groups : tuple of MeasuredValue
        Of groups of rows: group by group, one a measure.
    pvalue : float
        P-value of calibration by all measures together: the smallest rank counts, and is ranked in turn. Exact for
        independent rows.
    n, draws : int
        Rows, and sets of targets that were drawn.
    law : str
        What was drawn.
    confidence_level : float
        Of intervals and bands.
    notes : tuple of str
        What the reader must know.
    seed : int or None
        Of the draws.
    question : str
        What is asked of the classes; empty for the targets themselves.

    Examples
    --------
    >>> from kernelcal.measures import measure
    >>> found = measure([0, 1, 1, 0, 1, 0] * 5, [0.2, 0.7, 0.6, 0.4, 0.9, 0.3] * 5, "oe,slope", draws=99)
    >>> [one.name for one in found.values], found.n
    (['observed to expected', 'calibration slope'], 30)
    >>> round(found["observed to expected"].value, 3)
    0.968
    """

    values: tuple[MeasuredValue, ...]
    groups: tuple[MeasuredValue, ...]
    pvalue: float
    n: int
    draws: int
    law: str
    confidence_level: float
    notes: tuple[str, ...] = ()
    seed: int | None = 0
    question: str = ""

    def __getitem__(self, name: str) -> MeasuredValue:
        """Return the measure of this name, of all rows."""
        for one in self.values:
            if one.name == name:
                return one
        raise KeyError(f"{name!r} is none of {', '.join(repr(one.name) for one in self.values)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "measures": [one.plain() for one in self.values],
            "groups": [one.plain() for one in self.groups],
            "pvalue": _plain(self.pvalue),
            "n": self.n,
            "draws": self.draws,
            "law": self.law,
            "confidence_level": self.confidence_level,
            "question": self.question or None,
            "seed": self.seed,
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw every measure on its interval, beside what calibrated predictions have.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from kernelcal.plots import forest_plot

        rows = (*self.values, *self.groups)
        return forest_plot(
            [f"{one.name}{f', {one.column} {one.group}' if one.column else ''}" for one in rows],
            [one.value for one in rows],
            [one.interval for one in rows],
            [one.band for one in rows],
            [one.expected for one in rows],
            [one.corrected for one in rows],
            confidence_level=self.confidence_level,
            title=self._title,
            ax=ax,
        )

    @property
    def _title(self) -> str:
        return f"Measures of {self.n:,} rows" + (f", {self.question}" if self.question else "")

    @property
    def grids(self) -> tuple[Grid, ...]:
        """Its tables: all rows, and groups where there are any."""
        return self._tables()

    def _tables(self) -> tuple[Grid, ...]:
        percent = f"{100 * self.confidence_level:g} %"
        heads = ("value", f"{percent} interval", "expected if\ncalibrated", "p")
        notes = [
            f"expected if calibrated: mean of {self.draws:,} draws ({self.law})",
            *([f"p-value of calibration by all of them together: {_p(self.pvalue)}"] if len(self.values) > 1 else []),
            *self._without_interval,
            *self.notes,
        ]
        rows = [(_name(one), *one.cells) for one in self.values]
        tables = [Grid(self._title, ("measure", *heads), rows, notes)]
        if self.groups:
            tables.append(self._by_group(heads))
        return tuple(tables)

    @property
    def _without_interval(self) -> list[str]:
        """Why measures have none, each reason once."""
        why: dict[str, list[str]] = {}
        for one in self.values:
            if math.isnan(one.interval[0]):
                why.setdefault(one.how, []).append(one.name)
        return [f"{', '.join(names)}: {how}" for how, names in why.items()]

    def _by_group(self, heads: tuple[str, ...]) -> Grid:
        header = ("measure, group", "rows", *heads[:-1], "p,\ncorrected", "differs from\nthe rest, p")
        rows = []
        for measure in self.values:
            for one in self.groups:
                if one.name == measure.name:
                    own = (f"{one.n:,}", *one.cells[:-1], _p(one.corrected), _p(one.apart_pvalue))
                    rows.append((f"{_name(one)}, {one.column} {one.group}", *own))
        notes = (
            "p-values of groups are corrected for their number (Holm), those of differences, too; a difference is "
            "tested by standard errors and asks for no calibration",
        )
        return Grid("Groups", header, rows, notes)


def _name(one: MeasuredValue) -> str:
    return f"{one.name} ({one.unit})" if one.unit else one.name
