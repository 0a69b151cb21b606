"""Quantile calibration: how often outcomes lie below the predicted quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.errors import InputError
from kernelcal.plots import curve_plot
from kernelcal.predictions import SAME_LEVEL, Quantiles
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.statistics.binned import NullBand, drawn_band, multinomial_band
from kernelcal.statistics.outcomes.levels import claimed_levels_of
from kernelcal.statistics.outcomes.transform import RandomisedPIT
from kernelcal.statistics.scores import QUANTILE_LEVELS, absent_levels, checked_levels
from kernelcal.tables import Shown, Table

__all__ = ["QuantileCalibration", "quantile_calibration", "quantile_calibration_of"]


@dataclass(frozen=True, eq=False, repr=False)
class QuantileCalibration(Shown):
    """Observed share of outcomes below the predicted quantile of every level.

    Attributes
    ----------
    levels, shares : numpy.ndarray
        Quantile levels t, and the share of rows with ``pit <= t``, which is t up to chance under calibration; of
        `Quantiles` the share of outcomes at or below the quantile.
    n : int
        Rows.
    weighted : bool
        Whether rows had case weights; the band of calibrated models is then not known.
    below : numpy.ndarray, or None
        Shares strictly below, where outcomes equal quantiles of `Quantiles`: the level then lies between both shares
        under calibration, and there is no band.
    dependent : bool
        Whether rows depend on each other; the band of calibrated models is then not known.
    redrawn : RandomisedPIT, optional
        How the values of `pit` are redrawn where they are randomised; None: they are uniform numbers.

    Examples
    --------
    >>> import kernelcal as kc
    >>> curve = kc.quantile_calibration([0.3, 2.0, -0.5], kc.Normal([0.0] * 3, 1.0), levels=[0.25, 0.5, 0.75])
    >>> curve.shares.round(3), round(curve.largest_gap, 3)
    (array([0.   , 0.333, 0.667]), 0.25)
    """

    levels: np.ndarray
    shares: np.ndarray
    n: int
    weighted: bool = False
    redrawn: RandomisedPIT | None = None
    below: np.ndarray | None = None
    dependent: bool = False

    @property
    def largest_gap(self) -> float:
        """Largest distance between share and level; of two shares, from the interval between them."""
        below = self.shares if self.below is None else self.below
        return float(np.maximum(np.maximum(below - self.levels, self.levels - self.shares), 0).max())

    def band(self, confidence_level: float = CONFIDENCE_LEVEL, draws: int = DRAWS, rng: Any = 0) -> NullBand:
        """Where the shares of calibrated models lie: of n uniform PIT values, or of redrawn ones.

        Randomised values (counts, draws, point masses) are redrawn with the same random places, so that the band holds
        the shares for every seed.

        Parameters
        ----------
        confidence_level : float
            Share of calibrated models that lie inside.
        draws : int
            Draws of the shares.
        rng : int, numpy.random.Generator or None
            Seed (SPEC 7).

        Returns
        -------
        NullBand
            At every level alone, and at all levels at once.

        Raises
        ------
        InputError
            With case weights, and for rows that depend on each other.
        """
        run = Run(confidence_level=confidence_level, draws=draws, rng=rng)
        if self.weighted:
            raise InputError("with case weights the shares below the quantiles are not binomial, and have no band")
        if self.dependent:
            raise InputError("rows depend on each other, and shares below the quantiles have no band")
        if self.below is not None:
            raise InputError(
                "outcomes equal quantiles, so that levels claim bounds of the shares alone, which have no band: "
                "kernelcal.statistics.claimed_levels tells both shares with their intervals"
            )
        taus, place = np.unique(self.levels, return_inverse=True)
        generator, found = generator_of(run.rng, "band of quantile calibration"), self.redrawn
        if found is None:
            steps = np.diff(taus, prepend=0.0, append=1.0)
            band = multinomial_band(self.n, steps, run, generator, cumulative=True)
        else:
            band = drawn_band(
                self.n, lambda size: np.concatenate([_below(x, taus) for x in found.drawn(generator, size)]), run
            )
        return band.divided(np.full(len(taus), self.n)).at(place)

    def plot(self, ax: Any = None, *, confidence_level: float = CONFIDENCE_LEVEL) -> Any:
        """Draw the curve, with the band of calibrated models unless there are case weights.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.
        confidence_level : float
            Of the band.

        Returns
        -------
        matplotlib.axes.Axes
        """
        bands = None
        if not self.weighted and not self.dependent and self.below is None:
            band = self.band(confidence_level)
            bands = (band.pointwise_low, band.pointwise_high), (band.low, band.high)
        title = f"Quantile calibration, {self.n:,} rows" + (" with weights (no band)" if self.weighted else "")
        title += " that depend on each other (no band)" if self.dependent and not self.weighted else ""
        return curve_plot(self.levels, self.shares, bands=bands, confidence_level=confidence_level, title=title, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        below = None if self.below is None else self.below.tolist()
        return {"levels": self.levels.tolist(), "shares": self.shares.tolist(), "below": below, "n": self.n}

    def _table(self) -> Table:
        below = self.shares if self.below is None else self.below
        rows = [
            (f"level {level:g}", f"{share:.4g}" if self.below is None else f"{low:.4g} below, {share:.4g} at or below")
            for level, share, low in zip(self.levels, self.shares, below, strict=True)
        ]
        return Table(
            "Quantile calibration", [("rows", f"{self.n:,}"), ("largest gap", f"{self.largest_gap:.4g}"), *rows]
        )


def quantile_calibration(
    y: Any, predictions: Any, *, levels: Any = None, weights: Any = None, rng: Any = 0
) -> QuantileCalibration:
    """Share of rows whose outcome lies below the predicted quantile, against its level.

    ``(1/n) sum_i 1[u_i <= t]`` with the randomised transform u of `pit`, so that counts and draws have shares equal
    to the levels too. Quantile calibration follows from calibration and is weaker: a curve on the diagonal does not
    show that a model is calibrated.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of one number.
    levels : sequence of float
        Levels t in (0, 1). Default: of `Quantiles` the levels inside (0, 1) that were given, else 0.05, ..., 0.95.
    weights : array of shape (n,), optional
        Case weights, not negative.
    rng : int, numpy.random.Generator or None
        Seed of `pit`, of no effect where distribution functions are continuous.

    Returns
    -------
    QuantileCalibration

    Raises
    ------
    InputError
        As `pit`, for levels outside (0, 1), and for levels that `Quantiles` were not given.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), A.1 and Figure 5; Song et al. (2019).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import quantile_calibration
    >>> quantile_calibration([-1.0, 0.1, 2.0, 3.0], kc.Normal([0.0] * 4, 1.0), levels=[0.25, 0.5, 0.75])
    Quantile calibration
    --------------------
    rows         4
    largest gap  0.25
    level 0.25   0.25
    level 0.5    0.25
    level 0.75   0.5
    """
    taus = None if levels is None else checked_levels(levels)
    return quantile_calibration_of(Case.of(y, predictions, weights=weights), taus, rng)


def quantile_calibration_of(case: Case, levels: np.ndarray | None = None, rng: Any = 0) -> QuantileCalibration:
    """Shares of what was checked already; by default at the levels that were given, or the usual ones."""
    if isinstance(case.predictions, Quantiles):
        return _of_given(case, levels)
    levels = np.array(QUANTILE_LEVELS) if levels is None else levels
    found = RandomisedPIT.of(case, rng)
    below = (found.values <= levels[:, None]).astype(np.float64)
    shares = np.array([case.mean(row) for row in below])
    weighted, redrawn = case.weights is not None, None if found.continuous else found
    return QuantileCalibration(levels, shares, len(case), weighted, redrawn, dependent=_overlap(case))


def _below(values: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """How many values of every set, shape (sets, n), are at most the levels, which increase: shape (sets, levels)."""
    places = np.searchsorted(levels, values, side="left") + (len(levels) + 1) * np.arange(len(values))[:, None]
    counts = np.bincount(places.ravel(), minlength=(len(levels) + 1) * len(values)).reshape(len(values), -1)
    return counts.cumsum(axis=1)[:, :-1]


def _of_given(case: Case, levels: np.ndarray | None) -> QuantileCalibration:
    """Shares below the quantiles that were given, nothing interpolated."""
    found = claimed_levels_of(case.in_numpy, Run())
    levels = found.levels if levels is None else levels
    absent = absent_levels(case.predictions, levels)
    if absent:
        known = ", ".join(f"{level:g}" for level in found.levels)
        raise InputError(
            f"the quantiles of {', '.join(absent)} were not given, and how often outcomes lie below them was not "
            f"forecast: leave levels out, or name some of {known}"
        )
    place = [int(np.flatnonzero(np.abs(found.levels - level) < SAME_LEVEL)[0]) for level in levels]
    below = None if np.array_equal(found.below, found.upto) else found.below[place]
    return QuantileCalibration(
        levels, found.upto[place], len(case), case.weights is not None, below=below, dependent=_overlap(case)
    )


def _overlap(case: Case) -> bool:
    return case.rows is not None and case.rows.overlap
