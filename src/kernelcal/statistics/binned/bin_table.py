"""The bins behind a binned error, and how they print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.binning import Bins
from kernelcal.defaults import CONFIDENCE_LEVEL
from kernelcal.dependence import binomial_interval
from kernelcal.statistics.base import NumberEstimate
from kernelcal.tables import Shown, Table

__all__ = ["BinTable", "BinnedEstimate", "plain_values"]


_SHOWN = 30
_HEADER = f"{'rows':>9}  mean p  frequency  {100 * CONFIDENCE_LEVEL:g} % interval"


@dataclass(frozen=True, eq=False, repr=False)
class BinTable(Shown):
    """Bins of one question; an empty bin has count 0 and NaN means (None in `to_dict`).

    Attributes
    ----------
    question : str
        What is asked.
    bins : Bins
        Bin of every row, and the edges ``lower`` and ``upper`` of bins of one probability.
    weight : numpy.ndarray of shape (b,)
        Rows of each bin, or the sum of their weights (scaled to mean 1).
    prediction_sums, label_sums : numpy.ndarray of shape (b, d)
        Weighted sums of the probabilities, and of the events (d = 1) or of the one-hot labels.
    squared_weights : numpy.ndarray of shape (b,), optional
        Sums of squared weights, where there are weights.
    within : callable, optional
        Interval of the frequencies at a confidence level, of rows that depend on each other.

    Examples
    --------
    >>> import kernelcal as kc
    >>> table = kc.ece([0, 1, 1, 0], [0.2, 0.8, 0.7, 0.4], bins=2).tables[0]
    >>> table.count, table.mean_prediction, table.frequency
    (array([2, 2]), array([0.3 , 0.75]), array([0., 1.]))
    """

    question: str
    bins: Bins
    weight: np.ndarray
    prediction_sums: np.ndarray
    label_sums: np.ndarray
    squared_weights: np.ndarray | None = None
    within: Callable[[float], tuple[np.ndarray, np.ndarray]] | None = None

    @property
    def count(self) -> np.ndarray:
        """Rows of each bin, shape (b,): their weights count them where every row counts alike."""
        return self.bins.count if self.squared_weights is not None else self.weight.astype(np.int64)

    @property
    def lower(self) -> np.ndarray | None:
        """Lower edges, shape (b,), of bins of one probability."""
        return self.bins.lower

    @property
    def upper(self) -> np.ndarray | None:
        """Upper edges, shape (b,), of bins of one probability."""
        return self.bins.upper

    @property
    def mean_prediction(self) -> np.ndarray:
        """Mean of the predictions, shape (b,) for one probability, else (b, m)."""
        return self._mean(self.prediction_sums)

    @property
    def frequency(self) -> np.ndarray:
        """Frequency of the event, shape (b,), or of every class, shape (b, m)."""
        return self._mean(self.label_sums)

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Clopper-Pearson interval (95 %) of the frequency of one event, shape (b,) each."""
        return self.interval_at(CONFIDENCE_LEVEL)

    def interval_at(self, confidence_level: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Clopper-Pearson interval of the frequency of one event, shape (b,) each.

        With case weights it is that of the effective number of rows, ``(sum w)^2 / sum w^2``; of rows that depend on
        each other that of `dependence.share_interval`.
        """
        if self.label_sums.shape[1] > 1:
            return None
        if self.within is not None:
            return self.within(confidence_level)
        rows, squares = self.weight, self.squared_weights
        if squares is not None:
            rows = np.divide(rows**2, squares, out=np.zeros_like(rows), where=squares > 0)
        return binomial_interval(self.frequency * rows, rows, confidence_level)

    def _mean(self, sums: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            mean = sums / self.weight[:, None]
        return mean[:, 0] if mean.shape[1] == 1 else mean

    @property
    def used(self) -> int:
        """Number of bins that hold rows."""
        return int((self.count > 0).sum())

    def __len__(self) -> int:
        return len(self.count)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        low, high = self.interval or (None, None)
        arrays = {"lower": self.lower, "upper": self.upper, "count": self.count, "weight": self.weight}
        arrays |= {"mean_prediction": self.mean_prediction, "frequency": self.frequency, "low": low, "high": high}
        return {
            "question": self.question,
            "bins_used": self.used,
            **{key: plain_values(x) for key, x in arrays.items() if x is not None},
        }

    def rows(self) -> list[tuple[str, str]]:
        """Lines of the printed table: bins of one probability, else their number."""
        if self.lower is None or self.upper is None:
            sizes = self.count[self.count > 0]
            return [("rows in a bin", f"{sizes.min():,} to {sizes.max():,}")]
        names = [f"{low:.4g} to {high:.4g}" for low, high in zip(self.lower, self.upper, strict=True)]
        lines = [("bin", _HEADER), *zip(names, self._lines(), strict=True)]
        hidden = len(lines) - 1 - _SHOWN
        return [*lines[: _SHOWN + 1], ("...", f"{hidden} more bins")] if hidden > 0 else lines

    def _lines(self) -> list[str]:
        low, high = self.interval or (self.frequency, self.frequency)
        columns = zip(self.count, self.weight, self.mean_prediction, self.frequency, low, high, strict=True)
        return [
            f"{n:>9,}  {p:.4f}     {f:.4f}  {a:.4f} to {b:.4f}" if w > 0 else f"{n:>9,}       -          -  -"
            for n, w, p, f, a, b in columns
        ]

    def _table(self) -> Table:
        return Table(f"Bins, {self.question}", self.rows())

    def _repr_html_(self) -> str:
        return Table(f"Bins, {self.question}", [_aligned(row) for row in self.rows()]).html()


@dataclass(frozen=True, eq=False, repr=False)
class BinnedEstimate(NumberEstimate):
    """A binned error with its bins.

    Attributes
    ----------
    tables : tuple of BinTable
        One for each part of the question.
    parts : tuple of float
        Value of each part, such as each class; the estimate is their mean.

    Examples
    --------
    >>> import kernelcal as kc
    >>> found = kc.ece([0, 1, 1, 0], [0.2, 0.8, 0.7, 0.4], bins=2)
    >>> round(float(found), 3), found.bins_used
    (0.275, 2)
    """

    tables: tuple[BinTable, ...] = ()
    parts: tuple[float, ...] = ()

    @property
    def bins_used(self) -> int:
        """Number of bins that hold rows, over all parts of the question."""
        return sum(table.used for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own = {**super().to_dict(), "bins_used": self.bins_used}
        return {**own, "parts": list(self.parts), "bin_tables": [t.to_dict() for t in self.tables]}

    def _table(self) -> Table:
        whole = super()._table()
        used = f"{self.bins_used:,} of {sum(map(len, self.tables)):,}"
        whole = Table(whole.title, [*whole.rows, ("bins that hold rows", used)], whole.notes)
        if len(self.parts) == 1:
            return Table(whole.title, [*whole.rows, *self.tables[0].rows()], whole.notes)
        named = [(table.question, f"{part:.6g}") for table, part in zip(self.tables, self.parts, strict=True)]
        more = [("...", f"{len(named) - _SHOWN} more")] if len(named) > _SHOWN else []
        return Table(whole.title, [*whole.rows, *named[:_SHOWN], *more], whole.notes)

    def _repr_html_(self) -> str:
        table = self._table()
        return Table(table.title, [_aligned(row) for row in table.rows], table.notes).html()


def plain_values(values: np.ndarray) -> Any:
    """Nested lists with None for NaN."""
    missing: np.ndarray = np.isnan(values)
    return np.where(missing, None, values).tolist() if missing.any() else values.tolist()  # type: ignore[call-overload]


def _aligned(row: tuple[str, str]) -> tuple[str, str]:
    """Keep the spaces between columns in HTML."""
    return row[0], row[1].replace("  ", "\u00a0 ")
