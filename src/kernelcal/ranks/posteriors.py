"""Ranks from draws of posteriors: every parameter, and all together by pre-ranks and reference points (TARP)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.predictions import Samples
from kernelcal.randomness import generator_of
from kernelcal.ranks.result import RanksResult
from kernelcal.ranks.table import RankTable, checked_names, places_in_words
from kernelcal.ranks.uniformity import ranks_tested
from kernelcal.runs import Run
from kernelcal.statistics.vectors import TARP, checked_pre_ranks, pre_rank_case

__all__ = ["posterior_test", "ranks_of_draws"]


JOINT = ("dependence",)  # what is asked of several parameters together
_CHAIN_AXES = ("chain", "draw", "sample", "samples")


def posterior_test(
    theta: Any,
    samples: Any,
    *,
    names: Any = None,
    pre_ranks: tuple[str, ...] = JOINT,
    tarp: bool = True,
    references: Any = None,
    simulation: str | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS,
    rng: Any = 0,
    early_stopping: bool = True,
    clusters: Any = None,
) -> RanksResult:
    """Test draws of posteriors: the ranks of every parameter, and the expected coverage about random points (TARP).

    Parameters
    ----------
    theta : array of shape (n, d) or (n,), mapping of names to arrays (n, ...), or xarray.Dataset
        True values of n simulations.
    samples : array of shape (n, S, d) or (n, S), mapping of names to arrays (n, S, ...), or xarray.Dataset
        Draws of the posterior of each. Of a dataset, a tree or inference data of ArviZ with a group ``posterior`` the
        axes called chain, draw or sample are those of the draws.
    names : sequence of str, optional
        Names of the d parameters of arrays.
    pre_ranks : sequence of str
        Names of `statistics.vectors.PRE_RANKS`, asked as one more row each; with two parameters or more. Default:
        ``dependence``, which sees wrong correlations where every parameter is right by itself.
    tarp : bool
        Whether distances to reference points are asked for as one more row; with two parameters or more.
    references : array of shape (n, d), optional
        Reference points, which must not depend on the true values; default: random, in the box of all vectors.
    simulation : str, optional
        Of datasets: name of the axis of the simulations; default the one that all true values have.
    confidence_level, alpha, draws, rng, early_stopping, clusters
        As for `rank_test`.

    Returns
    -------
    RanksResult

    Raises
    ------
    InputError
        For shapes that do not agree, and draws with weights.

    Notes
    -----
    Ranks of true values that equal draws are chosen at random, by the seed, among those that the ties allow.

    References
    ----------
    Talts et al. (2018); Lemos, Coogan, Hezaveh, Perreault-Levasseur (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.ranks import posterior_test
    >>> rng = np.random.default_rng(0)
    >>> theta = rng.normal(size=(400, 2))
    >>> x = theta + rng.normal(size=(400, 2))
    >>> samples = x[:, None] / 2 + np.sqrt(0.5) * rng.normal(size=(400, 99, 2))
    >>> posterior_test(theta, samples, names=["a", "b"]).rejected
    False
    >>> too_narrow = x[:, None] / 2 + 0.5 * rng.normal(size=(400, 99, 2))
    >>> found = posterior_test(theta, too_narrow)
    >>> [found[name].direction.split(" (")[0] for name in ("theta[0]", "theta[1]", "TARP")]
    ['too narrow', 'too narrow', 'too narrow']
    """
    run = Run(confidence_level=confidence_level, alpha=alpha, draws=draws, rng=rng, early_stopping=early_stopping)
    run = run.shared()
    asked = {"names": names, "pre_ranks": pre_ranks, "tarp": tarp, "references": references, "simulation": simulation}
    table, joint, notes = ranks_of_draws(theta, samples, rng=run.rng, **asked)
    return ranks_tested(table, run, clusters=clusters, joint=joint, notes=notes)


def ranks_of_draws(
    theta: Any,
    samples: Any,
    *,
    names: Any = None,
    pre_ranks: tuple[str, ...] = JOINT,
    tarp: bool = True,
    references: Any = None,
    simulation: str | None = None,
    rng: Any = 0,
) -> tuple[RankTable, tuple[str, ...], tuple[str, ...]]:
    """Ranks of true values among draws, one column a parameter; which columns are joint; what the reader must know.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.ranks import ranks_of_draws
    >>> table, joint, notes = ranks_of_draws(np.array([0.5, 2.0]), np.array([[0.1, 0.7, 0.9], [0.0, 1.0, 1.5]]))
    >>> table.values[:, 0]
    array([1., 3.])
    """
    truth, drawn, (labels, notes) = _aligned(theta, samples, names, simulation)
    case = Case.of(truth, Samples(drawn))
    places = generator_of(rng, "ties of ranks")
    ranks = [_ranks(truth[:, k], drawn[:, :, k], places) for k in range(len(labels))]
    none = isinstance(pre_ranks, tuple | list) and not pre_ranks
    if not isinstance(tarp, bool | np.bool_):
        raise InputError(f"tarp must be True or False, got {tarp!r:.80}")
    asked = (*(() if none else checked_pre_ranks(pre_ranks)), *((TARP,) if tarp else ()))
    joint = asked if len(labels) > 1 else ()
    if references is not None and TARP not in joint:
        raise InputError("references are for TARP, of two parameters or more: leave them out, or say tarp=True")
    for name in joint:
        of_all = pre_rank_case(case, name, rng, references)
        batch: Any = of_all.predictions
        ranks.append(_ranks(of_all.targets, batch.draws, places))
    table = RankTable.of_ranks(np.stack(ranks, axis=1), drawn.shape[1], (*labels, *joint))
    return table, joint, notes


def _ranks(own: np.ndarray, draws: np.ndarray, places: np.random.Generator) -> np.ndarray:
    """Number of draws below, at random among those that ties allow."""
    below, equal = ((draws < own[:, None]).sum(axis=1), (draws == own[:, None]).sum(axis=1))
    return np.asarray(below + (places.random(len(own)) * (equal + 1)).astype(np.int64))


def _aligned(
    theta: Any, samples: Any, names: Any, simulation: str | None
) -> tuple[np.ndarray, np.ndarray, tuple[tuple[str, ...], tuple[str, ...]]]:
    """True values (n, d), draws (n, S, d), names and notes."""
    if isinstance(theta, Mapping) or hasattr(theta, "data_vars"):
        return _of_names(theta, samples, simulation)
    if simulation is not None:
        raise InputError("simulation names an axis of a dataset, and theta is an array, whose first axis it is")
    truth, drawn = _numbers(theta, "theta"), _numbers(samples, "samples")
    truth = truth[:, None] if truth.ndim == 1 else truth
    drawn = drawn[:, :, None] if drawn.ndim == 2 else drawn
    if truth.ndim != 2 or drawn.ndim != 3 or drawn.shape[::2] != truth.shape:
        swapped = drawn.ndim == 3 and drawn.shape[1:] == truth.shape
        way = ": the draws lie on axis 0, np.moveaxis(samples, 0, 1)" if swapped else ""
        if drawn.ndim == 3 and drawn.shape[:2] == truth.shape:
            way = ": the draws lie on the last axis, np.moveaxis(samples, -1, 1)"
        if truth.ndim == 3 and truth.shape[::2] == np.shape(samples):
            way = ": were the arguments swapped? The order is (theta, samples)"
        raise InputError(
            f"theta must have shape (n, d) and samples (n, S, d), got {np.shape(theta)} and {np.shape(samples)}{way}"
        )
    return truth, drawn, (checked_names(names, truth.shape[1]), ())


def _numbers(values: Any, what: str) -> np.ndarray:
    try:
        return to_numpy(as_array(values)).astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers, got {str(values)[:60]}: leave text and missing values out") from None


def _of_names(
    theta: Any, samples: Any, simulation: str | None
) -> tuple[np.ndarray, np.ndarray, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Variables that both have, flattened: beta[0], beta[1], ..."""
    inner = getattr(samples, "posterior", None) if hasattr(samples, "posterior") else None
    samples = samples if inner is None else inner
    samples = samples.dataset if hasattr(samples, "dataset") and not hasattr(samples, "data_vars") else samples
    if not isinstance(samples, Mapping) and not hasattr(samples, "data_vars"):
        raise InputError(
            f"theta has names and samples is {type(samples).__name__}: pass a mapping of the same names to draws of "
            "shape (n, S, ...)"
        )
    keys = [str(key) for key in (theta.data_vars if hasattr(theta, "data_vars") else theta)]
    drawn_keys = [str(key) for key in (samples.data_vars if hasattr(samples, "data_vars") else samples)]
    shared = [key for key in keys if key in drawn_keys]
    if not shared:
        raise InputError(
            f"theta has {', '.join(keys) or 'no names'} and samples {', '.join(drawn_keys) or 'no names'}: no "
            "parameter is in both; call them alike"
        )
    axis = _simulation_axis([theta[key] for key in shared], simulation) if hasattr(theta, "data_vars") else None
    truths, draws, names = [], [], []
    for key in shared:
        own, drawn = _variable(theta[key], axis, draws=False), _variable(samples[key], axis, draws=True)
        if drawn.shape[:1] + drawn.shape[2:] != own.shape:
            raise InputError(f"{key}: true values have shape {own.shape} and draws {drawn.shape}, expected (n, S, ...)")
        flat = own.reshape(len(own), -1)
        truths.append(flat)
        draws.append(drawn.reshape(*drawn.shape[:2], -1))
        names += places_in_words(key, own.shape[1:])
    sizes = {key: drawn.shape[:2] for key, drawn in zip(shared, draws, strict=True)}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{key} {shape}" for key, shape in sizes.items())
        raise InputError(f"draws have different numbers of simulations or draws, {told}: take as many of each")
    left = sorted(set(keys) ^ set(drawn_keys))
    notes = (f"left out, since only one of both has them: {', '.join(left)}",) if left else ()
    return np.concatenate(truths, axis=1), np.concatenate(draws, axis=2), (tuple(names), notes)


def _simulation_axis(variables: list[Any], simulation: str | None) -> str:
    found = [str(name) for name in variables[0].dims if all(name in one.dims for one in variables)]
    if simulation is not None and simulation in found:
        return simulation
    if simulation is None and len(found) == 1:
        return found[0]
    raise InputError(
        f"theta has the axes {', '.join(found)}: say which one holds the simulations, simulation='...'"
        if found
        else "the true values have no axis in common: one axis must hold the simulations"
    )


def _variable(x: Any, axis: str | None, *, draws: bool) -> np.ndarray:
    """Values with simulations first and draws second; axes of chains and draws become one."""
    if axis is None or not hasattr(x, "dims"):
        return _numbers(x, "values of parameters")
    own = [name for name in x.dims if draws and str(name) in _CHAIN_AXES]
    if axis not in x.dims or (draws and not own):
        raise InputError(
            f"{x.name} has the axes {', '.join(map(str, x.dims))}: expected {axis}"
            + (f" and one of {', '.join(_CHAIN_AXES)}" if draws else "")
        )
    rest = [name for name in x.dims if name != axis and name not in own]
    values = np.asarray(x.transpose(axis, *own, *rest).values, dtype=np.float64)
    return values.reshape(len(values), -1, *values.shape[1 + len(own) :]) if draws else values
