"""What is known of rows that depend on each other: clusters, or series of forecasts whose horizons overlap."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import is_frame, series_to_array

__all__ = ["STRETCHES", "Dependence"]


_REGULAR = 1e-6  # of a step; times are whole steps up to so much
_SUBSETS = 20  # of clusters, whose smallest p-value is multiplied by their number
STRETCHES = 10  # of h steps, from which on they tell how rows depend: below, redrawn targets broke the level
_SPARSE = 50  # steps a row; a series with fewer rows than one in so many steps has irregular times


@dataclass(frozen=True, eq=False)
class Dependence:
    """Which rows share what, checked once.

    Attributes
    ----------
    clusters : numpy.ndarray of int, shape (n,), or None
        Number of the cluster of every row, 0 to G - 1; rows of two clusters are independent.
    series : numpy.ndarray of int, shape (n,)
        Number of the series of every row; one series where nothing was said.
    time : numpy.ndarray of int, shape (n,)
        Whole steps since the first row of the series.
    horizon : int
        How many steps ahead forecasts look: those less than so many steps apart look at spans that overlap. 1: none do.
    moment : numpy.ndarray of int, shape (n,), or None
        Number of the time of every row among all, alike for rows of several series at one time.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.dependence import Dependence
    >>> rows = Dependence(np.array([0, 0, 1]), np.zeros(3, int), np.arange(3))
    >>> rows.in_words
    'dependent inside 2 clusters'
    """

    clusters: np.ndarray | None
    series: np.ndarray
    time: np.ndarray
    horizon: int = 1
    moment: np.ndarray | None = None

    @classmethod
    def of(cls, n: int, *, clusters: Any = None, time: Any = None, horizon: Any = None, series: Any = None) -> Self:
        """Check what a user said of n rows.

        Parameters
        ----------
        n : int
            Rows.
        clusters : array of shape (n,), optional
            Labels of any kind: rows with the same label may depend on each other in any way.
        time : array of shape (n,), optional
            When, in numbers or dates at a regular distance; without it rows are in order of time.
        horizon : int, optional
            Steps between two times that a forecast looks ahead.
        series : array of shape (n,), optional
            Labels of the series to which rows belong, where there are several.

        Raises
        ------
        InputError
            With the row and the remedy.
        """
        if clusters is not None and not (time is None and horizon is None and series is None):
            raise InputError(
                "clusters= says that rows with one label depend on each other in some way, time=, horizon= and series= "
                "that forecasts overlap: give one of the two; series of forecasts that overlap are series= and horizon="
            )
        if clusters is not None:
            codes = _codes("clusters", clusters, n)
            _refuse_ids(codes)
            return cls(codes, np.zeros(n, dtype=np.int64), np.arange(n))
        steps = _horizon(horizon, n)
        of_series = np.zeros(n, dtype=np.int64) if series is None else _codes("series", series, n)
        if horizon is None and time is None:
            raise InputError(
                "series= says which rows follow each other, and not how they depend: say horizon= too, the steps that "
                "a forecast looks ahead; rows that share something else are clusters="
            )
        when = _positions(of_series) if time is None else _steps(_values("time", time, n), of_series)
        return cls(None, of_series, when, steps, when if time is None else _codes("time", time, n))

    def __len__(self) -> int:
        return len(self.series)

    def __getitem__(self, rows: Any) -> Self:
        """Return the same for some of the rows."""
        clusters = None if self.clusters is None else np.unique(self.clusters[rows], return_inverse=True)[1]
        series = np.unique(self.series[rows], return_inverse=True)[1]
        moment = None if self.moment is None else self.moment[rows]
        return replace(self, clusters=clusters, series=series, time=self.time[rows], moment=moment)

    @property
    def overlap(self) -> bool:
        """Whether rows depend on each other beyond what one step after the other does."""
        return self.clusters is not None or self.horizon > 1

    @property
    def in_words(self) -> str:
        """How rows depend on each other."""
        if self.clusters is not None:
            return f"dependent inside {self.groups:,} clusters"
        if self.horizon == 1:
            return "valid for one-step forecasts"
        return f"dependent up to {self.horizon - 1} step{'s' * (self.horizon > 2)}"

    @property
    def few_stretches(self) -> str:
        """Say that too few stretches of h steps tell how rows depend on each other; empty where they are enough."""
        number = len(self) / self.horizon
        if self.clusters is not None or self.horizon == 1 or number >= STRETCHES:
            return ""
        return (
            f"few independent stretches ({len(self):,} rows of forecasts {self.horizon} steps ahead are about "
            f"{number:.0f}) do not tell how they depend"
        )

    @cached_property
    def groups(self) -> int:
        """Number of clusters, or of series."""
        return int((self.series if self.clusters is None else self.clusters).max(initial=-1)) + 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """Steps from the first to the last row of every series, both counted."""
        last = np.zeros(int(self.series.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(last, self.series, self.time)
        return last + 1

    def pairs(self, lag: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of one series that are so many steps apart, the earlier ones and the later ones."""
        span = int(self.time.max(initial=0)) + 1 + self.horizon
        key = self.series * span + self.time
        order = np.argsort(key)
        place = np.minimum(np.searchsorted(key[order], key + lag), len(key) - 1)
        later = order[place]
        found = np.flatnonzero(key[later] == key + lag)
        return found, later[found]

    def near(self, rows: slice) -> np.ndarray:
        """Which rows may depend on some of them, each on itself too: of one cluster, or less than h steps apart."""
        if self.clusters is not None:
            return np.asarray(self.clusters[rows, None] == self.clusters)
        same = self.series[rows, None] == self.series
        return np.asarray(same & (np.abs(self.time[rows, None] - self.time) < self.horizon))

    @cached_property
    def thinned(self) -> tuple[np.ndarray, ...]:
        """Rows of subsets that are independent: of overlapping forecasts h, those of time t, t + h, t + 2 h, ...

        Of clusters m subsets of about equal size, in each at most one row of a cluster; of a cluster of more than m
        rows m are taken, at even distances. m is at most 20, and the one at which the rows taken over sqrt(m) are most:
        with clusters of one size this size, and few where few clusters have many rows.
        """
        if self.clusters is None:
            subset, rows = self.time % self.horizon, np.arange(len(self))
        else:
            rows, number = self._taken
            subset = np.arange(len(rows)) % number
        return tuple(part for k in range(int(subset.max(initial=-1)) + 1) if len(part := np.sort(rows[subset == k])))

    @cached_property
    def _taken(self) -> tuple[np.ndarray, int]:
        """At most m rows of every cluster, cluster by cluster, and m."""
        assert self.clusters is not None
        order, sizes = np.argsort(self.clusters, kind="stable"), np.bincount(self.clusters)
        numbers = np.arange(1, min(int(sizes.max()), _SUBSETS) + 1)
        number = int(numbers[np.argmax([np.minimum(sizes, m).sum() / m**0.5 for m in numbers])])
        starts = np.cumsum(sizes) - sizes
        taken = [
            first + np.arange(min(m, number)) * m // min(m, number) for first, m in zip(starts, sizes, strict=True)
        ]
        return order[np.concatenate(taken)], number


