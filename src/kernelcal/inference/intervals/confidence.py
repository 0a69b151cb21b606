"""Confidence intervals of the squared kernel calibration error and of its conditional form."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.errors import InputError
from kernelcal.inference.intervals.methods import INTERVAL_METHODS, IntervalMethod, Request, Spread
from kernelcal.inference.intervals.row_bootstrap import OPERATOR_METHODS, say_bootstrap_cost
from kernelcal.inference.intervals.units import spread_of_dependent
from kernelcal.inference.test import default_statistic, law_of, tested
from kernelcal.lenses import Lens
from kernelcal.runs import Run
from kernelcal.statistics import CKCE, SKCE, target_notes
from kernelcal.statistics.pairwise import PreparedPairMean
from kernelcal.tables import Shown, Table

__all__ = ["Interval", "confidence_interval", "default_method", "interval_of", "method_of", "spread_of"]


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
    if isinstance(name, str) and name == "default":
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


def default_method(
    statistic: SKCE | CKCE, n: int, *, weighted: bool = False, dependent: bool = False
) -> IntervalMethod:
    """Return the method for so many rows where none is named; with case weights of all pairs always the bootstrap.

    Of rows that depend on each other it is ``root``, also with case weights.
    """
    if isinstance(statistic, CKCE):
        return OPERATOR_METHODS["bootstrap"]
    if dependent:
        return INTERVAL_METHODS["block" if statistic.estimator == "block" else "root"]
    if statistic.estimator == "block":
        return _with_weights(INTERVAL_METHODS["block"]) if weighted else INTERVAL_METHODS["block"]
    return INTERVAL_METHODS["bootstrap" if weighted or n <= _BOOTSTRAP_UP_TO else "root"]


def spread_of(
    method: IntervalMethod, statistic: SKCE | CKCE, case: Case, run: Run, prepared: PreparedPairMean | None = None
) -> Spread:
    """Prepare the statistic, unless that is done, and let the method work, on units where rows depend on each other."""
    if isinstance(statistic, CKCE) and prepared is None:
        say_bootstrap_cost(statistic, case.predictions, run.draws)
        statistic = statistic.fixed(case.targets, case.predictions, case.weights)
    if case.rows is not None:
        found = spread_of_dependent(method, statistic, case, run, prepared)
        if found is not None:
            return found
    ready = statistic.prepare(case.predictions, case.weights) if prepared is None else prepared
    return method.spread(Request(case, ready, run))


@dataclass(frozen=True, repr=False)
class Interval(Shown):
    """A confidence interval of the SKCE or the CKCE.

    Attributes
    ----------
    estimate, lower, upper : float
        On the squared scale; the estimate may be negative, the ends are not.
    confidence_level : float
        Nominal coverage.
    method : str
        How it was made.
    n : int
        Rows.
    notes : tuple of str
        What the reader must know.
    name : str
        Of what: SKCE or CKCE.

    Examples
    --------
    >>> import kernelcal as kc
    >>> found = kc.confidence_interval([0, 1, 1, 0] * 5, [0.2, 0.8, 0.7, 0.4] * 5, draws=99)
    >>> found.method, found.lower <= found.upper
    ('percentile bootstrap without pairs of a row with itself', True)
    """

    estimate: float
    lower: float
    upper: float
    confidence_level: float
    method: str
    n: int
    notes: tuple[str, ...] = ()
    name: str = "SKCE"

    @property
    def root(self) -> tuple[float, float]:
        """Ends for the root; of the SKCE it is in units of probability."""
        return math.sqrt(self.lower), math.sqrt(self.upper)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "root": list(self.root), "notes": list(self.notes)}

    def _table(self) -> Table:
        low, high = self.root
        rows = [
            (self.name, f"{self.estimate:.4g}"),
            (f"{self.confidence_level:.0%} interval", f"{self.lower:.4g} to {self.upper:.4g}"),
            ("its root", f"{low:.4f} to {high:.4f}"),
            ("method", self.method),
            ("rows", f"{self.n:,}"),
        ]
        return Table("Confidence interval", rows, self.notes)


def confidence_interval(
    y: Any,
    predictions: Any,
    *,
    statistic: SKCE | CKCE | None = None,
    method: str | IntervalMethod = "default",
    confidence_level: float = CONFIDENCE_LEVEL,
    lens: Lens | None = None,
    weights: Any = None,
    draws: int = DRAWS,
    rng: Any = 0,
    pvalue: float | None = None,
    classes: Any = None,
    normalize: bool = False,
    progress: Callable[[int, int], None] | None = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> Interval:
    """Confidence interval of the squared kernel calibration error, or of its conditional form, the `CKCE`.

    Parameters
    ----------
    y, predictions, lens, weights, classes, normalize
        As for `calibration_test`.
    clusters, time, horizon, series
        Which rows depend on each other, as for `calibration_test`: clusters, or stretches of two horizons or more, then
        take the place of rows in every method, and pairs of rows of one of them are left out of the estimate.
    statistic : SKCE or CKCE, optional
        Estimator and kernels; default `SKCE()`, unbiased. An interval is one of the error of the model, from which the
        biased estimator is away by construction: it has none. Of a `CKCE` the interval is that of the value without the
        noise of the targets (``estimator="corrected"``), at its lambda, which is held fixed.
    method : {"default", "bootstrap", "root", "ball", "block"} or IntervalMethod
        ``bootstrap``: percentiles of the unbiased value over rows drawn with replacement, pairs of a row with itself
        left out. ``root``: on the root scale with the Hoeffding variance, wider above; no draws. ``ball``: the root of
        the biased value plus and minus a quantile of the norm of the centred multiplier process; it covers whether
        the model is calibrated or not, and is wide. ``block``: law of Student of the block values. Upper ends allow for
        two surprises that did not happen, so that they hold where few outcomes were surprising. The default is
        ``bootstrap`` up to 5,000 rows and with case weights, which the others do not take, ``root`` above, and
        ``block`` for the block estimator. Of rows that depend on each other it is ``root``, which then takes case
        weights, too. `CKCE` has ``bootstrap``: one factorisation serves all draws, whose change of the operator is
        taken to the first order.
    confidence_level : float
        Nominal coverage, between 0 and 1.
    draws, rng
        Draws and their seed, for ``bootstrap``, ``ball`` and the exact test; of a generator one seed is drawn for both.
    pvalue : float, optional
        Exact p-value, if known already. But for ``block`` the lower end is 0 unless the exact test
        rejects at 1 - confidence_level; without `pvalue` the default test is made.

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
    how-to on null laws has the simulated coverage. Of rows that depend on each other few clusters or stretches are
    marked, and fewer than five, as they count, refused; the theory page has the coverage. Cost: O(n^2 (m + draws)) for
    ``bootstrap`` and ``ball``, O(n^2 m) for ``root``. Of `CKCE`: 2 n^2 m a draw (`ExactPairs`) or n D m; more than a
    minute is announced.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(1)
    >>> p = rng.uniform(size=300)
    >>> y = kc.Bernoulli(p).sample(rng)[0]
    >>> low, high = kc.confidence_interval(y, p**2).root
    >>> 0 < low < high < 1
    True

    Patients with five visits each:

    >>> kc.confidence_interval(y, p**2, clusters=np.repeat(np.arange(60), 5)).method
    'root scale, Hoeffding variance, 60 clusters in the place of rows'
    """
    run = Run(confidence_level=confidence_level, draws=draws, rng=rng, progress=progress).shared()
    statistic = SKCE() if statistic is None else statistic
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    chosen = method_of(method, statistic, weighted=weights is not None and all(one is None for one in rows.values()))
    _refuse_pvalue(pvalue)
    options = {"weights": weights, "lens": lens, "classes": classes, "normalize": normalize}
    case = Case.of(y, predictions, **options, **rows)
    return interval_of(case, statistic, run, method=chosen, pvalue=pvalue)


def interval_of(
    case: Case,
    statistic: SKCE | CKCE,
    run: Run,
    *,
    method: IntervalMethod | None = None,
    pvalue: float | None = None,
    prepared: PreparedPairMean | None = None,
) -> Interval:
    """Make the interval of what was checked already; None for what is then chosen, computed or prepared here."""
    case, n = case.in_numpy, len(case.targets)
    chosen = method
    if chosen is None:
        options = {"weighted": case.weights is not None, "dependent": case.rows is not None}
        chosen = default_method(statistic, n, **options)
    if pvalue is None and chosen.tested:
        asked = default_statistic(case.predictions)
        pvalue = tested(case, asked, law_of(case, asked), replace(run, progress=None)).pvalue
    spread = spread_of(chosen, statistic, case, run, prepared)
    lower, upper = spread.ends(run.confidence_level)
    notes = (*case.predictions.notes, *target_notes(case.predictions, statistic.integrator), *spread.notes)
    if chosen.tested and pvalue is not None and pvalue > 1 - run.confidence_level:
        test = "exact test" if case.rows is None else "test of dependent rows"
        lower, notes = 0.0, (*notes, f"the lower end is 0: the {test} does not reject (p = {pvalue:.3g})")
    return Interval(
        spread.estimate,
        max(lower, 0.0),
        max(upper, 0.0),
        run.confidence_level,
        chosen.label + spread.units,
        n,
        notes,
        "SKCE" if isinstance(statistic, SKCE) else "CKCE, corrected",
    )


def _refuse_pvalue(pvalue: Any) -> None:
    number = isinstance(pvalue, int | float | np.number) and not isinstance(pvalue, bool)
    if pvalue is not None and not (number and 0 < pvalue <= 1):
        raise InputError(f"pvalue must lie above 0 and not above 1, got {pvalue!r}: leave it out to have it computed")
