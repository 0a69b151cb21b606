"""The table that journals ask for, of a model that predicts one risk, and its calibration curve with a band."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, SIGNIFICANCE
from kernelcal.inference import band_draws
from kernelcal.measures.base import Measure, positive_probabilities
from kernelcal.measures.clinical.curve import E50, E90, ICI, CurveFits
from kernelcal.measures.clinical.logistic import CalibrationIntercept, CalibrationSlope, ObservedExpected
from kernelcal.measures.clinical.ranking import AUROC
from kernelcal.measures.clinical.scores import Brier, HosmerLemeshow, NetBenefit, ScaledBrier
from kernelcal.measures.main import measured
from kernelcal.measures.result import Measured
from kernelcal.runs import Run
from kernelcal.tables import Grid, Shown, Table

__all__ = [
    "CalibrationCurve",
    "ClinicalTable",
    "calibration_curve",
    "calibration_curve_of",
    "clinical_measures",
    "clinical_table",
    "clinical_table_of",
]

_FEW = 50  # events, below which only gross errors show
_REMEDY = "kernelcal recalibrate corrects them by other patients."
_PLACES = 100
_NUMBERS = 2**22  # outcomes that are drawn at once


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCurve(Shown):
    """Isotonic calibration curve (CORP), and where curves of calibrated predictions lie.

    Attributes
    ----------
    predictions, curve : numpy.ndarray of shape (m,)
        Places: different predictions, of more than 100 as many at even shares of rows; and the curve there.
    low, high : numpy.ndarray of shape (m,)
        Ends of the band in which a calibrated model's whole curve lies as often as `confidence_level` says; NaN where
        rows that depend on each other cannot be redrawn.
    pvalue : float
        Exact p-value of the place that is furthest out; NaN without a band.
    confidence_level : float
        Of the band.
    n, draws : int
        Rows, and curves that the band rests on.
    note : str
        Why there is no band, where there is none.

    Examples
    --------
    >>> from kernelcal.measures import calibration_curve
    >>> curve = calibration_curve([0, 1, 0, 1, 1, 1] * 5, [0.2, 0.4, 0.5, 0.6, 0.8, 0.9] * 5, draws=99)
    >>> curve.predictions, curve.curve
    (array([0.2, 0.4, 0.5, 0.6, 0.8, 0.9]), array([0. , 0.5, 0.5, 1. , 1. , 1. ]))
    >>> bool(curve.outside.any())
    False
    """

    predictions: np.ndarray
    curve: np.ndarray
    low: np.ndarray
    high: np.ndarray
    pvalue: float
    confidence_level: float
    n: int
    draws: int
    note: str = ""

    @property
    def outside(self) -> np.ndarray:
        """Places where the curve leaves the band."""
        return np.asarray((self.curve < self.low) | (self.curve > self.high))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        arrays = {name: getattr(self, name).tolist() for name in ("predictions", "curve")}
        band = {name: None if self.note else getattr(self, name).tolist() for name in ("low", "high")}
        p = None if self.note else self.pvalue
        own = {"confidence_level": self.confidence_level, "n": self.n, "draws": self.draws, "note": self.note or None}
        return {**arrays, **band, "pvalue": p, **own}

    def plot(self, ax: Any = None) -> Any:
        """Draw curve and band.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from kernelcal.plots import calibration_plot

        return calibration_plot(
            self.predictions,
            self.curve,
            band=None if self.note else (self.low, self.high),
            outside=None if self.note else self.outside,
            confidence_level=self.confidence_level,
            title=f"Calibration curve of {self.n:,} rows",
            subtitle=self.note or f"isotonic (CORP), p = {self.pvalue:.3g}",
            ax=ax,
        )

    def _table(self) -> Table:
        shown = np.unique(np.linspace(0, len(self.curve) - 1, 6).astype(int))
        rows = [("places", f"{len(self.curve)}, predictions {self.predictions[0]:.3g} to {self.predictions[-1]:.3g}")]
        for k in shown:
            band = "" if self.note else f", calibrated {self.low[k]:.3f} to {self.high[k]:.3f}"
            rows.append((f"at {self.predictions[k]:.3g}", f"{self.curve[k]:.3f}{band}"))
        if not self.note:
            rows.append(("outside of the band", f"{int(self.outside.sum())} of {len(self.curve)} places"))
            rows.append(("p-value", f"{self.pvalue:.3g}"))
        return Table("Calibration curve", rows, (self.note,) if self.note else ())


