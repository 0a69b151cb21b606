"""Which method serves a statistic, and what it knows of the uncertainty of its value."""

from __future__ import annotations

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference.cost import say_bootstrap_cost
from kernelcal.inference.interval_methods import INTERVAL_METHODS, IntervalMethod, Request, Spread
from kernelcal.inference.row_bootstrap import OPERATOR_METHODS
from kernelcal.runs import Run
from kernelcal.statistics import CKCE, SKCE
from kernelcal.statistics.pair_means import PreparedPairMean

__all__ = ["default_method", "method_of", "spread_of"]

_BOOTSTRAP_UP_TO = 5_000  # rows; above, 999 products with the n x n matrix take more than some seconds


def method_of(name: str | IntervalMethod, statistic: SKCE | CKCE, *, weighted: bool = False) -> IntervalMethod | None:
    """Return the method of a name or as given, None for the default, or refuse what does not serve what there is."""
    if isinstance(statistic, CKCE):
        if isinstance(name, IntervalMethod):
            return _with_weights(name) if weighted else name
        return None if name == "default" else OPERATOR_METHODS.chosen(name)
    if not isinstance(statistic, SKCE):
        raise InputError(
            f"statistic must be an SKCE such as kernelcal.SKCE(estimator='unbiased'), or a CKCE, got {statistic!r}"
        )
    if statistic.estimator == "biased":
        raise InputError("the biased estimator has no interval: use SKCE(estimator='unbiased') or 'block'")
    if statistic.estimator == "incomplete":
        raise InputError("an interval needs all pairs or blocks of rows, got estimator='incomplete': use 'unbiased'")
    if name == "default":
        return None
    if isinstance(name, IntervalMethod):
        return _with_weights(name) if weighted else name
    found = INTERVAL_METHODS.chosen(name)
    if (statistic.estimator == "block") != (name == "block"):
        raise InputError(f"method={name!r} does not serve estimator={statistic.estimator!r}: use method='default'")
    return _with_weights(found) if weighted else found


def _with_weights(method: IntervalMethod) -> IntervalMethod:
    if method.weightless:
        raise InputError(method.weightless)
    return method


def default_method(statistic: SKCE | CKCE, n: int, *, weighted: bool = False) -> IntervalMethod:
    """Return the method for so many rows where none is named; with case weights of all pairs always the bootstrap."""
    if isinstance(statistic, CKCE):
        return OPERATOR_METHODS["bootstrap"]
    if statistic.estimator == "block":
        return _with_weights(INTERVAL_METHODS["block"]) if weighted else INTERVAL_METHODS["block"]
    return INTERVAL_METHODS["bootstrap" if weighted or n <= _BOOTSTRAP_UP_TO else "root"]


def spread_of(
    method: IntervalMethod, statistic: SKCE | CKCE, case: Case, run: Run, prepared: PreparedPairMean | None = None
) -> Spread:
    """Prepare the statistic, unless that is done, and let the method work."""
    if prepared is not None:
        return method.spread(Request(case, prepared, run))
    if isinstance(statistic, CKCE):
        say_bootstrap_cost(statistic, case.predictions, run.draws)
        statistic = statistic.fixed(case.targets, case.predictions, case.weights)
    return method.spread(Request(case, statistic.prepare(case.predictions, case.weights), run))
