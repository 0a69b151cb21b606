"""Coverage of highest-density regions: how many outcomes lie where their predictions are densest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import as_array, row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL
from kernelcal.errors import InputError
from kernelcal.predictions import Quantiles, RealPredictions, Samples, UnnormalizedDensity
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.statistics.outcomes.central import Coverage
from kernelcal.statistics.scores import checked_levels

__all__ = [
    "DensityRegions",
    "HighestDensityCoverage",
    "count_regions",
    "count_windows",
    "drawn_regions",
    "given_regions",
    "highest_density_coverage",
    "highest_density_coverage_of",
]


_TAIL = 1e-12  # probability of the counts beyond either end that the sums leave out

_SAME = 1e-9  # logarithms of probabilities that are equal but for rounding

_CELLS = 2**20  # counts that are sorted at once

_ROUNDING = 1e-12  # relative difference of logarithms that are equal but for rounding

_NUMBERS = 2**22  # numbers that are drawn at once


@dataclass(frozen=True, eq=False)
class DensityRegions:
    """Rows inside the regions of L levels and the probabilities of the regions, both of shape (L, n)."""

    inside: np.ndarray
    probability: np.ndarray
    notes: tuple[str, ...] = ()


def count_windows(predictions: RealPredictions) -> tuple[np.ndarray, np.ndarray]:
    """Least count of every row that the sums need and how many counts from there, both of shape (n,)."""
    low, high = (predictions.quantile(level) for level in (_TAIL, 1 - _TAIL))
    return low, high - low + 1


def count_regions(
    predictions: RealPredictions, y: np.ndarray, cs: np.ndarray, low: np.ndarray, widths: np.ndarray
) -> DensityRegions:
    """Sum probabilities in the order of their size: W log W a row with a window of W counts."""
    inside, probability = np.zeros((len(cs), len(y)), dtype=bool), np.zeros((len(cs), len(y)))
    order = np.argsort(widths, kind="stable")  # rows of like widths together: no row pays for a wider one
    for part in row_slices(len(y), int(_CELLS // widths.max())):
        rows = order[part]
        levels, masses = _count_levels(predictions[rows], low[rows], int(widths[rows].max()))
        own = _at(levels, (y - low)[rows])
        for k, c in enumerate(cs):  # a sum that is c but for rounding reaches c
            inside[k, rows] = own < c - _SAME
            probability[k, rows] = (masses * (levels < c - _SAME)).sum(axis=0)
    return DensityRegions(inside, probability)


def _count_levels(predictions: RealPredictions, low: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Levels and probabilities of the counts in the window, both of shape (W, n); equal probabilities share a level."""
    logs = to_numpy(predictions.log_prob(low + np.arange(width)[:, None])).astype(np.float64)
    order = np.argsort(-logs, axis=0, kind="stable")
    ordered = np.take_along_axis(logs, order, axis=0)
    before = np.cumsum(np.exp(ordered), axis=0) - np.exp(ordered)
    with np.errstate(invalid="ignore"):  # counts that cannot occur: -inf minus -inf
        smaller = np.pad(ordered[:-1] - ordered[1:] > _SAME, ((1, 0), (0, 0)))
    first = np.maximum.accumulate(np.where(smaller, np.arange(width)[:, None], 0), axis=0)
    levels = np.empty_like(before)
    np.put_along_axis(levels, order, np.take_along_axis(before, first, axis=0), axis=0)
    return levels, np.exp(logs)


