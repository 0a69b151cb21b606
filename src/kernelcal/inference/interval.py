"""Confidence intervals of the squared kernel calibration error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.inference.calibration import calibration_test
from kernelcal.inference.draws import Draws
from kernelcal.inference.interval_methods import METHODS, Request
from kernelcal.lenses import Lens, seen
from kernelcal.predictions import checked_pair, checked_weights
from kernelcal.statistics import SKCE
from kernelcal.statistics.target_notes import target_notes
from kernelcal.tables import Table

__all__ = ["Interval", "confidence_interval"]

_BOOTSTRAP_UP_TO = 5_000  # rows; above, 999 products with the n x n matrix take more than some seconds


@dataclass(frozen=True)
class Interval:
    """A confidence interval of the SKCE.

    Attributes
    ----------
    estimate, lower, upper : float
        On the squared scale; the estimate may be negative, the ends are not.
    level : float
        Nominal coverage.
    method : str
        How it was made.
    n : int
        Rows.
    notes : tuple of str
        What the reader must know.
    """

    estimate: float
    lower: float
    upper: float
    level: float
    method: str
    n: int
    notes: tuple[str, ...] = ()

    @property
    def root(self) -> tuple[float, float]:
        """Ends for the root of the SKCE, in units of probability."""
        return math.sqrt(self.lower), math.sqrt(self.upper)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "root": list(self.root), "notes": list(self.notes)}

    def _table(self) -> Table:
        low, high = self.root
        rows = [
            ("SKCE", f"{self.estimate:.4g}"),
            (f"{self.level:.0%} interval", f"{self.lower:.4g} to {self.upper:.4g}"),
            ("its root", f"{low:.4f} to {high:.4f}"),
            ("method", self.method),
            ("rows", f"{self.n:,}"),
        ]
        return Table("Confidence interval", rows, self.notes)

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


def confidence_interval(
    y: Any,
    predictions: Any,
    *,
    statistic: SKCE | None = None,
    method: str = "default",
    level: float = 0.95,
    lens: Lens | None = None,
    weights: Any = None,
    draws: int = 999,
    rng: Any = 0,
    pvalue: float | None = None,
    classes: Any = None,
    normalize: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Interval:
    """Confidence interval of the squared kernel calibration error.

    Parameters
    ----------
    y, predictions, lens, weights, classes, normalize
        As for `calibration_test`.
    statistic : SKCE, optional
        Estimator and kernels; default `SKCE()`, unbiased. An interval is one of the error of the model, from which the
        biased estimator is away by construction: it has none.
    method : {"default", "bootstrap", "root", "ball", "block"}
        ``bootstrap``: percentiles of the unbiased value over rows drawn with replacement, pairs of a row with itself
        left out. ``root``: on the root scale with the Hoeffding variance, wider above; no draws. ``ball``: the root of
        the biased value plus and minus a quantile of the norm of the centred multiplier process; it covers whether
        the model is calibrated or not, and is wide. ``block``: normal law of the block values. The default is
        ``bootstrap`` up to 5,000 rows, ``root`` above, and ``block`` for the block estimator.
    level : float
        Nominal coverage, between 0 and 1.
    draws, rng
        Draws and their seed, for ``bootstrap``, ``ball`` and the exact test.
    pvalue : float, optional
        Exact p-value, if known already. With ``bootstrap`` and ``root`` the lower end is 0 unless the exact test
        rejects at 1 - level; without `pvalue` the default test is made.

    Returns
    -------
    Interval

    Raises
    ------
    InputError
        With the remedy.

    Notes
    -----
    For calibrated models the estimate is degenerate and intervals cover more often than their nominal level; the
    how-to on null laws has the simulated coverage. Cost: O(n^2 (m + draws)) for ``bootstrap`` and ``ball``,
    O(n^2 m) for ``root``.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(1)
    >>> p = rng.uniform(size=300)
    >>> y = kc.Bernoulli(p).sample(rng)[0]
    >>> low, high = kc.confidence_interval(y, p**2).root
    >>> 0 < low < high < 1
    True
    """
    targets, batch = checked_pair(y, predictions, classes=classes, normalize=normalize)
    own = checked_weights(weights, len(batch))
    targets, batch = seen(targets, batch, lens)
    if not isinstance(statistic, SKCE | None):
        raise InputError(f"statistic must be an SKCE such as kernelcal.SKCE(estimator='unbiased'), got {statistic!r}")
    batch, statistic = batch.map_arrays(to_numpy), statistic or SKCE()
    if statistic.estimator == "biased":
        raise InputError("the biased estimator has no interval: use SKCE(estimator='unbiased') or 'block'")
    name = _method(method, statistic, len(batch))
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, such as 0.95, got {level!r}")
    if pvalue is not None and not 0 < pvalue <= 1:
        raise InputError(f"pvalue must lie above 0 and not above 1, got {pvalue!r}: leave it out to have it computed")
    if pvalue is None and METHODS[name].tested:
        pvalue = calibration_test(targets, batch.without_names(), weights=own, draws=draws, rng=rng).pvalue
    request = Request(statistic.prepare(batch, own), targets, own, level, draws, Draws(rng), progress)
    estimate, lower, upper = METHODS[name].ends(request)
    notes = (*batch.notes, *target_notes(batch, statistic.integrator))
    if METHODS[name].tested and pvalue is not None and pvalue > 1 - level:
        lower, notes = 0.0, (*notes, f"the lower end is 0: the exact test does not reject (p = {pvalue:.3g})")
    return Interval(estimate, max(lower, 0.0), max(upper, 0.0), level, METHODS[name].label, len(batch), notes)


def _method(method: str, statistic: SKCE, n: int) -> str:
    if statistic.estimator == "incomplete":
        raise InputError("an interval needs all pairs or blocks of rows, got estimator='incomplete': use 'unbiased'")
    blocks = statistic.estimator == "block"
    if method == "default":
        return "block" if blocks else "bootstrap" if n <= _BOOTSTRAP_UP_TO else "root"
    if method not in METHODS:
        raise InputError(f"method must be 'default', {', '.join(map(repr, METHODS))}, got {method!r}")
    if blocks != (method == "block"):
        raise InputError(f"method={method!r} does not serve estimator={statistic.estimator!r}: use method='default'")
    return method
