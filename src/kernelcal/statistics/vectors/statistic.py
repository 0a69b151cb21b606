"""Are ensembles of vectors calibrated? Ranks of outcomes among their draws by several pre-ranks, as one statistic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelcal.arrays import concrete, to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import RealPredictions, Samples, count_below, finite_numbers
from kernelcal.randomness import generator_of
from kernelcal.statistics.base import Estimate, Prepared, Statistic
from kernelcal.statistics.vectors.pre_ranks import (
    DEFAULT_PRE_RANKS,
    checked_pre_ranks,
    pre_ranks_of,
    unit_range,
)

__all__ = [
    "ENDS",
    "TARP",
    "PreRanks",
    "PreparedPreRanks",
    "RanksOfMembers",
    "ensemble_of",
    "members_of",
    "shifted_in_words",
]


TARP = "TARP"
_ORDER = 4  # Legendre polynomials that the ranks are compared with
_ENSEMBLE = 100  # draws of predictions that have none
_MOST = 2**27  # numbers of a table: a gigabyte
_CLEAR = 1.5  # standard errors of a direction that is told


@dataclass(frozen=True, kw_only=True)
class PreRanks(Statistic):
    """Ranks of outcome vectors among the draws of their rows, by pre-ranks and by distances to reference points.

    A pre-rank turns every vector of a row, outcome and draws alike, into a number, and the outcome has a rank among
    these numbers. If outcome and draws are exchangeable every rank is uniform. A member for every pre-rank: with the
    standardised sums T_m of the Legendre polynomials of order m at the ranks, ``T_1^2 + T_2^2 / 2 + ... + T_4^2 / 4``
    (Neyman's smooth test; T_1 is the mean rank, T_2 tells middle from ends). Of vectors with one number equal ranks are
    taken together.

    Serves the law ``swap`` alone, in which the outcome changes places with the draws of its row: the pre-ranks look at
    all vectors of a row and treat them alike, no swap changes their numbers, and the p-value is exact at every n and S.

    Parameters
    ----------
    pre_ranks : sequence of str
        Names of `statistics.vectors.PRE_RANKS`. Default: mean, spread, dependence, variogram, band depth.
    tarp : bool
        Whether distances to reference points are one more (TARP, tests of accuracy with random points).
    references : array of shape (n, d), optional
        Reference points; they must not depend on the outcomes. Default: uniform in the box that holds all draws and
        outcomes, whose ends no swap changes, in units of its sides.
    seed : int
        Of the reference points.

    References
    ----------
    Gneiting, Stanberry, Grimit, Held, Johnson (2008); Thorarinsdottir, Scheuerer, Heinz (2016) for depths; Allen,
    Ziegel, Ginsbourger (2024) for mean, spread and dependence; Smith (2001) for trees; Lemos, Coogan,
    Hezaveh, Perreault-Levasseur (2023) for TARP; Neyman (1937).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.statistics.vectors import PreRanks
    >>> rng = np.random.default_rng(0)
    >>> y, draws = rng.normal(size=(200, 3)), rng.normal(size=(200, 20, 3))
    >>> kc.calibration_test(y, kc.Samples(draws), statistic=PreRanks()).pvalue > 0.05
    True
    >>> result = kc.calibration_test(y, kc.Samples(0.8 * draws), statistic=PreRanks())
    >>> result.pvalue, result.fired
    (0.001, 'spread')
    """

    pre_ranks: tuple[str, ...] = field(default=DEFAULT_PRE_RANKS)
    tarp: bool = True
    references: Any = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "pre_ranks", checked_pre_ranks(self.pre_ranks))
        if not isinstance(self.tarp, bool | np.bool_):
            raise InputError(f"tarp must be True or False, got {self.tarp!r}")
        if self.references is None:
            return
        points = concrete(finite_numbers(self.references, "the reference point", ndim=2))
        object.__setattr__(self, "references", np.asarray(points, dtype=np.float64))

    @property
    def names(self) -> tuple[str, ...]:
        """Members in their order."""
        return (*self.pre_ranks, TARP) if self.tarp else self.pre_ranks

    def estimated(self, case: Case) -> Estimate:
        """Refused: it is several statistics, and what they have in common is a p-value."""
        raise InputError(
            "PreRanks is several statistics and has no single estimate: pass it to kernelcal.calibration_test(y, "
            "predictions, statistic=...), whose result lists them, or see "
            "kernelcal.statistics.vectors.pre_rank_histogram"
        )

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedPreRanks:
        """Look at the draws; the ranks of all members are known before one of them is chosen as the outcome."""
        return PreparedPreRanks(self, members_of(predictions), weights)

    def among(self, rows: np.ndarray) -> PreRanks:
        """Return the same for some of the rows: with their reference points."""
        if self.references is None:
            return self
        return PreRanks(pre_ranks=self.pre_ranks, tarp=self.tarp, references=self.references[rows], seed=self.seed)


def members_of(predictions: Any) -> Samples:
    """Equally likely draws of vectors, all that count, or refuse other predictions."""
    if not isinstance(predictions, Samples):
        raise InputError(
            f"pre-ranks are ranks among draws (kernelcal.Samples), got {type(predictions).__name__}: draw from the "
            "predictions, kernelcal.ranks.vectors_test does so, or leave statistic out"
        )
    if len(predictions.event_shape) != 1:
        raise InputError(
            f"pre-ranks are for vectors, and the targets have shape {predictions.event_shape}: for numbers use "
            "kernelcal.pit_test and kernelcal.rank_histogram"
        )
    weights = None if predictions.weights is None else to_numpy(predictions.weights)
    if weights is not None and not np.allclose(weights, weights[:, :1]):
        raise InputError(
            "pre-ranks need equally likely draws, as many in every row: leave out weights, and test rows with other "
            "numbers of members apart"
        )
    return predictions


def ensemble_of(predictions: RealPredictions, rng: Any, size: int = _ENSEMBLE) -> Samples:
    """Draw an ensemble from predictions that can be drawn from; draws stay as they are.

    Given such an ensemble, outcomes of calibrated predictions are exchangeable with its members: a test by swaps is as
    exact as for draws that were given.
    """
    if isinstance(predictions, Samples):
        return predictions
    if not predictions.drawable:
        raise InputError(f"{type(predictions).__name__} cannot be drawn from: pass draws, kernelcal.Samples(draws)")
    return Samples(np.moveaxis(predictions.sample(generator_of(rng, "an ensemble of vectors"), size), 0, 1))


class RanksOfMembers:
    """Ranks that every member of every row has, by every pre-rank, as ends of jumps.

    Attributes
    ----------
    members : numpy.ndarray of shape (n, M, d)
        Vectors, the outcome among them.
    low, high : numpy.ndarray of shape (n, M, names)
        Shares of the members of the row below each, and at or below.
    """

    def __init__(self, asked: PreRanks, pool: Samples) -> None:
        self.names, self.members = asked.names, to_numpy(pool.draws)
        columns = [pre_ranks_of(name, self.members) for name in asked.pre_ranks]
        if asked.tarp:
            columns.append(distances(asked, self.members.astype(np.float64)))
        ends = [(np.sort(column, axis=1), column.T) for column in columns]
        size = pool.size
        self.low = np.stack([count_below(*pair).T / size for pair in ends], axis=2)
        self.high = np.stack([count_below(*pair, equal=True).T / size for pair in ends], axis=2)
        self.columns = np.stack(columns, axis=2)

    def places(self, targets: np.ndarray) -> np.ndarray:
        """Which member each target is, shape (B, n), for targets of shape (B, n, d) that are members."""
        first, wanted = self.members[:, :, 0], targets[..., 0]
        found = count_below(first, wanted)  # members stand in the order of their first components
        found = np.minimum(found, first.shape[1] - 1)
        rows = np.arange(len(first))
        wrong = np.argwhere((self.members[rows, found] != targets).any(axis=2))
        for b, row in wrong:  # of several members with one first component
            found[b, row] = int((self.members[row] == targets[b, row]).all(axis=1).argmax())
        return np.asarray(found)


def distances(asked: PreRanks, members: np.ndarray) -> np.ndarray:
    """Distances of all members to the reference points of their rows, from 0 to 1, shape (n, M)."""
    if asked.references is not None:
        if asked.references.shape != (len(members), members.shape[2]):
            raise InputError(
                f"reference points must have shape {(len(members), members.shape[2])}, one a row, got "
                f"{asked.references.shape}"
            )
        return unit_range(np.linalg.norm(members - asked.references[:, None], axis=2))
    low, high = members.min(axis=(0, 1)), members.max(axis=(0, 1))
    sides = np.where(high > low, high - low, 1.0)
    points = generator_of(asked.seed, "reference points").random((len(members), 1, members.shape[2]))
    return unit_range(np.linalg.norm((members - low) / sides - points, axis=2))


class PreparedPreRanks(Prepared):
    """Statistics of ranks for one batch of draws."""

    def __init__(self, asked: PreRanks, batch: Samples, weights: np.ndarray | None) -> None:
        self.asked, self.batch, self.weights = asked, batch, weights
        self.names = asked.names
        self.engine = f"ranks among {batch.size:,} draws"
        self.bytes_per_draw = 8 * len(batch) * (4 + _ORDER * len(self.names) + batch.dimension)
        self._ready: tuple[RanksOfMembers, np.ndarray, np.ndarray] | None = None

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets that are members of their rows, shape (B, n, d): shape (B, names)."""
        if not self.batch.holds_outcomes:
            raise InputError(
                "pre-ranks compare the outcome with the draws of its row by swaps alone: use null='swap', or leave "
                "null out"
            )
        sums = self._sums(self._table(self.batch), targets)
        return (sums**2 / np.arange(1, _ORDER + 1)).sum(axis=2)

    def sentences(self, targets: np.ndarray, names: tuple[str, ...]) -> tuple[str, ...]:
        """What the ranks of outcomes, shape (n, d), say, by the members named, the first one first."""
        sums = self._sums(self._table(self.batch.pooled(targets)), targets[None])[0]
        said = [_sentence(name, *sums[self.names.index(name), :2]) for name in names]
        return tuple(dict.fromkeys(said))

    def _table(self, pool: Samples) -> tuple[RanksOfMembers, np.ndarray, np.ndarray]:
        """Ranks of members, and the means of the polynomials over their jumps, over their standard deviations."""
        if self._ready is not None and pool is self.batch:
            return self._ready
        numbers = len(pool) * pool.size * len(self.names) * _ORDER
        if numbers > _MOST:
            raise InputError(
                f"{len(pool):,} rows of {pool.size - 1:,} draws need a table of {8 * numbers / 1e9:.1f} GB: take some "
                f"of the draws, such as draws[:, :100], with which the test is as exact"
            )
        ranks = RanksOfMembers(self.asked, pool)
        features = _legendre(ranks.low, ranks.high)
        if self.weights is not None:
            features *= self.weights[:, None, None, None]
        spread = np.sqrt((features**2).mean(axis=1).sum(axis=0))
        made = (ranks, features, np.where(spread > 0, spread, 1.0))
        self._ready = made if pool is self.batch else self._ready
        return made

    def _sums(self, table: tuple[RanksOfMembers, np.ndarray, np.ndarray], targets: np.ndarray) -> np.ndarray:
        """Standardised sums of polynomials, shape (B, names, order)."""
        ranks, features, spread = table
        rows, places = np.arange(len(features)), ranks.places(targets)
        return np.stack([features[rows, own].sum(axis=0) for own in places]) / spread


def _legendre(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Means of the Legendre polynomials of order 1 to 4 on (0, 1) over intervals, each of variance 1 over (0, 1).

    ``int P_m = (P_(m + 1) - P_(m - 1)) / (2 m + 1)``: over the jumps of all members of a row they add up to 0.
    """
    from numpy.polynomial.legendre import legvander

    ends = [legvander(2 * x - 1, _ORDER + 1) for x in (low, high)]
    m = np.arange(1, _ORDER + 1)
    area = [(x[..., 2:] - x[..., :-2]) / (2 * (2 * m + 1)) for x in ends]
    width = (high - low)[..., None]
    return np.asarray(np.sqrt(2 * m + 1) * (area[1] - area[0]) / width)


_SHIFTED = {
    "mean": ("outcomes are higher than predicted, on average over components", "outcomes are lower than predicted"),
    "average rank": (
        "outcomes are higher than predicted, on average over components",
        "outcomes are lower than predicted",
    ),
    "spread": (
        "components of outcomes differ more from each other than predicted: predictions too narrow, or their "
        "correlation too strong",
        "components of outcomes differ less from each other than predicted: predictions too wide, or their correlation "
        "too weak",
    ),
    "dependence": (
        "components of outcomes lie further apart than predicted: correlation predicted too strong, or too narrow",
        "components of outcomes lie closer together than predicted: correlation predicted too weak, or too wide",
    ),
    "variogram": (
        "dependence between components is further from that predicted than draws are",
        "dependence between components is closer to that predicted than draws are",
    ),
    "band depth": (
        "outcomes are more central than draws: predictions too wide",
        "outcomes are further out than draws: predictions too narrow, or off",
    ),
    "energy": (
        "outcomes are further out than draws: predictions too narrow, or off",
        "outcomes are more central than draws: predictions too wide",
    ),
    "spanning tree": (
        "outcomes are more central than draws: predictions too wide",
        "outcomes are further out than draws: predictions too narrow, or off",
    ),
    TARP: (
        "outcomes are further from the reference points than draws",
        "outcomes are closer to the reference points than draws",
    ),
}


_MEANS = ("their mean varies more than predicted", "their mean varies less than predicted")
_LARGE = ("spread", "dependence", "variogram")  # large or small where dependence is wrong, and then at one end too
# What ends or middle of the ranks say, of pre-ranks that have a width
ENDS = {"mean": _MEANS, "average rank": _MEANS, TARP: ("predictions too narrow", "predictions too wide")}


def shifted_in_words(name: str, *, high: bool) -> str:
    """What it says that outcomes rank high, or low, by a pre-rank."""
    words = _SHIFTED.get(name, (f"outcomes rank high by {name}", f"outcomes rank low by {name}"))
    return words[0] if high else words[1]


def _sentence(name: str, mean: float, ends: float) -> str:
    """Sentence for the rank of one pre-rank: a shift of ranks, or too many at the ends or in the middle."""
    said = ENDS.get(name)
    if abs(mean) > _CLEAR and (name in _LARGE or abs(mean) >= abs(ends)):
        return f"{shifted_in_words(name, high=mean > 0)} ({name}: ranks {mean:+.1f} standard errors off)"
    if abs(ends) > _CLEAR:
        found = f"too many outcomes {'at the ends' if ends > 0 else 'in the middle'} of their ranks by {name}"
        means = "" if said is None else f": {said[0] if ends > 0 else said[1]}"
        return f"{found}{means} ({ends:+.1f} standard errors)"
    return f"ranks by {name} are not uniform, without a clear direction"