def _values(name: str, given: Any, n: int) -> np.ndarray:
    """One value a row, as an array of numbers, dates or objects."""
    if isinstance(given, str | bytes) or not (hasattr(given, "__len__") or is_frame(given)):
        raise InputError(f"{name} must hold one value for each of the {n:,} rows, got {given!r}")
    values = series_to_array(given) if is_frame(given) else to_numpy(as_array(_as_objects(given)))
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.shape != (n,):
        raise InputError(f"{name} must hold one value for each of the {n:,} rows, got shape {values.shape}")
    missing = [i for i, value in enumerate(values.tolist()) if _is_missing(value)]
    if missing:
        raise InputError(
            f"{name}: row {missing[0]} is missing ({len(missing):,} of {n:,}): drop such rows from targets, "
            f"predictions and {name} together"
            + ("" if name == "time" else ", or give each a label of its own if it stands alone")
        )
    return values


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA, which refuses to be asked; an array in a cell is something else."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
    except ValueError:
        return False


def _as_objects(given: Any) -> Any:
    """A list stays a list of its own values: NumPy would turn [1, "1"] into text."""
    if not isinstance(given, list | tuple):
        return given
    values = np.empty(len(given), dtype=object)
    values[:] = given
    return values


def _codes(name: str, given: Any, n: int) -> np.ndarray:
    values = _values(name, given, n)
    if values.dtype.kind == "O":
        numbers: dict[Any, int] = {}
        codes = np.empty(n, dtype=np.int64)
        for i, value in enumerate(values.tolist()):
            try:
                codes[i] = numbers.setdefault((type(value), value), len(numbers))
            except TypeError:  # lists, dictionaries, arrays: equal ones could not be found
                raise InputError(
                    f"{name}: row {i} is {value!r}, a {type(value).__name__}: expected a label, such as a number, text "
                    "or a date; of several values make a tuple"
                ) from None
        return codes
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _refuse_ids(codes: np.ndarray) -> None:
    n, groups = len(codes), int(codes.max(initial=-1)) + 1
    if groups == 1:
        raise InputError(
            f"clusters: all {n:,} rows have one label, so that no two of them are known to be independent: nothing can "
            "be tested; for one series of forecasts pass horizon="
        )