def _at(levels: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Levels of the outcomes; those beyond the window have nearly all of the distribution above them."""
    within = (place >= 0) & (place < len(levels))
    index = np.where(within, place, 0).astype(np.intp)
    return np.where(within, levels[index, np.arange(levels.shape[1])], 1.0)


def drawn_regions(
    predictions: RealPredictions, y: np.ndarray, cs: np.ndarray, size: int, rng: np.random.Generator
) -> DensityRegions:
    """Rank every outcome among fresh draws from its prediction, a block of rows at a time."""
    each = predictions.uniforms
    order, found = rng.random(len(y)), []
    for rows in row_slices(len(y), max(1, _NUMBERS // (size * each))):  # row after row: blocks change no number
        part = predictions[rows]
        uniforms = np.moveaxis(rng.random((len(part), size, each)), 0, 1)
        draws = part.draw(uniforms if each > 1 else uniforms[..., 0])
        logs = np.concatenate([_log_prob(part, y[None, rows]), _log_prob(part, draws)])
        found.append(_ranked(logs, np.full(len(part), size), cs, order[rows]))
    inside, probability = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    return DensityRegions(inside, probability, _too_short(np.full(len(y), size), cs))


def given_regions(
    predictions: Samples, y: np.ndarray, cs: np.ndarray, log_density: Callable[..., Any], rng: np.random.Generator
) -> DensityRegions:
    """Rank every outcome among the draws that were given, by the model's own density."""
    if not predictions.exchangeable:
        raise InputError(
            "an outcome has a rank only among equally likely draws, got draws with unequal weights: leave out weights, "
            "or draw an unweighted sample by them first"
        )
    draws = np.moveaxis(predictions.draws, 1, 0)
    # outcome and draws in one call: a function that depends on the shape of its input treats them alike
    logs = _checked(log_density(np.concatenate([y[None], draws])), (len(draws) + 1, len(y)))
    if predictions.weights is not None:
        logs[1:][predictions.weights.T <= 0] = np.nan  # no members
    members = (~np.isnan(logs[1:])).sum(axis=0)
    inside, probability = _ranked(logs, members, cs, rng.random(len(y)))
    return DensityRegions(inside, probability, _too_short(members, cs))


def _ranked(logs: np.ndarray, members: np.ndarray, cs: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows inside regions of whole places among S + 1, and the probability of that, both of shape (L, n).

    Row 0 of the log densities, shape (S + 1, n), is the outcome, NaN stands for no member. Equal densities share their
    places; one number V a row, `order`, says at which of them they stand. If the prediction is right, each member of
    the pool is the outcome with the same probability: given pool and V, the outcome lies inside with the share of the
    members that do. Without equal densities that is the number of places over S + 1. With them it depends on V, and
    what is held against it is exact for the V of any seed, not on average over V.
    """
    ranking = np.argsort(-logs, axis=0, kind="stable")  # NaN last
    ordered = np.take_along_axis(logs, ranking, axis=0)
    slack = _ROUNDING * (1 + np.abs(np.where(np.isfinite(ordered), ordered, 0.0)))
    with np.errstate(invalid="ignore"):  # -inf minus -inf, and NaN where there is no member
        smaller = (ordered[:-1] - ordered[1:] > slack[:-1]) | (np.isnan(ordered[1:]) & ~np.isnan(ordered[:-1]))
    place = np.arange(len(logs))[:, None]
    first = np.maximum.accumulate(np.where(np.pad(smaller, ((1, 0), (0, 0))), place, 0), axis=0)
    last = np.where(np.pad(smaller, ((0, 1), (0, 0)), constant_values=True), place, len(logs))
    last = np.minimum.accumulate(last[::-1], axis=0)[::-1]
    stands = first + np.floor(order * (last - first + 1))
    own = stands[np.argmax(ranking == 0, axis=0), np.arange(logs.shape[1])]
    held = np.minimum(_wanted(members, cs), members)  # all places would be no region
    among = np.stack([((stands < h) & (place <= members)).sum(axis=0) for h in held])
    return own < held, among / (members + 1)


def _wanted(members: np.ndarray, cs: np.ndarray) -> np.ndarray:
    """Places of regions of the levels, shape (L, n)."""
    return np.ceil(np.multiply.outer(cs, members + 1) - 1e-9)


def _too_short(members: np.ndarray, cs: np.ndarray) -> tuple[str, ...]:
    wanted = _wanted(members, cs)
    notes = (_short(members, w > members, float(c)) for c, w in zip(cs, wanted, strict=True))
    return tuple(note for note in notes if note)


def _short(members: np.ndarray, short: np.ndarray, level: float) -> str:
    if not short.any():
        return ""
    most, needed = int(members[short].max()), int(np.ceil(round(level / (1 - level), 9)))
    return (
        f"regions of {100 * level:g} % need at least {needed} draws, and there are fewer in {int(short.sum()):,} of "
        f"{len(short):,} rows (at most {most}): the region down to the least likely draw was taken, which covers at "
        f"most {most / (most + 1):.3f}"
    )


def _log_prob(predictions: RealPredictions, values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):  # an outcome that was ruled out has density 0
        logs = to_numpy(predictions.unnormalized_log_prob(values)).astype(np.float64)
    wrong = ~(logs < np.inf)
    if wrong.any():
        draw, row = (int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"the log density of {type(predictions).__name__} in row {row} is {logs[draw, row]:g} at "
            f"{values[draw, row]}: expected a number, or -inf where the density is zero"
        )
    return logs


def _checked(logs: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return logarithms of densities in float64, of the shape of the values and without missing ones."""
    values = to_numpy(as_array(logs)).astype(np.float64)
    if values.shape != shape:
        raise InputError(
            f"log_density must return one number a value, shape {shape} for values of shape (k, n, ...), got shape "
            f"{values.shape}: sum over the components of a vector, and keep the rows apart"
        )
    wrong = ~(values < np.inf)
    if wrong.any():
        draw, row = (int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"log_density is {values[draw, row]:g} at value {draw} of row {row} (value 0 is the outcome, the draws "
            "follow): return -inf where the density is zero"
        )
    return values


_WIDEST = 2**14  # counts a row that are summed; batches with wider predictions are ranked among draws
_INTERPOLATED = (
    "the density of Quantiles is that of their interpolation, which was not predicted: central_coverage and pit "
    "depend less on it"
)


@dataclass(frozen=True, eq=False, repr=False)  # repr: the table of the base class
class HighestDensityCoverage(Coverage):
    """Observed share of outcomes inside highest-density regions.

    Attributes
    ----------
    levels : numpy.ndarray
        Levels that were asked for.
    expected : numpy.ndarray
        Mean probability that the regions have under the predictions, the value to compare the share with. It is the
        level for families with a closed form, at least the level for counts, and a multiple of ``1 / (S + 1)`` for
        ranks among S draws whose densities differ.
    shares : numpy.ndarray
        Share of the outcomes that lie inside.
    low, high : numpy.ndarray
        Binomial confidence interval of the share (Clopper-Pearson); nan with case weights.
    n : int
        Rows.
    confidence_level : float
        Of the interval from ``low`` to ``high``, of each level alone.
    notes : tuple of str
        What the reader must know.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.highest_density_coverage([0.3, 2.0, -0.5], kc.Normal([0.0] * 3, 1.0), levels=[0.5]).shares.round(3)
    array([0.667])
    """

    title: ClassVar[str] = "Coverage of highest-density regions"

    @property
    def verdict(self) -> tuple[str, ...]:
        """One word a level, from its interval and the expected share.

        "conservative" if the interval lies above, "over-confident" if it lies below, "agrees" otherwise, and
        "no interval" with case weights.
        """
        slack = 1e-12  # an expected share is a mean, with its rounding
        above, below = self.low > self.expected + slack, self.high < self.expected - slack
        words = np.where(above, "conservative", np.where(below, "over-confident", "agrees"))
        return tuple(str(word) for word in np.where(np.isnan(self.low), "no interval", words))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; without an interval its ends are None."""
        return {**super().to_dict(), "verdict": list(self.verdict)}

    def _row(self, k: int) -> str:
        word = self.verdict[k]
        return super()._row(k) + ("" if word == "no interval" else f": {word}")


def highest_density_coverage(
    y: Any,
    predictions: Any,
    *,
    levels: Any = (0.5, 0.9, 0.95),
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = 1000,
    rng: Any = 0,
    log_density: Callable[[np.ndarray], Any] | None = None,
    weights: Any = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> HighestDensityCoverage:
    """Share of outcomes inside the highest-density region of level c: the smallest region of probability c.

    An outcome lies inside if less than c of its prediction is denser than it: ``P(p_i(Z) > p_i(y_i)) < c`` with Z drawn
    from P_i. The region is closed: values of equal density belong to it together.

    Parameters
    ----------
    y : array of shape (n,) or (n, d)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of numbers or vectors with a density or, of counts, with probabilities.
    levels : sequence of float
        Levels c in (0, 1).
    confidence_level : float
        Of the binomial interval around each share.
    draws : int
        Draws S from every prediction, used only where neither a closed form nor exact sums serve.
    rng : int, numpy.random.Generator or None
        Seed of the draws, and of the order of equal densities among them (SPEC 7). The default is a fixed seed.
    log_density : callable, optional
        For `Samples` only: the model's logarithm of the density, up to a constant in every row. It gets NumPy values
        of shape (k, n) or (k, n, d), row i of each meant for prediction i, and returns shape (k, n).
    weights : array of shape (n,), optional
        Case weights, not negative.
    clusters, time, horizon, series
        Which rows depend on each other, as for `kernelcal.calibration_test`: intervals then allow for it.

    Returns
    -------
    HighestDensityCoverage
        Compare ``shares`` with ``expected``; ``verdict`` does.

    Raises
    ------
    InputError
        For families without a density, such as `Samples` without `log_density`; for levels outside (0, 1).

    Notes
    -----
    A calibrated model has the expected share at every level [1]_ (Proposition 5.2), not the other way round: a model
    may cover as it says on average, and be wrong in some rows or on one side. Definition 5.1 calls a model conservative
    that covers at least c; of counts, whose regions hold more than c, the verdict compares with what they do hold.

    How levels are found, and what it costs:

    - Normal, Laplace and normal vectors: in closed form, n d^2 at most. The regions hold exactly c.
    - Counts, mixtures of counts included: by sums over the W counts between the quantiles 1e-12 and 1 - 1e-12,
      n W log W. Regions are whole sets of counts, so that they hold c or more.
    - Other densities, such as mixtures, and counts with W above 16,384 in any row: by the rank of the outcome's density
      among S fresh draws, S densities a row. If the prediction is right, the outcome has each of the S + 1 places with
      equal probability, whatever S; equal densities stand in random order. A region is the first ``ceil(c (S + 1))``
      places and holds exactly that share, the only levels that exist; where that is all of them (S below
      ``c / (1 - c)``) it is the first S, with a note. Few draws cost power, not validity. Where densities of a row are
      equal, ``expected`` is the share of its S + 1 values that lie inside in that same random order.
    - `Samples` with `log_density`: the same rank among the draws that were given; nothing is drawn anew. Outcome and
      draws of a row must be exchangeable if the model is right: thin the draws of a Markov chain until they are
      nearly independent. Any function keeps the expected shares; with the model's density they are those of its
      regions. `UnnormalizedDensity` with draws is this case; with a sampler it is ranked among fresh draws.

    Unless it is said how they depend, rows are assumed independent for the binomial interval, which is exact where
    every row has the same probability to be covered and else slightly too wide. Every level has its own interval: at
    confidence level 0.95, each errs in 5 %.

    References
    ----------
    .. [1] P. Glaser, D. Widmann, F. Lindsten, A. Gretton, "Fast and scalable score-based kernel calibration tests",
       2023, Definition 5.1 after Hermans et al. (2021); regions as in Hyndman (1996).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.statistics import highest_density_coverage
    >>> predictions = kc.predictions.IsotropicNormal(np.zeros((20, 2)), 1.0)
    >>> y = np.outer(np.linspace(0, 4, 20), [1.0, 0.0])
    >>> highest_density_coverage(y, predictions, levels=[0.5, 0.95])
    Coverage of highest-density regions
    -----------------------------------
    rows  20
    50 %  0.300 [0.119, 0.543], expected 0.500: agrees
    95 %  0.600 [0.361, 0.809], expected 0.950: over-confident
    """
    cs, run = checked_levels(levels), Run(confidence_level=confidence_level, draws=draws, rng=rng)
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    return highest_density_coverage_of(Case.of(y, predictions, weights=weights, **rows), cs, run, log_density)


def highest_density_coverage_of(
    case: Case, levels: np.ndarray, run: Run, log_density: Callable[[np.ndarray], Any] | None = None
) -> HighestDensityCoverage:
    """Coverage of what was checked already; the run says how many draws there are where draws are needed."""
    batch, generator = case.of_numbers().in_numpy.predictions, generator_of(run.rng, "draws of highest-density regions")
    if log_density is None:
        found = _regions(batch, case.targets, levels, run.draws, generator)
    else:
        found = given_regions(_samples(batch), case.targets, levels, log_density, generator)
    return HighestDensityCoverage.observed(case, run, levels, found.inside, found.probability, found.notes)


def _regions(
    batch: RealPredictions, y: np.ndarray, cs: np.ndarray, size: int, rng: np.random.Generator
) -> DensityRegions:
    """Take the closed form if there is one, exact sums for counts, and ranks among draws otherwise."""
    levels = batch.density_level(y)
    if levels is not None:
        return DensityRegions(levels < cs[:, None], np.broadcast_to(cs[:, None], (len(cs), len(y))))
    _refuse_without_density(batch)
    if batch.counts:
        low, widths = count_windows(batch)
        if widths.max() <= _WIDEST:
            return count_regions(batch, y, cs, low, widths)
    if isinstance(batch, UnnormalizedDensity) and batch.exchangeable:
        return given_regions(batch.draws, y, cs, batch.unnormalized_log_prob, rng)
    found = drawn_regions(batch, y, cs, size, rng)
    notes = (f"every outcome was ranked by its density among {size:,} draws from its prediction", *found.notes)
    extra = (_INTERPOLATED,) if isinstance(batch, Quantiles) else ()
    return DensityRegions(found.inside, found.probability, notes + extra)


def _refuse_without_density(batch: RealPredictions) -> None:
    if type(batch).log_prob is not RealPredictions.log_prob or isinstance(batch, UnnormalizedDensity):
        return
    cure = "ask what needs none, "
    if isinstance(batch, Samples):
        cure = "pass the model's own, log_density=function(values of shape (k, n, ...)), or ask what needs none, "
    raise InputError(
        f"{type(batch).__name__} has no density, so it has no highest-density regions: {cure}"
        "kernelcal.statistics.central_coverage or pit of one number, kernelcal.calibration_test of numbers and vectors "
        "(null='swap' for Samples)"
    )


def _samples(batch: RealPredictions) -> Samples:
    if not isinstance(batch, Samples):
        raise InputError(
            f"log_density is the density of a model that is known by its draws, got {type(batch).__name__}: leave it "
            "out where the family has a density, or pass kernelcal.Samples(draws)"
        )
    return batch
