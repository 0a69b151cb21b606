"""Which method serves a statistic, and what it knows of the uncertainty of its value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference.cost import say_bootstrap_cost
from kernelcal.inference.draws import Draws
from kernelcal.inference.interval_methods import METHODS, Method, Request, Spread
from kernelcal.inference.row_bootstrap import OPERATOR_METHODS
from kernelcal.predictions import Predictions
from kernelcal.statistics import CKCE, SKCE

__all__ = ["method_of", "spread_of"]

_BOOTSTRAP_UP_TO = 5_000  # rows; above, 999 products with the n x n matrix take more than some seconds


def method_of(method: str, statistic: SKCE | CKCE, n: int) -> Method:
    """Return the method of a name, or refuse one that does not serve the statistic."""
    if isinstance(statistic, CKCE):
        return _known(OPERATOR_METHODS, "bootstrap" if method == "default" else method)
    if not isinstance(statistic, SKCE):
        raise InputError(
            f"statistic must be an SKCE such as kernelcal.SKCE(estimator='unbiased'), or a CKCE, got {statistic!r}"
        )
    if statistic.estimator == "biased":
        raise InputError("the biased estimator has no interval: use SKCE(estimator='unbiased') or 'block'")
    if statistic.estimator == "incomplete":
        raise InputError("an interval needs all pairs or blocks of rows, got estimator='incomplete': use 'unbiased'")
    blocks = statistic.estimator == "block"
    if method == "default":
        return METHODS["block" if blocks else "bootstrap" if n <= _BOOTSTRAP_UP_TO else "root"]
    found = _known(METHODS, method)
    if blocks != (method == "block"):
        raise InputError(f"method={method!r} does not serve estimator={statistic.estimator!r}: use method='default'")
    return found


def _known(methods: dict[str, Method], name: str) -> Method:
    if name not in methods:
        raise InputError(f"method must be 'default', {', '.join(map(repr, methods))}, got {name!r}")
    return methods[name]


def spread_of(
    method: Method,
    statistic: SKCE | CKCE,
    targets: np.ndarray,
    batch: Predictions,
    weights: np.ndarray | None,
    *,
    draws: int,
    rng: Any,
    progress: Callable[[int, int], None] | None,
) -> Spread:
    """Prepare the statistic and let the method work."""
    if isinstance(statistic, CKCE):
        say_bootstrap_cost(statistic, batch, draws)
        statistic = statistic.fixed(targets, batch, weights)
    request = Request(statistic.prepare(batch, weights), targets, weights, draws, Draws(rng), progress)
    return method.spread(request)
