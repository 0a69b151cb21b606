"""Which groups are miscalibrated: every group's own kernel error, ranked together under the exact null."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.lenses import TopLabel
from kernelcal.predictions import ClassPredictions, Quantiles, is_frame, series_to_array
from kernelcal.statistics import Prepared
from kernelcal.statistics.pairwise import PreparedPairMean
from kernelcal.tables import Shown, Table, few_rule

__all__ = [
    "Group",
    "GroupFinding",
    "PreparedGroups",
    "above_claims",
    "checked_groups",
    "gap_name",
    "large_enough",
    "mean_gap",
    "median_gap",
]


_NUMBERS = 30  # that a column of groups holds at most


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that share a value of a column.

    Attributes
    ----------
    column, name : str
        Column, and its value.
    rows : numpy.ndarray of int
        Rows, in order.
    """

    column: str
    name: str
    rows: np.ndarray


def checked_groups(groups: Any, n: int) -> tuple[Group, ...]:
    """Read the groups of every column, in the order in which they first occur, or refuse with the remedy."""
    if groups is None:
        return ()
    return tuple(group for column, values in _columns(groups) for group in _groups(column, _values(column, values, n)))


def _columns(groups: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(groups, Mapping):
        items = list(groups.items())
    elif is_frame(groups) and hasattr(groups, "columns"):
        names = getattr(groups, "column_names", groups.columns)  # pyarrow calls its arrays columns
        items = [(name, groups[name]) for name in names]
    else:
        items = [("group", groups)]
    if not items:
        raise InputError("groups holds no column: pass one value a row, or a mapping of a column's name to its values")
    yield from ((str(name), values) for name, values in items)


def _values(column: str, given: Any, n: int) -> list[Any]:
    """Values of a column as Python objects."""
    if isinstance(given, str | bytes) or not (hasattr(given, "__len__") or is_frame(given)):
        raise InputError(f"groups: column {column!r} must hold one value for each of the {n:,} rows, got {given!r}")
    try:
        values = series_to_array(given) if is_frame(given) else to_numpy(as_array(_as_objects(given)))
    except ValueError:
        values = np.empty((0, 0))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != n:
        shape = f"{len(values):,} values" if values.ndim == 1 else f"shape {values.shape}"
        raise InputError(
            f"groups: column {column!r} has {shape}, and there are {n:,} rows: one value a row is expected; several "
            "columns go into a mapping, {'age': age, 'site': site}"
        )
    found = [_checked(column, row, value) for row, value in enumerate(values.tolist())]
    _refuse_measurements(column, found)
    return found


def _refuse_measurements(column: str, values: list[Any]) -> None:
    """Refuse a column of very many different numbers: these are measured, and no groups."""
    numbers = {value for value in values if isinstance(value, int) and not isinstance(value, bool)}
    if len(numbers) > _NUMBERS:
        raise InputError(
            f"groups: column {column!r} holds {len(numbers)} different numbers, {min(numbers)} to {max(numbers)}: cut "
            f"numbers into ranges first, for example numpy.digitize({column}, [18, 65]); if they are names, pass them "
            f"as text, [str(x) for x in {column}]"
        )


def _as_objects(given: Any) -> Any:
    """A list stays a list of its own values: NumPy would turn [1, 'a'] into text and None into NaN."""
    if not isinstance(given, list | tuple):
        return given
    values = np.empty(len(given), dtype=object)
    values[:] = given
    return values


def _checked(column: str, row: int, value: Any) -> Any:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        raise InputError(
            f"groups: row {row} of column {column!r} is missing: give such rows a name of their own, for example "
            "'unknown', or drop them from targets, predictions and groups together"
        )
    if isinstance(value, float) and not value.is_integer():
        raise InputError(
            f"groups: row {row} of column {column!r} is {value:g}: groups are names or whole numbers; cut numbers into "
            f"ranges first, for example numpy.digitize({column}, [18, 65])"
        )
    if not isinstance(value, str | int | float):
        raise InputError(
            f"groups: row {row} of column {column!r} is a {type(value).__name__}, {value!r:.60}: groups are text, "
            "whole numbers or booleans"
        )
    return int(value) if isinstance(value, float) else value


def _groups(column: str, values: list[Any]) -> Iterator[Group]:
    numbers: dict[tuple[type, Any], int] = {}  # text "1" is not the number 1, and neither is True
    index = np.array([numbers.setdefault((type(value), value), len(numbers)) for value in values])
    order = np.argsort(index, kind="stable")
    bounds = np.searchsorted(index[order], np.arange(1, len(numbers)))
    names = [str(value) for _, value in numbers]
    times = Counter(names)
    for (_, value), name, rows in zip(numbers, names, np.split(order, bounds), strict=True):
        yield Group(column, name if times[name] == 1 else repr(value), rows)


class PreparedGroups(Prepared):
    """Unbiased SKCE of every group by itself, with the kernels of all rows, for many sets of targets."""

    engine = "exact pairs in groups"

    def __init__(self, pairs: PreparedPairMean, groups: Sequence[Group]) -> None:
        self.groups = groups
        self.names = tuple(f"{group.column}: {group.name}" for group in groups)
        self.parts = [pairs.part(group.rows) for group in groups]
        self.bytes_per_draw = max((part.bytes_per_draw for part in self.parts), default=0) + 8 * len(groups)
        self.by_cells = pairs.by_cells

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all groups, shape (B, groups)."""
        pairs = zip(self.parts, self.groups, strict=True)
        return np.hstack([part.values(targets[:, group.rows]) for part, group in pairs])


@dataclass(frozen=True)
class GroupFinding(Shown):
    """One group of rows.

    Attributes
    ----------
    column, name : str
        Column, and its value.
    n : int
        Rows.
    contribution : float or None
        What its rows add to the kernel error of all rows; None of quantiles with ties, where that has no value.
    gap : float or None
        Observed minus predicted: of one probability; of classes accuracy minus confidence of the first choice; of
        numbers the mean standardised residual; of quantiles the share above them minus what was claimed, with ties the
        least that agrees with the claims. None where no row has weight.
    skce : float or None
        Unbiased SKCE of the group by itself; None for a group with less than two rows, and of quantiles with ties.
    deviation : float or None
        The same in standard deviations of the draws.
    pvalue : float or None
        Exact p-value, corrected for the choice among all groups of all columns.
    directions : tuple of str
        For a group that is rejected, in which directions, the clearest first.
    median : float or None
        Of numbers the median of what `gap` is the mean of, which no single row rules.
    """

    column: str
    name: str
    n: int
    contribution: float | None
    gap: float | None
    skce: float | None = None
    deviation: float | None = None
    pvalue: float | None = None
    directions: tuple[str, ...] = ()
    median: float | None = None

    @property
    def gap_in_words(self) -> str:
        """The gap, with the median beside it where few rows make the mean."""
        if self.gap is None:
            return ""
        few = self.median is not None and few_rule(self.gap, self.median)
        return f"{self.gap:+.4f}" + (f" (median {self.median:+.2f})" if few else "")

    @property
    def sentence(self) -> str:
        """Directions and p-value in one sentence."""
        p = "not tested" if self.pvalue is None else f"p = {self.pvalue:.3g} over all groups"
        return f"{self.column} {self.name}: {'; '.join(self.directions) or 'no direction'} ({p})"

    def _table(self) -> Table:
        rows = [("rows", f"{self.n:,}"), ("gap", self.gap_in_words)]
        rows += [] if self.contribution is None else [("contribution", f"{self.contribution:+.3g}")]
        rows += [] if self.skce is None else [("own SKCE", f"{self.skce:.3g}")]
        return Table(f"{self.column}: {self.name}", [*rows, ("finding", self.sentence)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; a deviation that is not finite becomes None."""
        finite = self.deviation is not None and np.isfinite(self.deviation)
        return {
            **asdict(self),
            "deviation": self.deviation if finite else None,
            "directions": list(self.directions),
        }


def large_enough(groups: Sequence[Group], weights: np.ndarray | None) -> list[bool]:
    """Tell which groups have a pair of rows that count."""
    return [(len(g.rows) if weights is None else int(np.count_nonzero(weights[g.rows]))) >= 2 for g in groups]


def gap_name(batch: Any) -> str:
    """What the gap of these predictions is."""
    if isinstance(batch, ClassPredictions):
        return "observed - predicted" if batch.n_classes == 2 else "accuracy - confidence"
    if isinstance(batch, Quantiles):
        return "share above quantiles, observed - claimed"
    return "mean standardised residual"


def mean_gap(case: Case) -> float | None:
    """Weighted mean of observed minus predicted; None where no row has weight."""
    if case.weights is not None and not case.weights.any():
        return None
    return float(np.average(_row_gaps(case.predictions, case.targets), weights=case.weights))


def above_claims(batch: Quantiles, targets: np.ndarray) -> np.ndarray:
    """Mean over levels of ``1[y > q] - (1 - level)`` of every row: above 0 where outcomes are higher than claimed."""
    cells = batch.cells
    lo, _ = cells.ends(cells.codes(targets))
    return np.asarray(lo / len(cells.taus) - (1 - cells.taus).mean())


def median_gap(case: Case) -> float | None:
    """Median of the standardised residuals, of predictions of numbers."""
    if isinstance(case.predictions, ClassPredictions | Quantiles) or not len(case):
        return None
    return float(np.median(_row_gaps(case.predictions, case.targets)))


def _row_gaps(batch: Any, targets: np.ndarray) -> np.ndarray:
    if isinstance(batch, Quantiles):
        return above_claims(batch, targets)
    if not isinstance(batch, ClassPredictions):
        return batch.standardised(targets).reshape(len(batch), -1).mean(axis=1)
    if batch.n_classes == 2:
        return targets - np.asarray(batch.probabilities)[:, 1]
    view = TopLabel().view(batch)
    return view.relabel(targets) - np.asarray(view.predictions.probabilities)[:, 1]
