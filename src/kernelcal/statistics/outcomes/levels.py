"""What every level of a quantile forecast claims, and what was observed: both ends where outcomes equal quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL
from kernelcal.dependence import share_interval
from kernelcal.errors import InputError
from kernelcal.plots import levels_plot
from kernelcal.predictions import Quantiles
from kernelcal.runs import Run
from kernelcal.statistics.base import Estimate
from kernelcal.tables import Grid, Shown

__all__ = ["ClaimedLevels", "claimed_levels", "claimed_levels_of", "refuse_other_than_quantiles"]


_TIES = (
    "outcomes equal quantiles, or quantiles each other: only what P(Y < q) <= level <= P(Y <= q) claims was tested, "
    "and the gap is the least that agrees with the claims"
)
_WEIGHTED = "with case weights the numbers of outcomes are not binomial, so the shares have no interval"
_EACH = "intervals are of each level by itself, and so is what is called broken; the test looks at all together"


@dataclass(frozen=True, eq=False, repr=False)
class ClaimedLevels(Shown):
    """Claimed and observed share of outcomes below each quantile.

    Attributes
    ----------
    levels : numpy.ndarray of shape (Q,)
        Levels inside (0, 1) that were given.
    most_below, least_upto : numpy.ndarray of shape (Q,)
        What they claim: the most that may lie strictly below the quantile, and the least that must lie at or below.
        Both are the level, unless rows have equal quantiles: of these the sharpest claims count.
    below, upto : numpy.ndarray of shape (Q,)
        Observed shares strictly below, and at or below.
    below_interval, upto_interval : numpy.ndarray of shape (Q, 2)
        Clopper-Pearson intervals of both; nan with case weights.
    ties : bool
        Whether an outcome equals a quantile, or a row has equal quantiles.
    n : int
        Rows.
    confidence_level : float
        Of the intervals.
    notes : tuple of str
        What the reader must know.

    Examples
    --------
    >>> import kernelcal as kc
    >>> found = kc.claimed_levels([0.3, 2.0, -0.5], kc.Quantiles([[-1.0, 0.0, 1.0]] * 3, [0.1, 0.5, 0.9]))
    >>> found.levels, found.upto.round(3)
    (array([0.1, 0.5, 0.9]), array([0.   , 0.333, 0.667]))
    """

    levels: np.ndarray
    most_below: np.ndarray
    least_upto: np.ndarray
    below: np.ndarray
    upto: np.ndarray
    below_interval: np.ndarray
    upto_interval: np.ndarray
    ties: bool
    n: int
    confidence_level: float
    notes: tuple[str, ...] = ()

    @property
    def broken(self) -> np.ndarray:
        """Claims that lie outside the interval of what was observed, shape (Q,); none with case weights."""
        with np.errstate(invalid="ignore"):
            return np.asarray(
                (self.below_interval[:, 0] > self.most_below) | (self.upto_interval[:, 1] < self.least_upto)
            )

    @property
    def gaps(self) -> np.ndarray:
        """Signed gap of every level, observed minus claimed: the least that agrees with the claim, shape (Q,)."""
        return np.asarray(np.maximum(self.below - self.most_below, 0) - np.maximum(self.least_upto - self.upto, 0))

    @property
    def gap(self) -> float:
        """Root mean square gap between claimed and observed level, of all rows together; with ties the least."""
        return float(np.sqrt(np.mean(self.gaps**2)))

    @property
    def estimate(self) -> Estimate:
        """The squared gap as an estimate, which stands for the SKCE where ties leave that without a value."""
        options, notes = {"levels": len(self.levels)}, self.notes[: int(self.ties)]
        return Estimate(self.gap**2, "least gap", "squared, all rows together", self.n, "counts", options, notes)

    def plot(self, ax: Any = None) -> Any:
        """Draw observed against claimed levels, with their intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return levels_plot(
            self.levels,
            self.below,
            self.upto,
            claimed=(self.most_below, self.least_upto),
            interval=(self.below_interval[:, 0], self.upto_interval[:, 1]),
            broken=self.broken,
            confidence_level=self.confidence_level,
            title=f"Claimed and observed levels, {self.n:,} rows",
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; an interval that is not there has ends of None."""
        names = ("levels", "most_below", "least_upto", "below", "upto", "gaps")
        arrays = {name: getattr(self, name).tolist() for name in names}
        ends = {name: _plain(getattr(self, name)) for name in ("below_interval", "upto_interval")}
        own = {"broken": self.broken.tolist(), "gap": self.gap, "ties": self.ties, "n": self.n}
        return {**arrays, **ends, **own, "confidence_level": self.confidence_level, "notes": list(self.notes)}

    def header(self) -> list[str]:
        """Return the names of the columns."""
        if not self.ties:
            return ["level", "observed below", "", ""]
        return ["level", "claimed: below at most", "strictly below", "", "claimed: at least", "at or below", "", ""]

    def rows(self) -> list[list[str]]:
        """Return a row a level, as in the table."""
        return [self._row(k) for k in range(len(self.levels))]

    def _row(self, k: int) -> list[str]:
        level, broken = f"{self.levels[k]:g}", "broken" if self.broken[k] else ""
        upto = [_percent(self.upto[k]), _between(self.upto_interval[k])]
        if not self.ties:
            return [level, *upto, broken]
        below = [_percent(self.below[k]), _between(self.below_interval[k])]
        return [level, _percent(self.most_below[k]), *below, _percent(self.least_upto[k]), *upto, broken]

    def _table(self) -> Grid:
        least = "least root mean square gap" if self.ties else "root mean square gap"
        title = f"Claimed and observed levels, {self.n:,} rows, {least} {self.gap:.4f}"
        return Grid(title, self.header(), self.rows(), self.notes)


def _plain(ends: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(v) else float(v) for v in pair] for pair in ends]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _between(ends: np.ndarray) -> str:
    return "" if np.isnan(ends[0]) else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %"


def claimed_levels(
    y: Any,
    predictions: Any,
    *,
    weights: Any = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> ClaimedLevels:
    """Share of outcomes below every quantile that was given, beside what its level claims.

    A quantile q of a level claims ``P(Y < q) <= level <= P(Y <= q)``. Where outcomes equal quantiles (counts, zeros,
    rounded amounts) the two shares differ, and both are told.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : Quantiles
        Predictions; nothing is interpolated between their levels.
    weights : array of shape (n,), optional
        Case weights, not negative.
    confidence_level : float
        Of the Clopper-Pearson intervals.
    clusters, time, horizon, series
        Which rows depend on each other, as for `kernelcal.calibration_test`: intervals then allow for it.

    Returns
    -------
    ClaimedLevels
        Prints as a table.

    Raises
    ------
    InputError
        For predictions that are not `Quantiles`.

    Notes
    -----
    Rows with equal quantiles claim more than their level says: at most the first of the equal levels may lie below, and
    at least the last must lie at or below; the table has the means over rows. Cost: n Q.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import claimed_levels
    >>> found = claimed_levels([0.0, 1.0, 2.0, 3.0], kc.Quantiles([[0.5, 2.5]] * 4, [0.25, 0.75]))
    >>> found.upto, found.gap
    (array([0.25, 0.75]), 0.0)
    """
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    return claimed_levels_of(Case.of(y, predictions, weights=weights, **rows), Run(confidence_level=confidence_level))


def claimed_levels_of(case: Case, run: Run) -> ClaimedLevels:
    """Claimed and observed shares of what was checked already."""
    cells = refuse_other_than_quantiles(case, "the table of claimed levels").cells
    lo, hi = cells.ends(cells.codes(case.targets))
    places = np.arange(1, len(cells.taus) + 1)[:, None]
    below, upto = hi < places, ~(lo >= places)
    shares = [np.array([case.mean(row.astype(np.float64)) for row in rows]) for rows in (below, upto)]
    most, least = (np.array([case.mean(row) for row in rows.T]) for rows in cells.claims)
    ties = cells.has_ties(case.targets)
    notes = ((_TIES,) if ties else ()) + ((_EACH,) if case.weights is None else (_WEIGHTED,))
    ends = [np.full((len(cells.taus), 2), np.nan) for _ in range(2)]
    if case.weights is None:
        ends = [np.stack(share_interval(rows, case.rows, run.confidence_level), axis=1) for rows in (below, upto)]
    return ClaimedLevels(
        cells.taus,
        most_below=most,
        least_upto=least,
        below=shares[0],
        upto=shares[1],
        below_interval=ends[0],
        upto_interval=ends[1],
        ties=ties,
        n=len(case),
        confidence_level=run.confidence_level,
        notes=notes,
    )


def refuse_other_than_quantiles(case: Case, what: str) -> Quantiles:
    """Return the predictions, or refuse those that are not given by quantiles."""
    batch = case.predictions
    if not isinstance(batch, Quantiles):
        raise InputError(
            f"{what} needs predictions given by quantiles, got {type(batch).__name__}: pass "
            "kernelcal.Quantiles(values, levels), such as "
            "kernelcal.Quantiles(predictions.quantile(numpy.array(levels)[:, None]).T, levels)"
        )
    return batch
