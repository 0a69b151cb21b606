"""Are predicted times to an event calibrated? One p-value of several questions, from redrawn outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference import Member, TestResult
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.survival.data import Survival
from kernelcal.survival.figures import d_calibration
from kernelcal.survival.members import NAMES, Members
from kernelcal.survival.redraws import censoring_of, features_of, flipped, redrawn
from kernelcal.survival.residuals import FUNCTIONS

__all__ = ["NULLS", "SurvivalTest", "asked_survival"]


NULLS = ("redraw", "flips")
_UNCENSORED = "times redrawn, exact if no row could have been censored (none was)"
_EXACT = "exact: times redrawn under the censoring times given"
_IMPUTED = "times redrawn under censoring times, those of events drawn from the Kaplan-Meier law of censoring"
_FLIPPED = "signs of the residuals flipped, one sign a {}"
_FEW_CLUSTERS = 6
_FEW_EVENTS = 10


@dataclass(frozen=True, eq=False)
class SurvivalTest:
    """The test, and what the same draws say of other statistics.

    Attributes
    ----------
    test : TestResult
        The test of all members together.
    by_time : tuple of float
        P-values of observed less expected events up to each horizon.
    d_calibration : tuple of float, or None
        Value of the statistic of D-calibration, its mean under calibration and its p-value; None where signs are
        flipped.
    horizons : tuple of float
        Times that were asked about.
    ranks : numpy.ndarray of shape (n,)
        Ranks of the predicted risk, from -1 to 1.
    null : str
        The law under calibration that was taken, ``redraw`` or ``flips``.
    redraws : pair of numpy.ndarray of shape (b, n)
        Cumulative hazards and events of redrawn outcomes that were kept.
    censoring : numpy.ndarray of shape (n,)
        Censoring times under which they were drawn.
    """

    test: TestResult
    by_time: tuple[float, ...]
    d_calibration: tuple[float, float, float] | None
    horizons: tuple[float, ...]
    ranks: np.ndarray
    null: str
    redraws: tuple[np.ndarray, np.ndarray]
    censoring: np.ndarray


def asked_survival(
    seen: Survival, run: Run, null: str | None = None, horizons: tuple[float, ...] = (), keep: int = 0
) -> SurvivalTest:
    """Test checked data; default null: redrawn times, and flipped signs of clusters where there are any.

    So many redraws are kept, for figures beside the test; where signs are flipped they are made for these alone.
    """
    null = _checked_null(seen, null)
    generator = generator_of(run.rng, "survival")
    censoring, known = censoring_of(seen, generator)
    members = Members.of(seen, known)
    horizons = horizons or _horizons(seen, known)
    limits = [seen.hazard_at(np.full(len(seen), t)) for t in horizons]
    observed = _residuals(seen.hazard, seen.event, seen.weights, limits)
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    if null == "redraw":
        batches = (
            (_residuals(h, e, seen.weights, limits), d_calibration(h, e))
            for h, e in _kept(redrawn(known, run.draws, generator), kept, keep)
        )
    else:
        batches = ((x, np.empty(0)) for x in flipped(observed, seen.clusters, run.draws, generator))
    values, signed, deciles, done = [], [], [], 0
    for residuals, chi in batches:
        values.append(members.values(residuals[..., :FUNCTIONS]))
        signed.append(_signed(residuals, members))
        deciles.append(chi)
        done += len(residuals)
        run.tell(done)
    own = members.values(observed[None, :, :FUNCTIONS])
    if null == "flips" and keep:
        kept.extend(redrawn(known, min(keep, run.draws), generator))
    all_values = np.concatenate([own, *values], axis=1)
    signs = np.concatenate([_signed(observed[None], members), *signed], axis=1)
    return SurvivalTest(
        _result(seen, run, null, all_values, signs, members.ranks),
        tuple(_two_sided(row) for row in signs[3:]),
        None if null != "redraw" or seen.weights is not None else _of_deciles(seen, np.concatenate(deciles)),
        tuple(horizons),
        members.ranks,
        null,
        _joined(kept, len(seen)),
        censoring,
    )


def _kept(
    batches: Iterator[tuple[np.ndarray, np.ndarray]], kept: list[tuple[np.ndarray, np.ndarray]], keep: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Hand on, and keep the first sets of outcomes."""
    left = keep
    for hazard, event in batches:
        if left > 0:
            kept.append((hazard[:left].copy(), event[:left].copy()))
            left -= len(hazard)
        yield hazard, event