def _horizon(given: Any, n: int) -> int:
    if given is None:
        return 1
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise InputError(f"horizon must be a whole number of steps, 1 or more, got {given!r}")
    if given >= n and given > 1:
        raise InputError(f"horizon is {given:,} steps and there are {n:,} rows: no two forecasts are apart")
    return int(given)


def _positions(series: np.ndarray) -> np.ndarray:
    """Place of every row in its series, in the order of the rows."""
    order = np.argsort(series, kind="stable")
    starts = np.flatnonzero(np.diff(series[order], prepend=-1))
    lengths = np.diff(np.append(starts, len(series)))
    place = np.empty(len(series), dtype=np.int64)
    place[order] = np.arange(len(series)) - np.repeat(starts, lengths)
    return place


def _steps(values: np.ndarray, series: np.ndarray) -> np.ndarray:
    """Whole steps since the first row of the series, or refuse times without regular steps."""
    numbers, unit = _as_numbers(values)
    order = np.lexsort((numbers, series))
    same, apart = np.diff(series[order]) == 0, np.diff(numbers[order])
    twice = np.flatnonzero(same & (apart <= 0))
    if len(twice):
        first, second = sorted(order[twice[0] : twice[0] + 2])
        raise InputError(
            f"time: row {first} and row {second} have the same time, {values[first]}: say series=, which series each "
            "row belongs to (station, location, model run); one outcome a time is expected in a series"
        )
    if not same.any():
        raise InputError("time: every series has one row, so that none overlaps another: leave time and series out")
    whole_numbers = bool((apart[same] == np.rint(apart[same])).all())
    step = float(np.gcd.reduce(apart[same].astype(np.int64))) if whole_numbers else float(apart[same].min())
    since = np.concatenate([[0.0], np.where(same, apart, 0.0)]).cumsum()
    starts = np.flatnonzero(np.append(True, ~same))
    since -= np.repeat(since[starts], np.diff(np.append(starts, len(series))))
    whole = np.rint(since / step)
    bad = np.flatnonzero(np.abs(since / step - whole) > _REGULAR * np.maximum(1, whole))
    if len(bad) or whole.max() > _SPARSE * len(series):
        far = int(bad[0]) if len(bad) else int(whole.argmax())
        raise InputError(
            f"time: in steps of {step * unit[0]:g}{unit[1]}, the largest that could be regular, row {order[far]} "
            f"({values[order[far]]}) lies {since[far] / step:,.6g} steps after the first of its series, and there are "
            f"{len(series):,} rows: pass whole numbers of steps, such as the number of the month; without time= rows "
            "are taken in their order"
        )
    steps = np.empty(len(series), dtype=np.int64)
    steps[order] = whole
    return steps


_DAY = 86_400 * 10**6  # microseconds


def _as_numbers(values: np.ndarray) -> tuple[np.ndarray, tuple[float, str]]:
    """Numbers of numbers, dates and ISO text, and what one of them is: factor and unit, for messages.

    Dates that are all the same day of a month, or all the last one, are numbers of months, which differ in length.
    """
    try:
        if values.dtype.kind in "OUS":
            whole = values.tolist()
            numbers = all(isinstance(value, int | float | np.number) for value in whole)
            with warnings.catch_warnings():  # of times with a zone, which are taken in UTC
                warnings.simplefilter("ignore", UserWarning)
                values = np.array(
                    whole if numbers else [str(value) for value in whole], dtype=None if numbers else "M8[us]"
                )
        if values.dtype.kind == "m":
            return values.astype("m8[us]").astype(np.int64).astype(np.float64), (1 / _DAY, " days")
        if values.dtype.kind == "M":
            times = values.astype("M8[us]")
            months = _months(times)
            if months is not None:
                return months, (1.0, " months")
            return times.astype(np.int64).astype(np.float64), (1 / _DAY, " days")
        if values.dtype.kind == "c":
            raise TypeError  # the imaginary part would be dropped
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        odd = [f"row {i} is {x!r:.60}" for i, x in enumerate(values.tolist()) if type(x).__hash__ is None]
        got = odd[0] if odd else f"got {values[0]!r}"
        raise InputError(f"time must be numbers or dates, {got}: dates as text are ISO, such as 2026-03-31") from None
    far = np.flatnonzero(~np.isfinite(found))
    if len(far):
        raise InputError(f"time: row {far[0]} is {found[far[0]]}, expected a number or a date: drop such rows")
    return found, (1.0, "")


def _months(times: np.ndarray) -> np.ndarray | None:
    """Numbers of months, where times are the same day of every month, or its last one, at the same time of day."""
    month = times.astype("M8[M]")
    since = times - month  # since the first of the month
    left = (month + np.timedelta64(1, "M")).astype("M8[us]") - times  # to the first of the next
    alike = bool((since == since[0]).all() or (left == left[0]).all())
    return month.astype(np.int64).astype(np.float64) if alike and len(np.unique(month)) > 1 else None
