"""Histograms that are flat under calibration: of PIT values, and of ranks of outcomes in ensembles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.binning import checked_count
from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.dependence import Coupling
from kernelcal.errors import InputError
from kernelcal.plots import histogram_plot, percent
from kernelcal.predictions import Quantiles, Samples, trusted
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.statistics.binned import NullBand, drawn_band, multinomial_band
from kernelcal.statistics.outcomes.transform import RandomisedPIT
from kernelcal.tables import Shown, Table

__all__ = ["UniformHistogram", "pit_histogram", "pit_histogram_of", "rank_histogram", "rank_histogram_of"]


@dataclass(frozen=True, eq=False, repr=False)
class UniformHistogram(Shown):
    """Counts in bins whose probabilities are known under calibration.

    Attributes
    ----------
    title, variable : str
        What is counted.
    edges : numpy.ndarray of shape (K + 1,)
        Edges of the bins.
    counts, expected : numpy.ndarray of shape (K,)
        Rows in each bin, and how many are expected under calibration.
    band : NullBand
        Where counts of calibrated models lie.
    n : int
        Rows.
    notes : tuple of str
        What the reader must know.

    Examples
    --------
    >>> import kernelcal as kc
    >>> found = kc.pit_histogram([0.3, 2.0, -0.5, -1.0], kc.Normal([0.0] * 4, 1.0), bins=2)
    >>> found.counts, found.expected
    (array([2, 2]), array([2., 2.]))
    """

    title: str
    variable: str
    edges: np.ndarray
    counts: np.ndarray
    expected: np.ndarray
    band: NullBand
    n: int
    notes: tuple[str, ...] = ()

    @property
    def outside(self) -> np.ndarray:
        """Bins whose count lies outside the band of all bins at once, shape (K,)."""
        return self.band.outside(self.counts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        arrays = {name: getattr(self, name).tolist() for name in ("edges", "counts", "expected", "outside")}
        return {
            "variable": self.variable,
            **arrays,
            "null_band": self.band.to_dict(),
            "n": self.n,
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None, *, legend: bool = True) -> Any:
        """Draw the histogram with its band.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.
        legend : bool
            Whether the artists are said below.

        Returns
        -------
        matplotlib.axes.Axes
        """
        band = self.band
        return histogram_plot(
            self.edges,
            self.counts,
            expected=self.expected,
            pointwise=(band.pointwise_low, band.pointwise_high),
            simultaneous=(band.low, band.high),
            confidence_level=band.confidence_level,
            variable=self.variable,
            whole=self.edges[0] < 0,
            title=f"{self.title}, {self.n:,} rows",
            ax=ax,
            legend=legend,
        )

    def _table(self) -> Table:
        out, band = self.outside, self.band
        rows = [
            (
                f"{a:g} to {b:g}",
                f"{c:,}, calibrated {low:.0f} to {high:.0f}" + (", outside" if o else "") if band.known else f"{c:,}",
            )
            for a, b, c, low, high, o in zip(
                self.edges, self.edges[1:], self.counts, band.low, band.high, out, strict=False
            )
        ]
        said = f"calibrated: where {percent(band.confidence_level)} of calibrated models lie, all bins at once"
        said = said if band.known else "rows depend on each other, and there is no band"
        return Table(self.title, [("rows", f"{self.n:,}"), (self.variable, "rows"), *rows], (said, *self.notes))


def pit_histogram(
    y: Any,
    predictions: Any,
    *,
    bins: int = 10,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
) -> UniformHistogram:
    """Histogram of the randomised PIT values of `pit`, flat under calibration, with a band.

    A hump in the middle: predictions too wide. A valley: too narrow. A slope: shifted. Under calibration the counts are
    multinomial with equal probabilities, and the band holds them all at once with probability ``confidence_level`` or
    more. Where values are randomised (counts, draws, point masses), the band is that of redrawn outcomes with the same
    random places: it holds them for every seed, and is not flat.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of one number.
    bins : int
        Number of bins, of equal width on (0, 1).
    confidence_level : float
        Of the band.
    draws : int
        Draws for the band.
    rng : int, numpy.random.Generator or None
        Seed (SPEC 7). The values are those of ``pit(y, predictions, rng)``.

    Returns
    -------
    UniformHistogram

    Raises
    ------
    InputError
        As `pit`, for draws too few for the level, and for outcomes that equal quantiles of `Quantiles`.

    Notes
    -----
    A flat histogram follows from calibration and is weaker. Cost: that of `pit`, and O(draws bins); of randomised
    values O(draws n).

    References
    ----------
    Dawid (1984); Diebold, Gunther, Tay (1998); Gneiting, Balabdaoui, Raftery (2007).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.statistics import pit_histogram
    >>> y = np.random.default_rng(0).normal(size=400)
    >>> pit_histogram(y, kc.Normal(np.zeros(400), 0.5), bins=4).counts
    array([160,  51,  45, 144])
    """
    run, bins = Run(confidence_level=confidence_level, draws=draws, rng=rng), checked_count(bins, "bins", "10")
    _ = run.outside  # refuses draws too few for the band
    return pit_histogram_of(Case.of(y, predictions), bins, run)


def pit_histogram_of(case: Case, bins: int, run: Run, coupling: Coupling | None = None) -> UniformHistogram:
    """Histogram of what was checked already; all rows count alike.

    Of rows that depend on each other the band is that of values that are coupled; without a coupling there is none.
    """
    batch = case.of_one_number("a histogram of the probability integral transform").in_numpy.predictions
    if isinstance(batch, Samples) and not batch.exchangeable:
        raise InputError(
            "PIT values of draws with unequal weights are only nearly uniform, and their band is not known: draw an "
            "unweighted sample by the weights first"
        )
    if isinstance(batch, Quantiles) and batch.cells.has_ties(case.targets):
        raise InputError(
            "outcomes equal quantiles, or quantiles each other, so that their levels claim bounds and the PIT values "
            "of calibrated forecasts are not uniform: kernelcal.statistics.claimed_levels tells what each level claims "
            "and what was observed, kernelcal.calibration_test tests all of it"
        )
    found, generator = RandomisedPIT.of(case, run.rng), generator_of(run.rng, "band of a PIT histogram")
    counts = _counted(found.values[None], bins)[0]
    edges = np.linspace(0, 1, bins + 1)
    probability, n = np.full(bins, 1 / bins), len(found)
    if case.rows is not None and case.rows.overlap:
        band = _dependent_band(found, bins, run, coupling)
    elif found.continuous:
        band = multinomial_band(n, probability, run, generator)
    else:
        band = drawn_band(
            n, lambda draws: np.concatenate([_counted(x, bins) for x in found.drawn(generator, draws)]), run
        )
    return UniformHistogram("PIT histogram", "PIT value", edges, counts, n * probability, band, n, batch.notes)


def _dependent_band(found: RandomisedPIT, bins: int, run: Run, coupling: Coupling | None) -> NullBand:
    """Band of values whose uniform numbers are coupled."""
    if coupling is None or found.uniforms > 1:
        return NullBand.nowhere(bins, run)
    generator = generator_of(run.rng, "band of a PIT histogram")

    def drawn(draws: int) -> np.ndarray:
        parts = row_slices(draws, max(1, _NUMBERS // coupling.size))
        uniforms = (generator.random((part.stop - part.start, coupling.size)) for part in parts)
        return np.concatenate([_counted(found.draw(coupling(numbers)), bins) for numbers in uniforms])

    return drawn_band(len(found), drawn, run)


def _counted(values: np.ndarray, bins: int) -> np.ndarray:
    """How many values of every set, shape (sets, n), fall in each of the bins of equal width: shape (sets, bins)."""
    index = np.minimum((values * bins).astype(np.int64), bins - 1)
    index += bins * np.arange(len(index))[:, None]
    return np.bincount(index.ravel(), minlength=bins * len(index)).reshape(len(index), bins)


_MOST_BARS = 50
_NUMBERS = 2**22  # ranks that are drawn at once


def rank_histogram(
    y: Any,
    predictions: Any,
    *,
    bins: int | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
) -> UniformHistogram:
    """Histogram of the rank of each outcome among the S draws of its row, 0 to S, with a band.

    If outcome and draws are exchangeable, each rank has probability 1 / (S + 1), at every S; ranks of outcomes equal to
    draws are chosen at random among those that the ties allow. Outcomes often outside their ensembles (a valley) speak
    of too little spread, a slope of a shift. The band redraws which of the S + 1 values of a row is the outcome, and
    leaves the random order of equal ones as it is, so that it holds for every seed.

    Members of weight 0 are missing: the rank among the m + 1 values of a row is put at random into one of m + 1 equal
    parts of the bars, so that each bar has the same probability in every row.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : Samples
        Ensembles of S equally likely draws; those of weight 0 are missing.
    bins : int, optional
        Number of bars, at most S + 1; neighbouring ranks are joined. Default one a rank, 20 where there are above 50.
    confidence_level, draws
        As for `pit_histogram`.
    rng : int, numpy.random.Generator or None
        Seed of ties and of the band (SPEC 7).

    Returns
    -------
    UniformHistogram

    Raises
    ------
    InputError
        For vectors, draws of unequal weights (but 0) and predictions that are no draws.

    References
    ----------
    Anderson (1996); Hamill (2001); Talts et al. (2018) for ranks in simulation-based calibration.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import rank_histogram
    >>> rank_histogram([0.5, 5.0, 6.0], kc.Samples([[0.0, 1.0, 2.0]] * 3)).counts
    array([0, 1, 0, 2])
    """
    run = Run(confidence_level=confidence_level, draws=draws, rng=rng)
    _ = run.outside  # refuses draws too few for the band
    return rank_histogram_of(Case.of(y, predictions), bins, run)


def rank_histogram_of(case: Case, bins: int | None, run: Run) -> UniformHistogram:
    """Histogram of what was checked already; all rows count alike."""
    batch = case.of_one_number("a rank").in_numpy.predictions
    if not isinstance(batch, Samples):
        raise InputError(
            f"ranks are those among draws (kernelcal.Samples), got {type(batch).__name__}: use pit_histogram"
        )
    if batch.weights is not None and batch.exchangeable:
        return _ranks_of_some(case, batch, bins, run)
    places, generator = batch.size + 1, generator_of(run.rng, "band of a rank histogram")
    low, high = batch.rank_range(case.targets)
    inside = generator_of(run.rng, "ranks of tied outcomes").random(len(low))
    rank = low + (inside * (high - low + 1)).astype(np.int64)
    starts = _starts(bins, places)
    counts = np.add.reduceat(np.bincount(rank, minlength=places), starts)
    edges = np.append(starts, places) - 0.5
    variable = f"rank of the outcome among {batch.size} draws"
    probability, n = np.diff(edges) / places, len(rank)
    pool = batch.pooled(case.targets)
    below, upto = pool.rank_range(np.moveaxis(pool.draws, 1, 0))
    if case.rows is not None and case.rows.overlap:
        band = NullBand.nowhere(len(starts), run)
    elif (upto - below == 1).all():  # no ties in any row: ranks are uniform and nothing is random in them
        band = multinomial_band(n, probability, run, generator)
    else:
        ranks = trusted(pool, draws=(below + (inside * (upto - below)).astype(np.int64)).T)
        band = drawn_band(n, lambda draws: _ranked(ranks, starts, generator, draws), run)
    return UniformHistogram("Rank histogram", variable, edges, counts, n * probability, band, n, batch.notes)


def _ranks_of_some(case: Case, batch: Samples, bins: int | None, run: Run) -> UniformHistogram:
    """Histogram of ranks among the members that are there: places in (0, 1), uniform whatever their number."""
    there = np.asarray(batch.weights) > 0
    members = there.sum(axis=1)
    ordered = np.where(there, np.asarray(batch.draws, dtype=np.float64), np.inf)
    low, high = (ordered < case.targets[:, None]).sum(axis=1), (ordered <= case.targets[:, None]).sum(axis=1)
    inside, part = generator_of(run.rng, "ranks of tied outcomes").random((2, len(low)))
    place = (low + np.floor(inside * (high - low + 1)) + part) / (members + 1)
    places = int(members.max()) + 1
    starts = _starts(bins, places)
    rank = np.minimum((place * places).astype(np.int64), places - 1)
    counts = np.add.reduceat(np.bincount(rank, minlength=places), starts)
    edges, n = np.append(starts, places) - 0.5, len(rank)
    probability = np.diff(edges) / places
    if case.rows is not None and case.rows.overlap:
        band = NullBand.nowhere(len(starts), run)
    else:
        band = multinomial_band(n, probability, run, generator_of(run.rng, "band of a rank histogram"))
    fewer = members < places - 1
    note = (
        f"{int(fewer.sum()):,} rows have fewer than {places - 1} members (at least {int(members.min())}): their ranks "
        "are spread over the bars at random",
    )
    variable = f"rank of the outcome among up to {places - 1} draws"
    return UniformHistogram(
        "Rank histogram", variable, edges, counts, n * probability, band, n, batch.notes + note * bool(fewer.any())
    )


def _ranked(ranks: Samples, starts: np.ndarray, generator: np.random.Generator, draws: int) -> np.ndarray:
    """Counts of redrawn ranks: any member of a pool, with the rank that ties left it, plays the outcome."""
    places, n = ranks.size, len(ranks)
    found = []
    for part in row_slices(draws, max(1, _NUMBERS // n)):
        drawn = ranks.draw(generator.random((part.stop - part.start, n)))
        drawn = drawn + places * np.arange(len(drawn))[:, None]
        found.append(np.bincount(drawn.ravel(), minlength=places * len(drawn)).reshape(len(drawn), places))
    return np.add.reduceat(np.concatenate(found), starts, axis=1)


def _starts(bins: int | None, places: int) -> np.ndarray:
    """Return the first rank of every bar."""
    if bins is None:
        bins = places if places <= _MOST_BARS else 20
    if checked_count(bins, "bins", "10") > places:
        raise InputError(f"there are {places} ranks, so at most {places} bins, got {bins}")
    return np.arange(bins) * places // bins
