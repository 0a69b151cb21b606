"""The calibration test."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.inference.direction import directions, impossible_note, impossible_rows
from kernelcal.inference.draws import Draws
from kernelcal.inference.exact import STOP_ABOVE, ExactNull, exact_null
from kernelcal.inference.family import DefaultFamily, PreparedFamily
from kernelcal.inference.ranks import standardised
from kernelcal.inference.result import Member, TestResult
from kernelcal.predictions import ClassPredictions, checked_pair
from kernelcal.statistics import SKCE, CallableStatistic, Prepared, Statistic

__all__ = ["calibration_test"]

_NAMED: dict[str, Callable[[], Statistic]] = {"default": DefaultFamily, "skce": SKCE}


def calibration_test(
    y: Any,
    predictions: Any,
    *,
    statistic: Any = "default",
    null: str = "exact",
    draws: int = 999,
    rng: Any = 0,
    early_stopping: bool = True,
    classes: Any = None,
    normalize: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> TestResult:
    """Test whether predictions are calibrated: are targets distributed as predicted, given the predictions?

    Given the predictions, a calibrated model's targets are independent draws from them. The test redraws the targets,
    keeps the predictions, and ranks the observed statistic among those of the draws:
    ``p = (1 + #{b: T_b >= T}) / (B + 1)``. This is exact at every n and for every statistic.

    Parameters
    ----------
    y : array of shape (n,)
        Targets: class numbers 0 to m - 1, booleans, or labels named by `classes`.
    predictions : Predictions or what `as_predictions` takes
        Predicted probabilities.
    statistic : {"default", "skce"}, Statistic or callable
        ``default``: `DefaultFamily`, kernels at four lengthscales with the directed scores bias and slope,
        combined by the smallest rank. ``skce``: `SKCE` at the median lengthscale. A function
        ``f(y, predictions) -> number`` whose large values speak against calibration is called once a draw.
    null : {"exact"}
        Law of the statistic under calibration.
    draws : int
        Number B of draws; the smallest p-value is 1 / (B + 1).
    rng : int, numpy.random.Generator or None
        Seed (SPEC 7). The default is a fixed seed: the same data give the same p-value.
    early_stopping : bool
        Stop at 99, 199, 399, ... draws once p > 0.2. The test stays exact.
    classes, normalize
        As for `as_predictions`.
    progress : callable, optional
        Called as ``progress(done, total)`` after every batch of draws.

    Returns
    -------
    TestResult
        With the p-value, the member that fired and the direction in plain words.

    Raises
    ------
    InputError
        With the row and the remedy.

    Notes
    -----
    Assumes that rows are independent given the predictions, and that the model was not fitted or recalibrated on
    these rows. Repeated measurements of one subject, tokens of one text and forecasts that use past outcomes
    break the first. Source: the Monte-Carlo test of Dwass (1957) and Barnard (1963).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(1)
    >>> p = rng.dirichlet([1, 1, 1], 300)
    >>> y = kc.Categorical(p).sample(rng)[0]
    >>> kc.calibration_test(y, p).pvalue > 0.05
    True
    >>> sharper = p**2 / (p**2).sum(axis=1, keepdims=True)
    >>> result = kc.calibration_test(y, sharper)
    >>> result.pvalue, result.directions[0]
    (0.001, 'over-confident')
    """
    labels, batch = checked_pair(y, predictions, classes=classes, normalize=normalize)
    if null != "exact":
        raise InputError(f"null must be 'exact', got {null!r}")
    if not isinstance(draws, int | np.integer) or draws < 1:
        raise InputError(f"draws must be a positive whole number, got {draws!r}")
    batch = batch.map_arrays(to_numpy)
    prepared = _statistic(statistic).prepare(batch)
    law = exact_null(prepared, labels, batch, int(draws), Draws(rng), early_stopping=early_stopping, progress=progress)
    return _result(law, prepared, labels, batch)


def _statistic(given: Any) -> Statistic:
    if isinstance(given, Statistic):
        return given
    if isinstance(given, str) and given in _NAMED:
        return _NAMED[given]()
    if callable(given):
        return CallableStatistic(given)
    raise InputError(f"statistic must be {', '.join(map(repr, _NAMED))}, a Statistic or a function, got {given!r}")


def _result(law: ExactNull, prepared: Prepared, labels: np.ndarray, batch: ClassPredictions) -> TestResult:
    members = _members(law, prepared.names)
    best = _fired(law, prepared.names)
    rows = impossible_rows(batch, labels)
    notes = prepared.notes + _notes(law, batch)
    if len(rows):
        notes = (impossible_note(batch, labels, rows, isinstance(prepared, PreparedFamily)), *notes)
    words: tuple[str, ...] = ()
    if isinstance(prepared, PreparedFamily) and law.pvalue <= 0.05:
        words = directions(prepared.scores, labels, members, best)
    return TestResult(
        statistic=min(m.pvalue for m in members) if len(members) > 1 else members[0].value,
        pvalue=law.pvalue,
        null="exact, targets redrawn from the predictions",
        draws=law.draws,
        stopped_early=law.stopped_early,
        monte_carlo_error=math.sqrt(law.pvalue * (1 - law.pvalue) / (law.draws + 1)),
        members=members,
        fired=best,
        directions=words,
        impossible_rows=tuple(int(row) for row in rows[:10]),
        n=len(batch),
        engine=prepared.engine,
        notes=notes,
    )


def _members(law: ExactNull, names: tuple[str, ...]) -> tuple[Member, ...]:
    drawn, observed = law.values[1:], law.values[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = drawn.std(axis=0)
        deviation = np.where(spread > 0, (observed - drawn.mean(axis=0)) / spread, np.nan)
        deviation = np.where((spread == 0) & (observed > drawn.max(axis=0)), np.inf, deviation)
    pvalues = law.rank[0] / (law.draws + 1)
    columns = zip(names, observed, pvalues, deviation, strict=True)
    members = [Member(name, float(v), float(p), float(d)) for name, v, p, d in columns]
    return tuple(m for m in members if m.name != "impossible label" or m.value > 0)


def _fired(law: ExactNull, names: tuple[str, ...]) -> str:
    """Name of the member with the smallest rank; of equal ones the one that deviates most, as in the p-value."""
    deviation = [standardised(column)[0] for column in law.values.T]
    return min(zip(law.rank[0], [-d for d in deviation], names, strict=True))[2]


def _notes(law: ExactNull, batch: ClassPredictions) -> tuple[str, ...]:
    notes = []
    if law.stopped_early:
        notes.append(
            f"the draws stopped at {law.draws}, since p was above {STOP_ABOVE} (early_stopping=False, or --all-draws, "
            "makes all of them)"
        )
    if 1 / (law.draws + 1) > 0.05:
        notes.append(f"{law.draws} draws cannot give a p-value below {1 / (law.draws + 1):.2g}: use 999 or more")
    if np.all(law.values == law.values[0]):
        p = batch.probabilities
        certain = bool(np.all((p == 0) | (p == 1)))
        why = (
            "every prediction is certain, and every label is as predicted"
            if certain
            else "no draw differs from the data"
        )
        notes.append(f"the null has no variance: {why}")
    return tuple(notes)
