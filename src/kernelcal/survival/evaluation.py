"""Is a model of times to an event calibrated, how far off, when, and for whom?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.inference import TestResult
from kernelcal.runs import Run
from kernelcal.survival.calibrated import (
    Calibrated,
    Horizon,
    at_horizons,
    calibrated_concordance,
    finite_or_none,
    kept_redraws,
    redrawn_times,
)
from kernelcal.survival.data import Survival, outcomes_of
from kernelcal.survival.groups import SurvivalGroup, groups_of, poisson_interval
from kernelcal.survival.pictures import horizon_plot, residual_plot
from kernelcal.survival.residuals import Bets, bets
from kernelcal.survival.tested import asked_survival
from kernelcal.tables import Grid, Shown, Table

__all__ = ["SurvivalEvaluation", "evaluate", "evaluated_survival"]


_ALIKE = "observed and Brier scores take censoring to be as likely at high risks as at low ones; p does not"


@dataclass(frozen=True, repr=False, kw_only=True)
class SurvivalEvaluation(Shown):
    """What `evaluate` found.

    Attributes
    ----------
    data : Survival
        What was evaluated; its pictures are drawn from it.
    n, events : int
        Rows, and rows with an event.
    test : TestResult
        The test and its members.
    bets : Bets or None
        Evidence that needs nothing of the censoring; None with weights or clusters.
    expected : float
        Events that the predictions expect, the sum of cumulative hazards up to the observed times.
    ratio, low, high : float
        Events seen over expected, and its interval (of a Poisson number).
    d_calibration : tuple of float, or None
        Value, mean under calibration and p-value from the draws of the test.
    concordance : float or None
        Harrell's, of the predicted risk.
    concordance_calibrated : Calibrated or None
        What redrawn outcomes have of it.
    null : str
        The law under calibration, ``redraw`` or ``flips``.
    horizons : tuple of Horizon
        The model at some times.
    groups : tuple of SurvivalGroup
        Every group by itself; empty where none were given.
    confidence_level, alpha : float
        Coverage of the intervals, and the level at which the verdict rejects.
    notes : tuple of str
        What the reader must know.
    seconds : float
        Time taken.

    Examples
    --------
    >>> import kernelcal as kc
    >>> law = kc.predictions.Weibull([10.0] * 20, [1.0] * 20)
    >>> found = kc.survival.evaluate(([1.0, 5.0, 9.0, 14.0] * 5, [True, True, False, True] * 5), law, draws=99)
    >>> found.n, found.events, round(found.expected, 1)
    (20, 15, 14.5)
    """

    data: Survival
    n: int
    events: int
    test: TestResult
    bets: Bets | None
    expected: float
    ratio: float
    low: float
    high: float
    d_calibration: tuple[float, float, float] | None
    concordance: float | None
    concordance_calibrated: Calibrated | None
    null: str
    horizons: tuple[Horizon, ...]
    groups: tuple[SurvivalGroup, ...] = ()
    notes: tuple[str, ...] = ()
    confidence_level: float
    alpha: float
    seconds: float

    @property
    def pvalue(self) -> float:
        """P-value of the test."""
        return self.test.pvalue

    @property
    def rejected(self) -> bool:
        """Whether the test rejects at the level `alpha`."""
        return self.pvalue <= self.alpha

    @property
    def verdict(self) -> str:
        """One sentence."""
        p = f"p = {self.pvalue:.3g}"
        if not self.rejected:
            few = "; with so few events only gross miscalibration would show" if self.events < 50 else ""
            return f"No evidence against calibration ({p}){few}."
        words = "; ".join(self.test.directions)
        return f"Calibration is rejected ({p})" + (f": {words}." if words else ".")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        names = ("n", "events", "expected", "ratio", "low", "high", "concordance", "confidence_level", "alpha")
        plain = {name: finite_or_none(getattr(self, name)) for name in names}
        deciles = self.d_calibration
        more = None if deciles is None else dict(zip(("value", "calibrated", "pvalue"), deciles, strict=True))
        end = {"pvalue": self.pvalue, "verdict": self.verdict, "seconds": self.seconds, "notes": list(self.notes)}
        parts = {"test": self.test.to_dict(), "bets": None if self.bets is None else self.bets.plain()}
        horizons = [one.plain() for one in self.horizons]
        groups = {"groups": [one.plain() for one in self.groups]} if self.groups else {}
        plain["ratio_calibrated"] = 1.0
        ranked = self.concordance_calibrated
        plain["concordance_calibrated"] = None if ranked is None else ranked.plain()
        return {**plain, "d_calibration": more, "horizons": horizons, **groups, **parts, **end}

    def plot(self, ax: Any = None) -> Any:
        """Draw the Cox-Snell residuals: their cumulative hazard is the diagonal for calibrated predictions.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return residual_plot(self.data, self.confidence_level, self.pvalue, ax)

    def plot_horizon(self, time: float | None = None, ax: Any = None) -> Any:
        """Draw observed against predicted risk at a horizon in groups of equal size; default the last of the table.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if time is None:
            time = self.horizons[-1].time
        (time,) = _checked_horizons([time])
        return horizon_plot(self.data, float(time), self.confidence_level, ax)

    def _tables(self) -> Sequence[Table | Grid]:
        return (self._table(), *self.by_horizon, *self.by_group)

    @property
    def by_horizon(self) -> tuple[Grid, ...]:
        """Tables of events and of Brier scores up to some times."""
        return (self._grid(), self._scores()) if self.horizons else ()

    @property
    def by_group(self) -> tuple[Grid, ...]:
        """Table of the groups; none where none were given."""
        return (self._of_groups(),) if self.groups else ()

    def _table(self) -> Table:
        censored = 1 - self.events / self.n
        rows = [
            ("rows", f"{self.n:,}, {self.events:,} with an event ({100 * censored:.0f} % censored)"),
            (
                "events seen / expected",
                f"{self.ratio:.3f} [{self.low:.3f}, {self.high:.3f}], 1 if calibrated; {self.expected:,.4g} expected",
            ),
        ]
        deciles, ranked = self.why_none
        if self.d_calibration is not None:
            value, mean, p = self.d_calibration
            deciles = f"{value:.2f}, {mean:.2f} if calibrated, p {p:.3g}"
        if self.concordance is not None:
            ranked = f"{self.concordance:.4f}{_beside(self.concordance_calibrated)}"
        rows += [("D-calibration", deciles), ("concordance", ranked)]
        rows.append(("test", f"p {self.pvalue:.3g}, {self.test.null}"))
        rows += [(f"  {one.name}", f"p {one.pvalue:.3g}") for one in self.test.members]
        if self.bets is not None:
            rows.append(
                (
                    "bets, any independent censoring",
                    f"p {self.bets.pvalue:.3g}, e-value {self.bets.e_value:.3g} (mean at most 1 if calibrated)",
                )
            )
        return Table("Survival", [*rows, ("verdict", self.verdict)], (*self.notes, self.about_figures))

    @property
    def why_none(self) -> tuple[str, str]:
        """Why there is no D-calibration and no concordance, where there is none."""
        weighted = self.data.weights is not None
        which = "with case weights" if weighted else "where signs are flipped"
        which = which if self.data.clusters is None else "with dependent rows"
        pairs = "no row with an event was watched less long than another"
        ranked = "pairs of weighted rows have no one weight" if weighted else pairs
        return f"none: its law {which} is not known", f"none: {ranked}"

    @property
    def about_figures(self) -> str:
        """Where the means under calibration come from, and why some figures have no interval."""
        drawn = 0 if not self.horizons else self.horizons[0].brier_calibrated.draws
        drawn = drawn if self.concordance_calibrated is None else self.concordance_calibrated.draws
        none = "no interval of concordance, D-calibration and Brier scores was proved; "
        if self.data.clusters is not None:
            return f"{none}if calibrated: means of {drawn:,} redraws row by row, whose spread clusters change"
        return (
            f"{none}if calibrated: mean of {drawn:,} redraws, where {100 * self.confidence_level:g} % of them lie, and "
            "p of each by itself"
        )

    def _grid(self) -> Grid:
        level = f"{100 * self.confidence_level:g} %"
        header = ("time", "predicted, and\nif calibrated", "observed", level, "p")
        rows = [
            (
                f"{h.time:g}",
                f"{h.predicted:.4f}",
                _shown(h.observed),
                "-" if np.isnan(h.low) else f"[{h.low:.4f}, {h.high:.4f}]",
                f"{h.pvalue:.3g}",
            )
            for h in self.horizons
        ]
        notes = () if self.events == self.n else (_ALIKE,)
        return Grid("Events up to some times", header, rows, notes)

    def _scores(self) -> Grid:
        level = f"{100 * self.confidence_level:g} %"
        header = ("time", "Brier\nscore", "if\ncalibrated", level, "p", "of\nKaplan-Meier", "if\ncalibrated")
        rows = [
            (
                f"{h.time:g}",
                _shown(h.brier),
                *_of_redraws(h.brier_calibrated),
                _shown(h.reference),
                _shown(h.reference_calibrated.mean),
            )
            for h in self.horizons
        ]
        return Grid("Brier scores up to these times", header, rows)

    def _of_groups(self) -> Grid:
        level = f"{100 * self.confidence_level:g} %"
        header = ("group", "rows", "events", "expected", "seen /\nexpected", level, "p,\ncorrected")
        rows = [
            (
                f"{one.column}: {one.name}",
                f"{one.n:,}",
                f"{one.events:,}",
                f"{one.expected:,.4g}",
                *(("-",) * 3 if np.isnan(one.pvalue) else _of_group(one)),
            )
            for one in self.groups
        ]
        return Grid("Groups", header, rows, ("calibrated predictions have 1 event seen for 1 expected in every group",))


def _beside(found: Calibrated | None) -> str:
    """What redraws have, in words behind the value."""
    if found is None or np.isnan(found.mean):
        return ""
    mean, ends, p = _of_redraws(found)
    return f", {mean} if calibrated" + ("" if ends == "-" else f" {ends}, p {p}")


def _of_redraws(found: Calibrated) -> tuple[str, str, str]:
    """Mean, where redraws lie, and the p-value."""
    ends = "-" if np.isnan(found.low) else f"[{found.low:.4f}, {found.high:.4f}]"
    return _shown(found.mean), ends, "-" if np.isnan(found.pvalue) else f"{found.pvalue:.2g}"


def _of_group(one: SurvivalGroup) -> tuple[str, str, str]:
    return f"{one.ratio:.3f}", f"[{one.low:.3f}, {one.high:.3f}]", f"{one.pvalue:.3g}"


def _shown(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"


def evaluate(
    y: Any,
    law: Any,
    *,
    censoring_time: Any = None,
    horizons: Sequence[float] | None = None,
    null: str | None = None,
    weights: Any = None,
    clusters: Any = None,
    groups: Any = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS,
    rng: Any = 0,
    progress: Callable[[int, int], None] | None = None,
) -> SurvivalEvaluation:
    r"""Are predicted times to an event calibrated, how far off, when, and for whom?

    Parameters
    ----------
    y : pair (time, event), or structured array
        Times of events or up to which there had been none, and whether the event was seen; as scikit-survival has them
        in one array too.
    law : as for `Survival`
        Predictions: a family of positive numbers, `SurvivalCurves`, or what lifelines and scikit-survival return.
    censoring_time : array of shape (n,), optional
        When every row would have been censored at the latest, where that is known of all: the test is then exact.
    horizons : sequence of float, optional
        Times at which predicted and observed risk are compared; they must not be chosen by looking at the outcomes.
        Default: when a quarter, a half and three quarters of the expected events should have come.
    null : {"redraw", "flips"}, optional
        Law under calibration: times that are redrawn, or signs of residuals that are flipped; default the first, and
        with clusters the second.
    weights, clusters : array of shape (n,), optional
        Case weights; labels of rows that may depend on each other.
    groups : array of shape (n,), mapping of names to columns, or data frame, optional
        Groups of rows, each tested and measured by itself; p-values are corrected for their number.
    confidence_level, alpha, draws, rng, progress
        As for `kernelcal.evaluate`.

    Returns
    -------
    SurvivalEvaluation
        Prints as a table; ``plot()`` and ``plot_horizon(time)`` draw it.

    Raises
    ------
    InputError
        With the row and the remedy.

    Notes
    -----
    The residual of a row is the martingale ``M(t) = N(t) - Lambda(t)``: whether the event has come less the hazard
    that was predicted while the row was watched. Statistics are sums over pairs of rows of
    :math:`k(P_i, P_j) \iint k_Y\, dM_i\, dM_j`, with :math:`k_Y` of four Legendre polynomials of ``u = F(t)``
    (weights 1, 1/2, 1/4, 1/8), with and without a kernel between predictions; the smallest of their p-values is ranked
    among those of the draws.

    What is exact: with `censoring_time`, and where nothing can be censored, times are redrawn from the predictions and
    censored as they would have been, and the p-value is exact. Otherwise censoring times of rows with an event are
    drawn from the Kaplan-Meier law of censoring beyond the event. Were that law known, this would be exact; it is
    estimated, and the level is measured (``docs/howto/survival``). ``bets`` is valid whatever independent censoring
    there was. All take censoring as independent of the event given the prediction.

    Beside concordance and Brier scores stand those of the first redraws of the test, 200 of up to 5,000 rows and fewer
    of more, 39 at least: their mean, where they lie, and the p-value of the figure by itself, exact where the test is.
    With clusters rows are redrawn one by one for the mean alone; where signs are flipped, redraws are made for these.

    Cost: draws times n times about 50 numbers; 999 draws of 100,000 rows take about a minute, and the figures beside
    redraws some ten seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.predictions import Gamma
    >>> from kernelcal.survival import evaluate
    >>> rng = np.random.default_rng(0)
    >>> law = Gamma(2.0, rng.uniform(0.5, 2.0, 300))
    >>> times, ends = law.sample(rng=1)[0], rng.uniform(0.0, 5.0, 300)
    >>> found = evaluate((np.minimum(times, ends), times <= ends), law, censoring_time=ends, draws=199)
    >>> found.verdict
    'No evidence against calibration (p = ...).'
    """
    run = Run(confidence_level=confidence_level, alpha=alpha, draws=draws, rng=rng, progress=progress)
    time, event = outcomes_of(y)
    seen = Survival(law, time, event, censoring_time, weights, clusters)
    return evaluated_survival(seen, run, null=null, horizons=_checked_horizons(horizons), groups=groups)


def evaluated_survival(
    seen: Survival, run: Run, *, null: str | None = None, horizons: tuple[float, ...] = (), groups: Any = None
) -> SurvivalEvaluation:
    """Evaluate checked data."""
    started = perf_counter()
    if len(seen) < 2:
        raise InputError(f"survival needs 2 rows or more, better 50 with an event, got {len(seen)}")
    if not seen.hazard.any():
        ruled_out = f", though {int(seen.event.sum()):,} events were seen" if seen.event.any() else ""
        raise InputError(
            f"survival needs at least 2 rows with a predicted risk while they were watched; the predicted hazard of "
            f"{len(seen):,} rows is 0{ruled_out}: look at times and predictions"
        )
    late = [t for t in horizons if t > seen.end]
    if late:
        raise InputError(f"nothing is predicted after {seen.end:g}, and horizons ask for {late[0]:g}: leave it out")
    run = run.shared()
    tested = asked_survival(seen, run, null, horizons, keep=kept_redraws(len(seen)))
    apart, cut = groups_of(seen, groups, run, null)
    own = np.ones(len(seen)) if seen.weights is None else seen.weights
    count, expected = float(own @ seen.event), float(own @ seen.hazard)
    low, high = poisson_interval(seen.event, own, run.confidence_level)
    plain = seen.weights is None and seen.clusters is None
    redrawn = tested.redraws[1]
    times = redrawn_times(seen, tested.redraws[0], redrawn, tested.censoring)
    ranked, about = calibrated_concordance(seen, times, redrawn, run)
    found = SurvivalEvaluation(
        data=seen,
        n=len(seen),
        events=int(seen.event.sum()),
        test=tested.test,
        bets=bets(seen.hazard, seen.event, tested.ranks) if plain else None,
        expected=expected,
        ratio=count / expected,
        low=low / expected,
        high=high / expected,
        d_calibration=tested.d_calibration,
        concordance=ranked,
        concordance_calibrated=about,
        null=tested.null,
        horizons=at_horizons(seen, tested, times, run),
        groups=apart,
        notes=(*tested.test.notes, *_unwatched(seen, tested.horizons), *cut),
        confidence_level=run.confidence_level,
        alpha=run.alpha,
        seconds=0.0,
    )
    return replace(found, seconds=perf_counter() - started)


def _checked_horizons(horizons: Any) -> tuple[float, ...]:
    if horizons is None:
        return ()
    try:
        found = tuple(float(t) for t in np.ravel(horizons))
    except (TypeError, ValueError):
        found = ()
    if not found or not all(np.isfinite(t) and t > 0 for t in found):
        raise InputError(f"horizons must be positive times such as (1, 5), got {horizons!r}")
    return found


def _unwatched(seen: Survival, horizons: tuple[float, ...]) -> tuple[str, ...]:
    last = float(seen.time.max())
    late = [f"{t:g}" for t in horizons if t > last]
    said = f"no row was watched longer than {last:g}: what happens up to {', '.join(late)} was not seen"
    return (f"{said}, and p compares what was seen until then",) if late else ()
