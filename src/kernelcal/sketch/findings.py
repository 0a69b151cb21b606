"""From sums over rows to estimate, interval, tests, scores and binned errors."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kernelcal.binning import Bins, UniformBins
from kernelcal.errors import InputError
from kernelcal.evaluation import Evaluation, plain_number
from kernelcal.inference import (
    INTERVAL_METHODS,
    ChiSquareSum,
    DrawnValues,
    Exact,
    Interval,
    Member,
    Saddlepoint,
    TestResult,
)
from kernelcal.inference.intervals import Surprises, hoeffding, label_law_of_sums, root_spread
from kernelcal.inference.laws import far_note
from kernelcal.pairs import off_diagonal, row_sums
from kernelcal.predictions import Bernoulli, Categorical
from kernelcal.residuals import ClassResidual
from kernelcal.runs import Run
from kernelcal.sketch.directions import directions_of
from kernelcal.sketch.scores import Arrays, scores_of
from kernelcal.sketch.subject import Settings, Subject
from kernelcal.statistics import BinnedEstimate, BinTable, Estimate

__all__ = ["SketchResult", "findings"]


_NAMES = {
    "accuracy": "accuracy",
    "log_score": "log score",
    "brier_score": "Brier score",
    "negative_log_likelihood": "negative log-likelihood",
    "crps": "CRPS",
    "mean_squared_error": "mean squared error",
    "weighted_interval_score": "weighted interval score",
    "crps_interpolated": "CRPS, interpolated",
}
_SHORT = ("accuracy", "weighted_interval_score", "log_score", "negative_log_likelihood", "crps")


@dataclass(frozen=True, repr=False, kw_only=True)
class SketchResult(Evaluation):
    """What a `Sketch` found: size of the error, exact test, proper scores, binned errors.

    Attributes
    ----------
    known : TestResult or None
        Test by the known law of the SKCE given the predictions, without draws, for p-values that no number of draws
        reaches; None where the covariance is not held.
    family : str
        Family of the predictions.
    means : dict of str to float or None
        Mean scores by name; None for a score that the family does not have.
    eces : tuple of BinnedEstimate
        Expected calibration errors with their bins.

    Notes
    -----
    Where the verdict rejects it tells directions, as `evaluate` does: from sums over rows, of which each is compared
    with 0 by the larger one of its standard errors, that of calibrated outcomes and that of the observed rows, all of
    them together at the level ``alpha`` by the normal law. Outcomes that had been ruled out are proof: the p-value is
    then 1 / (B + 1), since no draw has any.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> sketch = kc.Sketch(kc.Gaussian(0.5), engine=kc.RandomFourier(16), draws=19)
    >>> _ = sketch.update(y, p)
    >>> result = sketch.result()
    >>> result.n, result.pvalue
    (60, 0.05)
    """

    title: ClassVar[str] = "Calibration, from one pass"
    known: TestResult | None
    family: str
    means: dict[str, float | None]
    eces: tuple[BinnedEstimate, ...]

    def scores(self) -> dict[str, Any]:
        """Return scores as plain values for JSON; numbers that are not finite become None."""
        means = {name: plain_number(value) for name, value in self.means.items()}
        known = None if self.known is None else self.known.to_dict()
        return {"family": self.family, **means, "ece": [e.to_dict() for e in self.eces], "known_law_test": known}

    def headline(self) -> list[tuple[str, str]]:
        """Return scores and the first binned error."""
        shown = [(self._named(name), f"{self.means[name]:.4f}") for name in _SHORT if self.means.get(name) is not None]
        return [*shown, *((f"{e.name}, {e.options['bins']}", f"{float(e):.4f}") for e in self.eces[:1])]

    def score_rows(self) -> list[tuple[str, str]]:
        """Return names and values of the scores for the table."""
        means = [(self._named(name), f"{value:.4f}") for name, value in self.means.items() if value is not None]
        binned = [(f"{e.name}, {e.options['bins']}", f"{float(e):.4f}") for e in self.eces]
        known = [] if self.known is None else [("p-value, known law", f"{self.known.pvalue:.4g}")]
        asked = [("question", self.question)] if self.question else []
        shares = self._shares() if self.family == Bernoulli.__name__ else []
        return [("rows", f"{self.n:,}"), ("predictions", self.family), *asked, *shares, *means, *binned, *known]

    def _named(self, score: str) -> str:
        """Name of a score; what the accuracy of one probability counts, as `ClassEvaluation` says it."""
        if score == "accuracy" and self.question == "top label":
            return "share right"
        one = score == "accuracy" and self.family == Bernoulli.__name__
        return "accuracy, threshold 1/2" if one else _NAMES.get(score, score)

    def _shares(self) -> list[tuple[str, str]]:
        """What happened and what was said on average, of one probability."""
        table, sure = self.eces[0].tables[0], self.question == "top label"
        happened, said = (float(sums.sum()) / self.n for sums in (table.label_sums, table.prediction_sums))
        shares = [] if sure else [("share of events", f"{happened:.4f}")]
        return [*shares, ("mean confidence" if sure else "mean probability", f"{said:.4f}")]


_FEW_ROWS = 50
_FEW = "the known law is that of many rows: with so few, take the exact p-value"
_SMALLEST = float(np.finfo(np.float64).tiny)
_NO_MOMENTS = (
    "there is no interval and no p-value by the known law: they need matrices of second moments, which are held for "
    "classes while features times classes are at most 1,500, and not with second_moments=False"
)


def findings(sums: Arrays, settings: Settings, subject: Subject, run: Run, notes: tuple[str, ...]) -> SketchResult:
    """Everything that the sums tell."""
    started = time.perf_counter()
    n = int(sums["n"])
    if n < 2:
        raise InputError(f"a sketch needs at least 2 rows, got {n}: call update(y, predictions) first")
    pairs = off_diagonal(sums).off_diagonal
    estimate = _estimate(float(pairs[0]) / (n * (n - 1.0)), n, settings, subject)
    ruled_out = int(sums["impossible"]), "label" if subject.of_classes else "target"
    test = replace(_exact(pairs, estimate, run.alpha, *ruled_out), seed=int(settings.rng))
    if test.rejected:
        test = replace(test, directions=directions_of(sums, subject, run.alpha))
    known = _known(sums["covariance"], float(pairs[0]), estimate, run.alpha) if subject.second_moments else None
    bounded = subject.second_moments and n > 3
    return SketchResult(
        n=n,
        estimate=estimate,
        interval=_interval(sums, estimate, test.pvalue, run.confidence_level, settings, subject) if bounded else None,
        test=test,
        known=known,
        question=subject.question,
        family=subject.family,
        means={name: _mean(sums[name], n) for name in scores_of(subject)},
        eces=tuple(_ece(sums[f"bins {k}"], *names, n, settings) for k, names in enumerate(subject.binned)),
        notes=(*_notes(sums, subject), *(() if known is None else known.notes), *notes),
        alpha=run.alpha,
        seconds=time.perf_counter() - started,
    )


def _estimate(value: float, n: int, settings: Settings, subject: Subject) -> Estimate:
    options = {"prediction_kernel": settings.prediction_kernel, "target_kernel": subject.target_kernel}
    engine = f"one pass, random Fourier features, {settings.engine.frequencies} frequencies"
    return Estimate(np.float64(value), "SKCE", "unbiased", n, engine, options)


def _exact(pairs: np.ndarray, estimate: Estimate, alpha: float, impossible: int, what: str) -> TestResult:
    """Rank the observed value among the drawn ones; outcomes that were ruled out are more than any draw has."""
    drawn = DrawnValues.of(pairs[:, None])
    outcome = drawn.outcome((estimate.name,))
    test = _test(estimate, outcome.pvalue, outcome.members[0].deviation, Exact.label, alpha, draws=drawn.draws)
    test = replace(test, null_draws={estimate.name: pairs[1:] / (estimate.n * (estimate.n - 1.0))})
    if not impossible:
        return test
    proof = Member(f"impossible {what}", float(impossible), 1 / (drawn.draws + 1), float("nan"))
    error = math.sqrt(proof.pvalue * (1 - proof.pvalue) / (drawn.draws + 1))
    fired = proof.name if proof.pvalue <= alpha else ""
    members = (*test.members, proof)
    return replace(test, pvalue=proof.pvalue, monte_carlo_error=error, members=members, fired=fired)


def _known(covariance: np.ndarray, value: float, estimate: Estimate, alpha: float) -> TestResult | None:
    """P-value by ``sum_k l_k (Z_k^2 - 1)``, the l_k eigenvalues of the known covariance of S."""
    eigenvalues = np.linalg.eigvalsh(covariance)
    eigenvalues = eigenvalues[eigenvalues > 1e-12 * eigenvalues[-1]]
    if not len(eigenvalues) or eigenvalues[-1] <= 0:
        return None
    law = ChiSquareSum(eigenvalues, -float(eigenvalues.sum()))
    pvalue = min(max(law.tail(value), _SMALLEST), 1.0)
    notes = (*far_note(pvalue), *((_FEW,) if estimate.n < _FEW_ROWS else ()))
    return _test(estimate, pvalue, law.standardised(value), Saddlepoint.label, alpha, notes=notes)


def _test(
    estimate: Estimate,
    pvalue: float,
    deviation: float,
    null: str,
    alpha: float,
    *,
    draws: int = 0,
    notes: tuple[str, ...] = (),
) -> TestResult:
    value = float(estimate)
    return TestResult(
        statistic=value,
        pvalue=pvalue,
        null=null,
        draws=draws,
        stopped_early=False,
        monte_carlo_error=math.sqrt(pvalue * (1 - pvalue) / (draws + 1)) if draws else 0.0,
        members=(Member(estimate.name, value, pvalue, deviation),),
        fired=estimate.name if pvalue <= alpha else "",
        directions=(),
        impossible_rows=(),
        n=estimate.n,
        engine=estimate.engine,
        notes=notes,
        alpha=alpha,
        draws_asked=draws,
    )


def _surprises(sums: Arrays, settings: Settings, subject: Subject, total: float, squares: float) -> Surprises:
    """Sums with pseudo-surprises: those of h exactly but for pairs of a pseudo-row with itself, those of h^2 bounded.

    Which pseudo-rows are near each other is not held: their kernel is taken as its bound.
    """
    n, m = int(sums["n"]), subject.columns
    law = label_law_of_sums(sums["surprised"], sums["expected"], n)
    probe = Bernoulli(np.array([0.5])) if subject.family == "Bernoulli" else Categorical(np.full((1, m), 1 / m))
    features = ClassResidual.of(probe, subject.target_kernel).label_features
    centre, most = features.mean(law.labels), settings.prediction_kernel.bound()
    pseudo = np.kron(centre, sums["features"]) - sums["means"]
    sizes = float(law.labels @ features.sizes)
    lengths = n * sizes - 2 * float(centre @ features.mean(sums["expected"])) + float(sums["lengths"])
    both, norms = (most * lengths) ** 2, most * float(sums["diagonal"][0])
    mixed = min(most * lengths * norms, math.sqrt(max(squares * both, 0.0)))
    linear, square = float(pseudo @ sums["totals"][:, 0].ravel()), float(pseudo @ pseudo)
    return Surprises(n, n, law.each, total, squares, linear, square, 0.0, mixed, both)


def _interval(
    sums: Arrays, estimate: Estimate, pvalue: float, level: float, settings: Settings, subject: Subject
) -> Interval:
    """Interval of the root; its lower end is 0 unless the exact test rejects, as in `confidence_interval`."""
    observed, n = sums["totals"][:, 0].ravel(), estimate.n
    rows, squares = row_sums(sums, observed)
    total = float(estimate) * n * (n - 1.0)
    surprises = _surprises(sums, settings, subject, total, squares)
    lower, upper = root_spread(float(estimate), *hoeffding(n, total, rows, squares), surprises).ends(level)
    kept = pvalue <= 1 - level
    notes = () if kept else (f"the lower end is 0: the exact test does not reject (p = {pvalue:.3g})",)
    return Interval(
        float(estimate),
        max(lower, 0.0) if kept else 0.0,
        max(upper, 0.0),
        level,
        INTERVAL_METHODS["root"].label,
        n,
        notes,
    )


def _mean(total: np.ndarray, n: int) -> float | None:
    value = float(total) / n
    return None if math.isnan(value) else value


def _ece(bins: np.ndarray, name: str, question: str, n: int, settings: Settings) -> BinnedEstimate:
    """Binned error from rows, sums of probabilities and sums of events: ``sum_b |sum p - sum event| / n``."""
    weight, predicted, events = bins
    value = float(np.abs(events - predicted).sum()) / n
    binning = UniformBins(settings.bins)
    edges = binning.assign(np.zeros((1, 1)))
    own = Bins(np.zeros(0, dtype=np.int64), settings.bins, edges.lower, edges.upper)
    table = BinTable(question, own, weight, predicted[:, None], events[:, None])
    options: dict[str, Any] = {"question": name.removeprefix("ECE, "), "bins": str(binning)}
    options["distance"] = "total variation"
    return BinnedEstimate(
        value=value,
        name=name,
        estimator="binned",
        n=n,
        engine="one pass",
        options=options,
        tables=(table,),
        parts=(value,),
    )


def _notes(sums: Arrays, subject: Subject) -> tuple[str, ...]:
    notes = []
    impossible = int(sums["impossible"])
    if impossible:
        rows = "1 row has a target" if impossible == 1 else f"{impossible:,} rows have targets"
        notes.append(f"{rows} that the prediction had ruled out: this proves miscalibration by itself")
    if not subject.second_moments:
        notes.append(_NO_MOMENTS)
    return tuple(notes)