def calibration_curve(
    y: Any,
    predictions: Any,
    *,
    weights: Any = None,
    lens: Any = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
    classes: Any = None,
    normalize: bool = False,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> CalibrationCurve:
    """Isotonic calibration curve of one probability, with the band in which curves of calibrated models lie.

    Parameters
    ----------
    y, predictions, weights, lens, classes, normalize, clusters, time, horizon, series
        As for `measures.measure`; predictions are one probability a row.
    confidence_level : float
        Of the band.
    draws : int
        Curves of redrawn outcomes, at least ``1 / (1 - confidence_level) - 1``.
    rng : int, numpy.random.Generator or None
        Seed (SPEC 7).

    Returns
    -------
    CalibrationCurve

    Notes
    -----
    Outcomes are redrawn from the predictions. At every place curves are measured by their distance from the mean of
    all, observed and drawn, in units of the distance of their quantile there, on either side; a curve is as extreme as
    its largest distance. These are exchangeable under calibration, so that the observed curve leaves the band, which
    ``(1 - confidence_level) (draws + 1)`` of the drawn curves leave, with at most this probability at every n. It is a
    band of calibrated models, not of the curve: a global envelope test.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams; Myllymaki, Mrkvicka, Grabarnik, Seijo, Hahn
    (2017), Global envelope tests for spatial processes.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.05, 0.6, 400)
    >>> found = kc.measures.calibration_curve(rng.random(400) < p**2, p)
    >>> found.pvalue, bool(found.outside.any())
    (0.001, True)
    """
    run = Run(confidence_level=confidence_level, draws=draws, rng=rng)
    _ = run.outside  # refuses too few draws
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    case = Case.of(y, predictions, weights=weights, lens=lens, classes=classes, normalize=normalize, **rows)
    return calibration_curve_of(case.in_numpy, run)


def calibration_curve_of(case: Case, run: Run) -> CalibrationCurve:
    """Curve and band of what was checked already, in NumPy."""
    ICI().refuse(case.predictions)
    p = positive_probabilities(case.predictions)
    fits = CurveFits(p, case.weights)
    places = np.arange(len(fits.values))
    if len(places) > _PLACES:
        ordered = np.sort(fits.index)
        places = np.unique(ordered[np.linspace(0, len(p) - 1, _PLACES).round().astype(int)])
    observed = fits(np.asarray(case.targets, dtype=np.float64)[None])[:, places]
    source, why = band_draws(case, run, "draws of a calibration curve")
    shape = {"predictions": fits.values[places], "curve": observed[0], "n": len(case)}
    if source is None:
        none = np.full(len(places), np.nan)
        words = {"confidence_level": run.confidence_level, "draws": 0, "note": f"no band: {why}"}
        return CalibrationCurve(**shape, low=none, high=none, pvalue=np.nan, **words)  # type: ignore[arg-type]
    curves, step = [observed], max(1, _NUMBERS // len(case))
    for start in range(0, run.draws, step):
        drawn = source.targets(case.predictions, start, min(start + step, run.draws))
        curves.append(fits(drawn)[:, places])
    low, high, pvalue = _envelope(np.concatenate(curves), run.outside, run.confidence_level)
    more = {"confidence_level": run.confidence_level, "draws": run.draws}
    return CalibrationCurve(**shape, low=low, high=high, pvalue=pvalue, **more)  # type: ignore[arg-type]


def _envelope(curves: np.ndarray, outside: int, level: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Ends of the band that leaves so many of the drawn curves outside, and the p-value of row 0, the observed."""
    centre = curves.mean(axis=0)
    down, up = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    floor = 1e-9 + 1e-3 * float((up - down).max())  # places where nearly all curves are the same
    below, above = np.maximum(centre - down, floor), np.maximum(up - centre, floor)
    away = curves - centre
    far = np.maximum(away / above, -away / below).max(axis=1)
    most = float(np.sort(far[1:])[-outside])
    low, high = np.maximum(centre - most * below, 0.0), np.minimum(centre + most * above, 1.0)
    return low, high, float((far >= far[0] * (1 - 1e-12)).mean())


def clinical_measures(threshold: float = 0.2) -> tuple[Measure, ...]:
    """Measures of the table, in its order."""
    calibration = (
        CalibrationIntercept(),
        CalibrationSlope(),
        ObservedExpected(),
        ICI(),
        E50(),
        E90(),
        HosmerLemeshow(),
    )
    return (*calibration, AUROC(), Brier(), ScaledBrier(), NetBenefit(threshold))


_ITEMS = (
    ("12e", "measures and plots of performance: the names in the first column, and the calibration curve"),
    ("21", "participants and events: the first lines"),
    ("23a", "performance with confidence intervals, for subgroups too: the columns, and --groups"),
    ("23b", "heterogeneity across clusters: --clusters for intervals and p-values, --groups for the table"),
)


@dataclass(frozen=True, eq=False, repr=False)
class ClinicalTable(Shown):
    """What journals ask of a prediction model: events, measures with intervals, subgroups, and the calibration curve.

    Attributes
    ----------
    measured : Measured
        Measures of all rows, and of groups.
    curve : CalibrationCurve
        The flexible calibration curve.
    events : float
        How many outcomes happened, weighted.
    expected : float
        How many were predicted.
    threshold : float
        Risk of the net benefit.
    alpha : float
        Level at which the verdict rejects.

    Examples
    --------
    >>> from kernelcal.measures import clinical_table
    >>> table = clinical_table([0, 1, 1, 0, 1, 0] * 5, [0.2, 0.7, 0.6, 0.4, 0.9, 0.3] * 5, draws=99)
    >>> table.events, round(table.expected, 1), table.threshold
    (15.0, 15.5, 0.2)
    """

    measured: Measured
    curve: CalibrationCurve
    events: float
    expected: float
    threshold: float
    alpha: float = SIGNIFICANCE

    @property
    def verdict(self) -> str:
        """Whether the risks can be believed by all measures together, and how they are wrong."""
        p = self.measured.pvalue
        if np.isnan(p):
            return "Not tested: " + "; ".join(note for note in self.measured.notes if "too few" in note) + "."
        if p > self.alpha:
            fewer = min(self.events, self.measured.n - self.events)
            few = "; with so few of them, or of others, only gross errors would show" if fewer < _FEW else ""
            return f"No evidence that the risks are wrong (p = {p:.3g}, {self.events:,.4g} events){few}."
        words = []
        if self.measured["calibration intercept"].pvalue <= self.alpha:
            more = "more" if self.events > self.expected else "fewer"
            words.append(f"{more} events than predicted")
        slope = self.measured["calibration slope"]
        if slope.pvalue <= self.alpha:
            extreme = "too extreme" if slope.value < slope.expected else "not extreme enough"
            words.append(f"high and low risks {extreme} (slope {slope.value:.2f})")
        return f"The risks are wrong (p = {p:.3g}): {'; '.join(words) or 'see the calibration curve'}. {_REMEDY}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own: dict[str, Any] = {"events": self.events, "expected_events": self.expected, "threshold": self.threshold}
        own |= {"verdict": self.verdict}
        return {**self.measured.to_dict(), **own, "curve": self.curve.to_dict(), "tripod_ai": dict(_ITEMS)}

    def plot(self, ax: Any = None) -> Any:
        """Draw the calibration curve with its band; `measured.plot` draws the measures."""
        return self.curve.plot(ax)

    def _tables(self) -> tuple[Table | Grid, ...]:
        n = self.measured.n
        rows = [
            ("rows", f"{n:,}"),
            ("events", f"{self.events:,.6g} ({100 * self.events / n:.3g} %)"),
            ("predicted", f"{self.expected:,.1f} ({100 * self.expected / n:.3g} %)"),
            ("net benefit at", f"a risk of {100 * self.threshold:g} %"),
            ("verdict", self.verdict),
        ]
        items = tuple(f"TRIPOD+AI item {number}: {text}" for number, text in _ITEMS)
        return (Table("Clinical prediction model", rows, items), *self.measured.grids, *self.curve._tables())


def clinical_table(
    y: Any,
    predictions: Any,
    *,
    threshold: float = 0.2,
    weights: Any = None,
    lens: Any = None,
    groups: Any = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
    classes: Any = None,
    normalize: bool = False,
    progress: Callable[[int, int], None] | None = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> ClinicalTable:
    """Make the table that journals ask for, of a model that predicts one risk, on data that it was not fitted to.

    Calibration in the large, slope, observed to expected, ICI / E50 / E90 by the isotonic curve, Hosmer-Lemeshow,
    c-statistic, Brier score and its scaled form, net benefit; each with interval, mean under calibration and exact
    p-value, in subgroups too; and the calibration curve with a band.

    Parameters
    ----------
    y, predictions, weights, lens, groups, confidence_level, draws, rng, classes, normalize, progress, clusters, time, \
horizon, series
        As for `measures.measure`; predictions are one probability a row.
    threshold : float
        Risk from which on one treats, of the net benefit.

    Returns
    -------
    ClinicalTable

    References
    ----------
    Collins et al. (2024), TRIPOD+AI statement, whose items the table names; Van Calster, McLernon, van Smeden, Wynants,
    Steyerberg (2019), Calibration: the Achilles heel of predictive analytics.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.05, 0.6, 400)
    >>> found = kc.measures.clinical_table(rng.random(400) < p, p, draws=199)
    >>> found.measured["calibration slope"].pvalue > 0.05, found.curve.pvalue > 0.05
    (True, True)
    """
    run = Run(confidence_level=confidence_level, draws=draws, rng=rng, progress=progress)
    measures = clinical_measures(threshold)
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    case = Case.of(y, predictions, weights=weights, lens=lens, classes=classes, normalize=normalize, **rows)
    return clinical_table_of(case, measures, run, groups=groups)


def clinical_table_of(case: Case, measures: tuple[Measure, ...], run: Run, *, groups: Any = None) -> ClinicalTable:
    """Make the table of what was checked already."""
    case, run = case.in_numpy, run.shared()
    found = measured(case, measures, run, groups=groups)
    w = np.ones(len(case)) if case.weights is None else case.weights
    threshold = next(one.threshold for one in measures if isinstance(one, NetBenefit))
    expected = float(w @ positive_probabilities(case.predictions))
    curve = calibration_curve_of(case, replace(run, progress=None))
    return ClinicalTable(found, curve, float(w @ case.targets), expected, threshold, run.alpha)
