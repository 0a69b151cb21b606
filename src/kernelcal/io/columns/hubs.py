"""What a table of forecasts knows of its own rows: when each was made, for what date, and which rows overlap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernelcal.io.columns.rows import count, kept_given
from kernelcal.io.sources import missing

__all__ = ["Hub", "hub_columns"]


_COMPACT = re.compile(r"^((?:19|20)\d\d)([01]\d)([0-3]\d)$")  # 20240106
_MADE = ("reference_date", "origin_date", "forecast_date")
_DUE = ("target_end_date", "target_date")
_LEADS = ("horizon",)
_TASKS = ("location", "target", "target_type", "model", "model_id", "age_group", "variant", "station", "site")
_FEWEST = 8  # dates as clusters that are taken unasked; with five a test is refused in one of five tables
_LEAST = 5  # dates that a test of clusters takes at all
_APART = 3  # rows that do not overlap
_TOO_SMALL = "a p-value that takes rows as independent can be far too small"


def hub_columns(names: Sequence[str], *, tasks: Sequence[str] | None = None) -> tuple[str, str, list[str]] | None:
    """Columns of the date on which a forecast was made, of the date that it is for, and those that tell series apart.

    None where the two dates are not there. Without ``tasks`` the last are the usual names of a hub.
    """
    made, due = (next((name for name in usual if name in names), None) for usual in (_MADE, _DUE))
    if made is None or due is None:
        return None
    mine = [name for name in (_TASKS if tasks is None else tasks) if name in names and name not in (*_MADE, *_DUE)]
    return made, due, [name for name in mine if name not in _LEADS]


@dataclass(frozen=True, eq=False)
class Hub:
    """Forecasts of which it is known when they were made, and for what date.

    Two forecasts overlap where the outcome of the one was not known when the other was made. The outcome of a date is
    taken as known to what is made on later dates, not on that date: a hub's reference date is often that of its first
    outcome.

    Attributes
    ----------
    columns : tuple of str
        Columns of both dates.
    series_columns : tuple of str
        Columns that differ between series.
    made, due : numpy.ndarray of shape (n,)
        The dates, in days.
    series : numpy.ndarray of int, shape (n,)
        Which of the series a row belongs to.
    """

    columns: tuple[str, str]
    series_columns: tuple[str, ...]
    made: np.ndarray
    due: np.ndarray
    series: np.ndarray

    @classmethod
    def of(cls, columns: tuple[str, str, list[str]], texts: dict[str, list[str]], rows: np.ndarray) -> Self | None:
        """Read the dates of some rows; None where they are no dates, or one is missing."""
        made, due, tasks = columns
        if any(missing(text) for name in (made, due) for text in {texts[name][row] for row in rows}):
            return None
        compact = {name: [_COMPACT.sub(r"\1-\2-\3", text) for text in texts[name]] for name in (made, due)}
        dates = kept_given(compact, rows) or {}
        if any(not isinstance(found, np.ndarray) for found in dates.values()):
            return None
        first, last = (x.astype("M8[h]").astype(float) / 24 if x.dtype.kind == "M" else x for x in dates.values())
        labels = {name: _codes([texts[name][row] for row in rows]) for name in tasks}
        vary = [name for name, codes in labels.items() if codes.max(initial=0) > 0]
        together = np.stack([labels[name] for name in vary], axis=1).tolist() if vary else [[]] * len(rows)
        return cls((made, due), tuple(vary), first, last, _codes(list(map(tuple, together))))

    def __len__(self) -> int:
        return len(self.made)

    @property
    def dates(self) -> int:
        """How many dates there are on which forecasts were made."""
        return len(np.unique(self.made))

    @property
    def number(self) -> int:
        """How many series there are."""
        return int(self.series.max(initial=-1)) + 1

    @cached_property
    def several_leads(self) -> bool:
        """Whether forecasts look ahead by different times."""
        return len(np.unique(self.due - self.made)) > 1

    @cached_property
    def step(self) -> float:
        """Largest regular step between dates on which forecasts were made; 0 for one date."""
        apart = np.diff(np.unique(self.made))
        if not len(apart):
            return 0.0
        whole = bool((apart == np.rint(apart)).all())
        return float(np.gcd.reduce(apart.astype(np.int64))) if whole else float(apart.min())

    @property
    def horizon(self) -> int:
        """Steps after which the outcome of every forecast is known to those that are made."""
        longest = float((self.due - self.made).max(initial=0.0))
        return max(int(longest // self.step) + 1, 1) if self.step else 1

    def apart(self, clusters: np.ndarray) -> bool:
        """Whether the outcomes of a cluster are all known before the next one begins to be forecast."""
        number = int(clusters.max(initial=-1)) + 1
        first, last = np.full(number, np.inf), np.full(number, -np.inf)
        np.minimum.at(first, clusters, np.minimum(self.made, self.due))
        np.maximum.at(last, clusters, self.due)
        order = np.argsort(first)
        return bool((first[order][1:] > last[order][:-1]).all())

    def known(self) -> dict[str, Any]:
        """What holds of these rows, as arguments of `kernelcal.cases.Case.of`; empty where nothing does.

        One series of one lead: times and the horizon. Several rows a date: clusters of the dates, where outcomes of one
        are known before the next, and where there are enough of them.
        """
        if self.number == 1 and not self.several_leads:
            if not self.step:
                return {}
            place = np.rint((self.due - self.due.min()) / self.step).astype(np.int64)
            fewest = np.bincount(place % self.horizon, minlength=self.horizon)
            enough = len(np.unique(place)) == len(self) and fewest[fewest > 0].min() >= _APART
            return {"time": place, "horizon": self.horizon} if enough else {}
        clusters = np.unique(self.made, return_inverse=True)[1]
        sizes = np.bincount(clusters).astype(np.float64) ** 2  # as if rows of one date were all the same
        enough = sizes.sum() ** 2 / (sizes**2).sum() >= _FEWEST
        return {"clusters": clusters} if enough and self.apart(clusters) else {}

    def overlapping(self, steps: int | None) -> dict[str, Any]:
        """Times, series and horizon of these rows, where the user says some of them."""
        unit = self.step or 1.0
        found = {"time": (self.due - self.due.min()) / unit, "horizon": steps or self.horizon}
        series = _codes(list(zip(self.series.tolist(), (self.due - self.made).tolist(), strict=True)))
        number = int(series.max(initial=0)) + 1
        if number == len(self):  # no series has two rows
            return {"horizon": found["horizon"]}
        return {**found, "series": series} if number > 1 else found

    def in_words(self, said: dict[str, Any]) -> str:
        """Say what was taken unasked."""
        made, due = self.columns
        if "clusters" in said:
            return (
                f"; forecasts made on one date share what happens then: --clusters {made} "
                f"({count(self.dates, 'date')}) was taken (--horizon 1 takes rows of one date as independent)"
            )
        if said["horizon"] == 1:
            return f"; forecasts that do not overlap: --time {due} --horizon 1 was taken"
        return (
            f"; forecasts {self._ahead} overlap: --time {due} --horizon {said['horizon']} was taken (--horizon 1 takes "
            "them as not overlapping)"
        )

    def untaken(self, known: dict[str, Any]) -> str:
        """Say that rows are taken as independent and are not, why, and what could be done; `known` is what holds."""
        made, due = self.columns
        series = f" of {self.number:,} series" if self.number > 1 else ""
        start = f"{count(len(self), 'forecast')}{series} made on {count(self.dates, 'date')}"
        if not self.step:
            return (
                f"{start} depend on what happened after it, all of them, and {_TOO_SMALL}: more dates are needed, for "
                "which no option can stand"
            )
        if known:
            said = f"--clusters {made}" if "clusters" in known else f"--time {due} --horizon {known['horizon']}"
            return f"{start} share what happens then, and {_TOO_SMALL}: {said} allows for it"
        return f"{start}, {self._ahead}, overlap in time or share dates, and {_TOO_SMALL}: {self._ways()}"

    @property
    def _ahead(self) -> str:
        return f"up to {count(self.horizon, 'step')} of {self.step:g} day{'s' * (self.step != 1)} ahead"

    def _ways(self) -> str:
        """What can be tested of these rows."""
        shortest = np.flatnonzero(self.due - self.made == (self.due - self.made).min())
        one = [f"--where {name}=..." for name in self.series_columns] + ["--where horizon=..."] * self.several_leads
        ways = []
        if self.several_leads and "clusters" in self._some(shortest).known():
            ways.append("the shortest horizon alone, --where horizon=..., whose dates are taken as clusters")
        if self.dates >= _FEWEST * self.horizon > _FEWEST:
            ways.append(
                f"dates {self.horizon} steps apart, --where {self.columns[0]}=... for each, which are taken as clusters"
            )
        if self.horizon == 1 and _LEAST <= self.dates < _FEWEST:
            ways.append(f"--clusters {self.columns[0]}, whose test may be refused for so few dates")
        if one:
            ways.append(f"one series at one horizon, {' '.join(one)}, whose overlap is allowed for")
        return f"take {', or '.join(ways or ['more dates', 'a shorter horizon'])}"

    def _some(self, rows: np.ndarray) -> Hub:
        """The same of some rows."""
        series = _codes(self.series[rows].tolist())
        return replace(self, made=self.made[rows], due=self.due[rows], series=series)

    def doubt(self, said: dict[str, Any]) -> str:
        """Say what the user's own word leaves out of these rows; empty where it leaves out nothing."""
        if not self.step:
            return self.untaken({})
        alone = "and these are forecast for the same dates: where something moves them together"
        if "clusters" in said:
            if self.apart(said["clusters"]):
                return ""
            small = _TOO_SMALL.replace("rows", "clusters")
            return f"clusters are taken as independent of each other, {alone}, or where dates overlap, {small}"
        if len(np.unique(said.get("series", np.zeros(1)))) > 1:
            small = _TOO_SMALL.replace("rows", "series")
            return f"series are taken as independent of each other, {alone}, {small}"
        steps = said.get("horizon", 1)
        if self.horizon > steps:
            return f"horizon {steps} was said, and the dates say that forecasts overlap over {self.horizon} steps"
        return ""


def _codes(labels: Sequence[Any]) -> np.ndarray:
    book: dict[Any, int] = {}
    return np.array([book.setdefault(label, len(book)) for label in labels], dtype=np.int64)
