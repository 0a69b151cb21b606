"""Reliability: in each bin, what was predicted, what happened, and what happens to calibrated models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.plots import confidence_plot, panel, percent, reliability_plot
from kernelcal.statistics import BinnedEstimate, BinTable, NullBand
from kernelcal.statistics.binned import plain_values
from kernelcal.tables import Grid, Shown

__all__ = ["ClassReliability", "Reliability"]


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Shown):
    """Bins of one probability, with an interval of each frequency and a band of calibrated models.

    Two kinds of ranges that are often confused. The *interval* (Clopper-Pearson) is about the frequency: it holds the
    true frequency of the bin with probability ``confidence_level`` or more. The *band* is about calibration:
    frequencies of calibrated models with these predictions lie in it. A bin speaks against calibration where its
    frequency leaves it.

    Attributes
    ----------
    ece : BinnedEstimate
        Expected calibration error of these bins, with its name and settings.
    table : BinTable
        Edges, counts, mean predictions and frequencies.
    band : NullBand
        Band of the frequencies; NaN for empty bins.
    confidence_level : float
        Confidence level of interval and band.
    together : str
        What the band holds for.

    Examples
    --------
    >>> import kernelcal as kc
    >>> found = kc.reliability([0, 1, 1, 0] * 5, [0.2, 0.8, 0.7, 0.4] * 5, bins=2, draws=99)
    >>> found.table.mean_prediction, found.table.frequency
    (array([0.3 , 0.75]), array([0., 1.]))
    """

    ece: BinnedEstimate
    table: BinTable
    band: NullBand
    confidence_level: float
    together: str = "all bins at once"

    @property
    def question(self) -> str:
        """What is asked."""
        return self.table.question

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Clopper-Pearson interval of the frequency of every bin, shape (b,) each; NaN for empty bins."""
        ends = self.table.interval_at(self.confidence_level)
        assert ends is not None  # one event: several are refused before
        return ends

    @property
    def outside(self) -> np.ndarray:
        """Bins whose frequency lies outside the simultaneous band, shape (b,)."""
        return self.band.outside(self.table.frequency)

    @property
    def mean_prediction(self) -> float:
        """Mean of the predicted probabilities."""
        return float(self.table.prediction_sums.sum() / self.table.weight.sum())

    @property
    def frequency(self) -> float:
        """How often the event occurred; of the top label the accuracy."""
        return float(self.table.label_sums.sum() / self.table.weight.sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        low, high = (plain_values(end) for end in self.interval)
        own = {**self.table.to_dict(), "low": low, "high": high, "confidence_level": self.confidence_level}
        return {"ece": self.ece.to_dict(), **own, "null_band": self.band.to_dict(), "outside": self.outside.tolist()}

    def plot(self, ax: Any = None, *, legend: bool = True) -> Any:
        """Draw the reliability diagram.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.
        legend : bool
            Whether to say below the axes what everything is.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingExtraError
            Without matplotlib, the extra ``plot``.
        """
        t, band = self.table, self.band
        return reliability_plot(
            t.mean_prediction,
            t.frequency,
            t.count,
            edges=edges_of(t),
            interval=self.interval,
            pointwise=(band.pointwise_low, band.pointwise_high),
            simultaneous=(band.low, band.high),
            outside=self.outside,
            confidence_level=self.confidence_level,
            together=self.together,
            method="Clopper-Pearson" if t.within is None else "by clusters or stretches",
            title=f"Reliability, {t.question}" if legend else t.question,
            subtitle=f"{self.ece.name.split(',')[0]} {float(self.ece):.4f}, {t.count.sum():,} rows",
            legend=legend,
            ax=ax,
        )

    def plot_counts(self, ax: Any = None) -> Any:
        """Draw how many rows have which probability (of the top label: the confidence histogram).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        lower, upper = edges_of(self.table)
        return confidence_plot(
            lower,
            upper,
            self.table.weight,
            self.mean_prediction,
            self.frequency,
            title=f"Predictions, {self.question}",
            ax=ax,
        )

    def _table(self) -> Grid:
        heads = (
            "bin",
            "rows",
            "mean p",
            "frequency",
            f"{percent(self.confidence_level)}\ninterval",
            "calibrated:\none bin",
        )
        lower, upper = edges_of(self.table)
        rows = [(f"{a:.4g} to {b:.4g}", *self._cells(k)) for k, (a, b) in enumerate(zip(lower, upper, strict=True))]
        title = f"Reliability, {self.question}: {self.ece.name} = {float(self.ece):.4f}"
        return Grid(title, (*heads, f"calibrated:\n{self.together}", ""), rows, self._notes())

    def _cells(self, k: int) -> list[str]:
        t, (low, high), band = self.table, self.interval, self.band
        if not t.weight[k] > 0:
            return [f"{t.count[k]:,}", *["-"] * 5, ""]
        ranges = [(low[k], high[k]), (band.pointwise_low[k], band.pointwise_high[k]), (band.low[k], band.high[k])]
        known = ("none" if np.isnan(a) else f"{a:.3f} to {b:.3f}" for a, b in ranges)
        numbers = [f"{t.mean_prediction[k]:.4f}", f"{t.frequency[k]:.4f}", *known]
        return [f"{t.count[k]:,}", *numbers, "outside" if self.outside[k] else ""]

    def _notes(self) -> tuple[str, ...]:
        level = percent(self.confidence_level)
        if self.table.within is not None:
            words = (
                "interval: of the frequency, by clusters or stretches of rows that depend on each other; calibrated: "
                f"where the frequencies of {level} of calibrated models lie whose rows depend as much"
            )
            return (words, *self.ece.notes)
        words = (
            f"interval: of the frequency, Clopper-Pearson; calibrated: where the frequencies of {level} of calibrated "
            f"models with these predictions lie ({self.band.draws:,} draws)"
        )
        return (words, *self.ece.notes)


def edges_of(table: BinTable) -> tuple[np.ndarray, np.ndarray]:
    """Edges of the bins; of a binning that tells none, the mean prediction twice."""
    if table.lower is None or table.upper is None:
        return table.mean_prediction, table.mean_prediction
    return table.lower, table.upper


_DRAWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class ClassReliability(Shown):
    """Reliability of every class.

    Attributes
    ----------
    ece : BinnedEstimate
        Mean of the errors of the classes.
    parts : tuple of Reliability
        One for every class, in the order of the classes. Bands hold for all bins of all classes at once.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> found = kc.class_reliability(y, p, bins=2, draws=99)
    >>> [part.question for part in found.parts]
    ['class 0 against the rest', 'class 1 against the rest', 'class 2 against the rest']
    """

    ece: BinnedEstimate
    parts: tuple[Reliability, ...]

    def worst(self, number: int = _DRAWN) -> tuple[Reliability, ...]:
        """Return the classes with the largest errors, the largest first."""
        return tuple(sorted(self.parts, key=lambda part: -float(part.ece))[:number])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"ece": self.ece.to_dict(), "parts": [part.to_dict() for part in self.parts]}

    def plot(self, axes: Any = None, *, number: int = _DRAWN) -> Any:
        """Draw a reliability diagram for each of the worst classes, the worst first.

        Parameters
        ----------
        axes : sequence of matplotlib.axes.Axes, optional
            Where to draw, one a class; as many classes are drawn as there are axes. Default a new figure.
        number : int
            Largest number of classes that are drawn in a new figure; it says how many are left out.

        Returns
        -------
        numpy.ndarray of matplotlib.axes.Axes
        """
        number = len(self.parts) if axes is None and len(self.parts) < number else number
        shown = self.worst(number if axes is None else len(axes))
        left = len(self.parts) - len(shown)
        more = f", the {len(shown)} worst of {len(self.parts)} ({left} left out)" if left else ""
        return panel([part.plot for part in shown], f"Reliability, {self.ece.name} {float(self.ece):.4f}{more}", axes)

    def _table(self) -> Grid:
        rows = [
            (
                part.question,
                f"{float(part.ece):.4f}",
                f"{int(part.outside.sum())} of {int((part.table.weight > 0).sum())}",
            )
            for part in self.parts
        ]
        header = ("question", "ECE", "bins outside\nthe band")
        return Grid(f"Reliability, {self.ece.name} = {float(self.ece):.4f}", header, rows, self.ece.notes)