def _joined(kept: list[tuple[np.ndarray, np.ndarray]], n: int) -> tuple[np.ndarray, np.ndarray]:
    if not kept:
        return np.empty((0, n)), np.empty((0, n), dtype=bool)
    return np.concatenate([h for h, _ in kept]), np.concatenate([e for _, e in kept])


def _checked_null(seen: Survival, null: str | None) -> str:
    if null is not None and null not in NULLS:
        raise InputError(f"null must be 'redraw' or 'flips', got {null!r}")
    if seen.clusters is None:
        return null or "redraw"
    if null == "redraw":
        raise InputError("times are redrawn row by row, and rows of one cluster depend on each other: use null='flips'")
    groups = int(seen.clusters.max()) + 1
    if groups < _FEW_CLUSTERS:
        raise InputError(
            f"{groups} clusters have {2 ** (groups - 1)} ways to flip signs: at least {_FEW_CLUSTERS} are needed"
        )
    return "flips"


def _residuals(
    hazard: np.ndarray, event: np.ndarray, weights: np.ndarray | None, limits: list[np.ndarray]
) -> np.ndarray:
    """Residual features, and beside them the residuals up to every horizon, shape (..., n, 4 + horizons)."""
    features = features_of(hazard, event, weights)
    own = 1.0 if weights is None else weights
    until = (_until(hazard, event, limit, own) for limit in limits)
    return np.concatenate([features, *until], axis=-1)


def _until(hazard: np.ndarray, event: np.ndarray, limit: np.ndarray, weights: np.ndarray | float) -> np.ndarray:
    counted = (np.asarray(event, dtype=bool) & (hazard <= limit)).astype(np.float64)
    return np.asarray((weights * (counted - np.minimum(hazard, limit)))[..., None])


def _signed(residuals: np.ndarray, members: Members) -> np.ndarray:
    """Sums with a sign, the last ones up to every horizon."""
    return np.array([*members.signed(residuals), *residuals[..., FUNCTIONS:].sum(axis=1).T])


def _two_sided(values: np.ndarray) -> float:
    """P-value of the first among all, by its size."""
    sizes = np.abs(values)
    return float(np.mean(sizes >= sizes[0] * (1 - 1e-12)))


def _result(
    seen: Survival, run: Run, null: str, values: np.ndarray, signs: np.ndarray, ranks_of_risk: np.ndarray
) -> TestResult:
    count = values.shape[1]
    ranks = np.array([_upper_shares(row) for row in values])
    smallest = np.sort(ranks, axis=0)  # of equal smallest ones the next decides
    joined = smallest[0] * (1 + count) + smallest[1]
    pvalue = float(np.mean(joined <= joined[0] * (1 + 1e-12)))
    drawn = values[:, 1:]
    spread = drawn.std(axis=1)
    deviations = np.where(spread > 0, (values[:, 0] - drawn.mean(axis=1)) / np.where(spread > 0, spread, 1.0), np.nan)
    found = tuple(
        Member(name, float(v), float(p), float(d))
        for name, v, p, d in zip(NAMES, values[:, 0], ranks[:, 0], deviations, strict=True)
    )
    rejected = pvalue <= run.alpha
    exact = seen.censoring_time is not None or bool(seen.event.all())
    if null == "flips":
        words = _FLIPPED.format("row" if seen.clusters is None else "cluster")
    else:
        words = _UNCENSORED if bool(seen.event.all()) else _EXACT if exact else _IMPUTED
    return TestResult(
        statistic=float(ranks[:, 0].min()),
        pvalue=pvalue,
        null=words,
        draws=count - 1,
        stopped_early=False,
        monte_carlo_error=math.sqrt(pvalue * (1 - pvalue) / count),
        members=found,
        fired=NAMES[int(np.argmin(ranks[:, 0]))] if rejected else "",
        directions=_directions(seen, signs, run.alpha, ranks_of_risk) if rejected else (),
        impossible_rows=(),
        n=len(seen),
        engine="features of at most 50 landmarks",
        notes=_notes(seen, null, exact),
        null_draws=dict(zip(NAMES, drawn, strict=True)) if drawn.size <= 250_000 else {},
        alpha=run.alpha,
        seed=run.named_seed,
        draws_asked=run.draws,
    )


def _upper_shares(values: np.ndarray) -> np.ndarray:
    """Share of all values that are at least as large, for each."""
    order = np.sort(values)
    return 1 - np.searchsorted(order, values - 1e-12 * np.abs(values), side="left") / len(values)


