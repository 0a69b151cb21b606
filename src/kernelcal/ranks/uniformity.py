"""Tests of ranks or PIT values that were computed elsewhere: is a posterior, or any prediction, calibrated?"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, SIGNIFICANCE
from kernelcal.dependence import binomial_interval
from kernelcal.errors import InputError
from kernelcal.inference import TestResult
from kernelcal.inference.test import holm_adjusted, pit_tested
from kernelcal.ranks.result import ParameterRanks, RanksResult
from kernelcal.ranks.table import RankTable, names_in
from kernelcal.runs import Run
from kernelcal.statistics.outcomes import normal_quantiles
from kernelcal.statistics.vectors import ENDS, shifted_in_words

__all__ = ["pit_values_test", "rank_test", "ranks_tested"]


_REGION = 0.9
_SEEN, _MANY = 0.7, 20  # share of the ranks that one of so many should reach: by chance none does once in a thousand
_CUT = 0.05  # more ranks at the ends than are expected there, so many that their spread says little
_CLEAR = 2.0  # standard errors by which a width is told
_FAR = 8.0  # shift that no rank among draws tells from a larger one
_ROUNDING = 1e-9
_CELLS = 10_000  # of the uniform law whose spread is known without them

_WEIGHTED = (
    "weights: ranks of simulations count alike, and there is no weighted test of them: leave out simulations that do "
    "not count, or draw simulations by their weights first"
)


def rank_test(
    ranks: Any,
    draws_per_rank: int,
    *,
    names: Any = None,
    first: int = 0,
    weights: Any = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS,
    rng: Any = 0,
    early_stopping: bool = True,
    clusters: Any = None,
) -> RanksResult:
    """Test ranks alone: simulation-based calibration, rank histograms of forecasts that are no longer there.

    The rank of a true value is the number of draws of its posterior that lie below it. If posterior and true value are
    exchangeable, it is uniform on 0, 1, ..., L, at every number of simulations and draws. Each parameter has the exact
    test of `pit_test` for this discrete law: Anderson-Darling, Kuiper, bias and dispersion, merged by their smallest
    rank. Ranks of several parameters of one simulation depend on each other in unknown ways, so that the p-values are
    corrected by Holm, which holds for every dependence.

    Parameters
    ----------
    ranks : array of shape (n,) or (n, K), mapping of names to columns, or xarray.Dataset
        Ranks of n simulations for K parameters.
    draws_per_rank : int
        Number L of draws that every rank is among.
    names : sequence of str, optional
        Names of the parameters.
    first : {0, 1}
        Rank of a true value below all draws.
    weights
        Refused: there is no weighted test of ranks.
    confidence_level : float
        Of bands and intervals.
    alpha : float
        Level at which directions are told; it changes no p-value.
    draws : int
        Draws of the test; with many parameters more are made, so that a corrected p-value can be below alpha.
    rng : int, numpy.random.Generator or None
        Seed (SPEC 7).
    early_stopping : bool
        As for `calibration_test`.
    clusters : array of shape (n,), optional
        What simulations share that depend on each other, such as one x of several true values: sets of simulations of
        which no two are of one cluster are tested, and their number times the smallest p-value holds.

    Returns
    -------
    RanksResult
        A row for every parameter, `plot` and `ecdf`.

    Raises
    ------
    InputError
        For numbers that are no ranks of so many draws.

    Notes
    -----
    Draws of a Markov chain depend on each other, which moves ranks to the ends: thin the chain first. Ranks see what
    calibration of each parameter says, and not whether the posterior uses the data: the prior is calibrated too.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari, Gelman (2018); Saeilynoja, Buerkner, Vehtari (2022) for bands; Holm (1979).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.ranks import rank_test
    >>> rng = np.random.default_rng(0)
    >>> right, narrow = rng.integers(0, 20, 500), (20 * rng.beta(0.6, 0.6, 500)).astype(int)
    >>> result = rank_test({"mu": right, "tau": narrow}, 19)
    >>> result.pvalue
    0.002
    >>> [one.direction.split(" (")[0] for one in result.parameters]
    ['', 'too narrow']
    """
    if weights is not None:
        raise InputError(_WEIGHTED)
    run = Run(confidence_level=confidence_level, alpha=alpha, draws=draws, rng=rng, early_stopping=early_stopping)
    table = RankTable.of_ranks(ranks, draws_per_rank, names_in(ranks, names), first)
    return ranks_tested(table, run, clusters=clusters)


def pit_values_test(
    values: Any,
    *,
    names: Any = None,
    weights: Any = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS,
    rng: Any = 0,
    early_stopping: bool = True,
    clusters: Any = None,
) -> RanksResult:
    """Test PIT values alone: numbers that are uniform on (0, 1) if what predicted them is calibrated.

    As `rank_test`, for predicted distribution functions at outcomes in place of ranks. A value inside a jump must have
    been chosen at random inside it.

    Parameters
    ----------
    values : array of shape (n,) or (n, K), mapping of names to columns, or xarray.Dataset
        PIT values.
    names, weights, confidence_level, alpha, draws, rng, early_stopping
        As for `rank_test`.
    clusters : array of shape (n,), optional
        What rows share that depend on each other: values are redrawn with as much dependence.

    Returns
    -------
    RanksResult

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.ranks import pit_values_test
    >>> u = np.random.default_rng(0).beta(2, 2, 300)
    >>> pit_values_test(u).directions[0].split(" (")[0]
    'theta: too wide'
    """
    if weights is not None:
        raise InputError(_WEIGHTED)
    run = Run(confidence_level=confidence_level, alpha=alpha, draws=draws, rng=rng, early_stopping=early_stopping)
    return ranks_tested(RankTable.of_pit(values, names_in(values, names)), run, clusters=clusters)


def ranks_tested(
    table: RankTable, run: Run, *, clusters: Any = None, joint: tuple[str, ...] = (), notes: tuple[str, ...] = ()
) -> RanksResult:
    """Test what was checked already; `joint` names the columns that are pre-ranks of all parameters."""
    number = len(table.names)
    least = math.ceil(2 * number / run.alpha) - 1
    if run.draws < least and number > 1:
        notes = (*notes, f"{least:,} draws were allowed, so that p-values corrected for {number} parameters can reject")
        run = replace(run, draws=least)
    run = run.shared()
    cases = [table.case(k, run.rng, **({} if clusters is None else {"clusters": clusters})) for k in range(number)]
    results = [pit_tested(case, run) for case in cases]
    adjusted = holm_adjusted(np.array([result.pvalue for result in results]))
    independent = all(case.rows is None or not case.rows.overlap for case in cases)
    told = [
        _parameter(table, k, result, float(p), run, independent=independent, joint=table.names[k] in joint)
        for k, (result, p) in enumerate(zip(results, adjusted, strict=True))
    ]
    notes = (*notes, *_of_table(table, number, shared=clusters is not None))
    return RanksResult(table, tuple(told), run.alpha, len(table), run, independent, notes)


def _of_table(table: RankTable, number: int, *, shared: bool) -> tuple[str, ...]:
    notes = []
    if number > len(table):
        notes.append(
            f"{number:,} parameters of {len(table):,} simulations: one row a simulation is expected; if rows are "
            "parameters, pass ranks.T"
        )
    if number > 1:
        notes.append(f"p-values of {number} parameters are corrected by Holm, for every dependence between them")
    size = table.draws_per_rank
    if size is not None and len(table) >= _MANY and table.values.max() + 1 < _SEEN * (size + 1):
        most = int(table.values.max())
        notes.append(f"no rank is above {most:,}, of {size:,} that could be: is {size:,} the number of draws?")
    if table.joined:
        notes.append("ranks were given random places inside their steps, by the seed: the test stays exact")
    which = "simulations of different clusters" if shared else "simulations"
    notes.append(f"{which} are assumed independent, and posteriors not fitted on them")
    return tuple(notes)


def _parameter(
    table: RankTable, k: int, result: TestResult, adjusted: float, run: Run, *, independent: bool, joint: bool
) -> ParameterRanks:
    shares = table.shares[:, k]
    z = normal_quantiles(shares)
    mean, spread = float(shares.mean()), float(z.std() / _spread_of(table.draws_per_rank))
    expected, inside = _central(table, k)
    held = int(inside.sum())
    nowhere = (np.full(1, np.nan),) * 2
    ends = binomial_interval(np.array([held]), len(table), run.confidence_level) if independent else nowhere
    name = table.names[k] if joint else ""
    direction = ""
    if adjusted <= run.alpha:
        direction = _direction(result, float(z.mean()), mean, _told_spread(table, k, spread, z), name)
    own = (float(ends[0][0]), float(ends[1][0]), direction, result)
    return ParameterRanks(table.names[k], result.pvalue, adjusted, mean, spread, expected, held / len(table), *own)


def _central(table: RankTable, k: int) -> tuple[float, np.ndarray]:
    """Share that a central region holds, and which true values lie in it: the middle steps, as near to 90 % as is."""
    size = table.draws_per_rank
    if size is None:
        return _REGION, np.abs(table.values[:, k] - 0.5) <= _REGION / 2
    cut = max(1, round((size + 1) * (1 - _REGION) / 2)) if size > 1 else 0
    own = table.values[:, k]
    return (size + 1 - 2 * cut) / (size + 1), (own >= cut) & (own <= size - cut)


@cache
def _spread_of(size: int | None) -> float:
    """Standard deviation of the normal quantiles of the middles of the steps of uniform ranks."""
    if size is None or size > _CELLS:
        return 1.0
    return float(normal_quantiles((np.arange(size + 1) + 0.5) / (size + 1)).std())


def _told_spread(table: RankTable, k: int, spread: float, z: np.ndarray) -> float:
    """Spread by which a width is told; 1 where it may be that of the ends, or what a shift alone leaves of few steps.

    Ranks that are cut off at one end spread as their ends do. Ranks among few draws spread less around a mean that is
    not 0: among one draw by nothing but this mean, which tells no width.
    """
    size, own = table.draws_per_rank, table.values[:, k]
    ends = (own <= 0).mean(), (own >= (1 if size is None else size)).mean()
    side = 0.0 if size is None else 1 / (size + 1)
    if sum(ends) > 2 * side + _CUT and min(ends) <= side:
        return 1.0
    if size is None or size > _CELLS:
        return spread
    left, error = _spread_of_shifted(size, float(z.mean())), float(np.std((z - z.mean()) ** 2) / np.sqrt(len(z)))
    more = float(z.var()) - left**2
    return spread if abs(more) > max(_CLEAR * error, _ROUNDING) and (more > 0) == (spread > 1) else 1.0


def _spread_of_shifted(size: int, mean: float) -> float:
    """Standard deviation of the normal quantiles of ranks whose true values are shifted, and no wider: of this mean."""
    from scipy.optimize import brentq  # imported when needed: the import of kernelcal stays light
    from scipy.special import ndtr

    steps = np.arange(size + 1)
    middles = normal_quantiles((steps + 0.5) / (size + 1))
    edges = normal_quantiles(steps[1:] / (size + 1))

    def shares(shift: float) -> np.ndarray:
        return np.diff(ndtr(np.concatenate([[-np.inf], edges - shift, [np.inf]])))

    if abs(mean) >= shares(_FAR) @ middles:
        return 0.0
    found = shares(brentq(lambda shift: float(shares(shift) @ middles) - mean, -_FAR, _FAR))
    return float(np.sqrt(found @ (middles - mean) ** 2))


def _direction(result: TestResult, quantile: float, mean: float, spread: float, joint: str) -> str:
    """Words for bias and dispersion where they speak against calibration, the stronger first.

    Of pre-ranks of all parameters a shift has words of its own.
    """
    found = {member.name: member.pvalue for member in result.members}
    alpha = max(result.alpha, min(found.values(), default=1.0))
    high = quantile > 0
    shift = shifted_in_words(joint, high=high) if joint else f"shifted {'down' if high else 'up'}"
    words = {
        "bias": f"{shift} (mean rank {mean:.2f})",
        "dispersion": f"too {'narrow' if spread > 1 else 'wide'} (ranks spread {spread:.2f} times as they should)",
    }
    wide = spread != 1 and (not joint or joint in ENDS)  # other pre-ranks have no width: wrong ones are large or small
    words = words if wide else {"bias": words["bias"]}
    named = sorted((name for name in words if found.get(name, 1.0) <= alpha), key=lambda name: found[name])
    return ", ".join(words[name] for name in named) or "of a wrong shape, without a clear shift or width"