def _directions(seen: Survival, signs: np.ndarray, alpha: float, ranks_of_risk: np.ndarray) -> tuple[str, ...]:
    from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

    words, own = [], 1.0 if seen.weights is None else seen.weights
    count, expected = float(np.sum(own * seen.event)), float(np.sum(own * seen.hazard))
    enough = seen.event.sum() >= _FEW_EVENTS  # to speak of when, and for whom
    clear, sums = [_two_sided(row) <= alpha for row in signs[:3]], signs[1:3, 0]
    if clear[0] and enough:
        sums = _beside_number(seen, ranks_of_risk)
        far = -float(ndtri(alpha / 2))
        clear = [True, *(one and abs(z) > far for one, z in zip(clear[1:], sums, strict=True))]
    if clear[0]:
        more = "more" if signs[0, 0] > 0 else "fewer"
        words.append(f"{more} events than predicted ({count:,.4g} seen, {expected:,.4g} expected)")
    if clear[1] and enough:
        words.append(f"events come {'later' if sums[0] > 0 else 'earlier'} than predicted, whatever their number")
    if clear[2] and enough:
        words.append(
            "too few events where the predicted risk is high against where it is low (risks too extreme)"
            if sums[1] < 0
            else "too many events where the predicted risk is high against where it is low (risks not extreme enough)"
        )
    return tuple(words)


def _beside_number(seen: Survival, ranks_of_risk: np.ndarray) -> np.ndarray:
    """How late events come, and how many where risks are high, in standard errors, beside hazards times one factor.

    The factor makes as many events expected as were seen, so that a wrong number alone moves neither.
    """
    own = np.ones(len(seen)) if seen.weights is None else seen.weights
    factor = float(own @ seen.event) / float(own @ seen.hazard)
    number, late = (features_of(factor * seen.hazard, seen.event, seen.weights)[:, k] for k in (0, 1))
    units = np.arange(len(seen)) if seen.clusters is None else seen.clusters
    number, late, high = (np.bincount(units, x) for x in (number, late, ranks_of_risk * number))
    found = []
    for sums in (late, high):
        rest = sums - number * float(sums @ number) / float(number @ number)
        found.append(float(rest.sum()) / max(math.sqrt(float(rest @ rest)), 1e-300))
    return np.array(found)


def _notes(seen: Survival, null: str, exact: bool) -> tuple[str, ...]:
    notes = list(seen.notes)
    if null == "redraw" and not exact:
        notes.append(
            "the law of censoring is estimated, so that the p-value is not exact: pass censoring_time where it is "
            "known of all rows (the bets hold without)"
        )
    if null == "flips":
        notes.append("flipped signs are exact for symmetric residuals, which sums of many events have alone")
        if seen.clusters is not None:
            notes.append("intervals and the concordance take rows as independent")
    if seen.event.sum() < _FEW_EVENTS:
        notes.append(f"{_counted(int(seen.event.sum()))}: only gross errors would show")
    return tuple(notes)


def _counted(events: int) -> str:
    return "1 event" if events == 1 else f"{events} events"


def _of_deciles(seen: Survival, drawn: np.ndarray) -> tuple[float, float, float]:
    value = float(d_calibration(seen.hazard, seen.event))
    return value, float(drawn.mean()), float((1 + np.sum(drawn >= value * (1 - 1e-12))) / (1 + len(drawn)))


def _horizons(seen: Survival, known: np.ndarray) -> tuple[float, ...]:
    """Times by which a quarter, a half and three quarters of the expected events should have come.

    They depend on predictions and censoring times alone, so that the p-values are those of redrawn outcomes.
    """
    total = float(-np.expm1(-known).sum())
    found = []
    for share in (0.25, 0.5, 0.75):
        low, high = 0.0, _beyond(seen, known, 0.75 * total)
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if _expected(seen, known, middle) < share * total else (low, middle)
        found.append(float(f"{high:.2g}"))
    return tuple(dict.fromkeys(min(t, seen.end) for t in found if t > 0))


def _expected(seen: Survival, known: np.ndarray, t: float) -> float:
    return float(-np.expm1(-np.minimum(seen.hazard_at(np.full(len(seen), t)), known)).sum())


def _beyond(seen: Survival, known: np.ndarray, enough: float) -> float:
    high = 1.0
    while _expected(seen, known, high) < enough and high < 1e15:
        high *= 2
    return high
