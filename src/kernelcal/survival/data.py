"""Predicted times to an event beside times that were observed, some of them censored."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernelcal.dependence import Dependence
from kernelcal.errors import InputError
from kernelcal.predictions import Predictions, RealPredictions, as_predictions, checked_weights
from kernelcal.survival.curves import SurvivalCurves, curves_of

__all__ = ["Survival", "outcomes_of"]


_OF_CENSORING = ": it is when the row would have been censored at the latest; leave it out where that is not known"
_ROW_A_SUBJECT = ": one row a subject is expected; of a frame, times are the index and subjects the columns"
_TELL_EVENTS = "say which values are events, event=(status == value)"
_DROP = ": leave such rows out, of times, events and predictions together"
_HIGHEST = 700.0  # cumulative hazard: a survival below exp(-700) is 0 in double precision


@dataclass(frozen=True, eq=False)
class Survival:
    """Predictions of the time to an event, and what was seen: the event, or that it had not come by some time.

    Parameters
    ----------
    law : predictions of a positive number, `SurvivalCurves`, or what libraries for survival return
        A continuous family with a distribution function (`Gamma`, `LogNormal`, `Weibull`, ...), distributions of scipy,
        a frame of lifelines (times as index, a column a row) or the step functions of scikit-survival.
    time : array of shape (n,)
        Time of the event, or up to which there had been none; not negative.
    event : array of shape (n,)
        Whether the event was seen: booleans, or 0 and 1. False is censored.
    censoring_time : array of shape (n,), optional
        When each row would have been censored at the latest, known for every row, such as the end of a study less the
        entry. The test is then exact.
    weights : array of shape (n,), optional
        Case weights, not negative.
    clusters : array of shape (n,), optional
        Labels of rows that may depend on each other: a patient, a hospital.

    Attributes
    ----------
    end : float
        Time after which nothing is predicted, inf for families.
    hazard : numpy.ndarray of shape (n,)
        Predicted cumulative hazard up to the observed time, ``H_i = -log P_i(T > t_i)``: under calibration a censored
        exponential time of mean 1, whatever the unit of time and the law (Cox and Snell).

    Raises
    ------
    InputError
        With the row and the remedy.

    Notes
    -----
    Censoring must say nothing about the event beyond the prediction (independent censoring). Rows that were watched
    beyond the end of curves are cut there.

    Examples
    --------
    >>> from kernelcal.predictions import Gamma
    >>> from kernelcal.survival import Survival
    >>> seen = Survival(Gamma(1.0, [0.5, 1.0]), time=[2.0, 3.0], event=[True, False])
    >>> seen.hazard.round(4)
    array([1., 3.])
    """

    law: Any
    time: np.ndarray
    event: np.ndarray
    censoring_time: np.ndarray | None = None
    weights: np.ndarray | None = None
    clusters: np.ndarray | None = None
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        law = _checked_law(self.law)
        n = len(law)
        time, event = _numbers(self.time, n, "the time"), _events(self.event, n)
        _refuse(time < 0, time, "the time", "a duration from 0 on: of dates take the end less the entry")
        notes = (*self.notes, *law.notes)
        known = None if self.censoring_time is None else _numbers(self.censoring_time, n, "the censoring time", True)
        if known is not None:
            early, other = event & (known < time), ~event & (known != time)
            _refuse(early, known, "the censoring time", f"no time before that of the event{_OF_CENSORING}")
            _refuse(other, known, "the censoring time", f"the observed time of a row which is censored{_OF_CENSORING}")
        end = law.end if isinstance(law, SurvivalCurves) else np.inf
        late = time > end
        if late.any():
            notes = (
                *notes,
                f"{int(late.sum()):,} rows were watched beyond {end:g}, the last predicted time, and are cut",
            )
            time, event = np.minimum(time, end), event & ~late
        if known is not None:
            known = np.minimum(known, end)
        weights = None if self.weights is None else checked_weights(self.weights, n)
        clusters = None if self.clusters is None else Dependence.of(n, clusters=self.clusters).clusters
        values = {"law": law, "time": time, "event": event, "censoring_time": known, "weights": weights}
        for name, value in {**values, "clusters": clusters, "notes": notes}.items():
            object.__setattr__(self, name, value)
        _refuse_impossible(self)

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, rows: Any) -> Self:
        known, weights, clusters = (
            None if x is None else x[rows] for x in (self.censoring_time, self.weights, self.clusters)
        )
        return type(self)(self.law[rows], self.time[rows], self.event[rows], known, weights, clusters)

    @property
    def end(self) -> float:
        """Time after which nothing is predicted."""
        return self.law.end if isinstance(self.law, SurvivalCurves) else np.inf

    def hazard_at(self, times: Any) -> np.ndarray:
        """Predicted cumulative hazards at one time a row, shape (..., n); infinite times have infinite ones."""
        t = np.asarray(times, dtype=np.float64)
        if isinstance(self.law, SurvivalCurves):
            return self.law.hazard(t)
        t = np.broadcast_to(t, np.broadcast_shapes(t.shape, (len(self),)))
        finite = np.where(np.isfinite(t), t, 0.0)
        with np.errstate(divide="ignore"):
            values = -np.log(np.asarray(self.law.survival(finite), dtype=np.float64))
        return np.where(np.isfinite(t), np.clip(values, 0.0, _HIGHEST), np.inf)

    def time_of(self, hazard: np.ndarray) -> np.ndarray:
        """Times at which rows reach predicted cumulative hazards, shape (..., n)."""
        if isinstance(self.law, SurvivalCurves):
            return self.law.inverse(hazard)
        return np.asarray(self.law.quantile(-np.expm1(-hazard)), dtype=np.float64)

    @cached_property
    def hazard(self) -> np.ndarray:
        """Predicted cumulative hazard of every row up to its observed time."""
        return self.hazard_at(self.time)


def outcomes_of(y: Any) -> tuple[Any, Any]:
    """Times and events of a pair, of a structured array as of scikit-survival, or of a frame with two columns."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names:
        kinds = {name: y.dtype[name].kind for name in names}
        events = [name for name, kind in kinds.items() if kind == "b"]
        times = [name for name, kind in kinds.items() if kind in "fiu"]
        if len(events) != 1 or len(times) != 1:
            raise InputError(
                f"a structured array of outcomes has one field of booleans, the event, and one of numbers, the time; "
                f"got {', '.join(f'{name} ({y.dtype[name]})' for name in names)}"
            )
        return y[times[0]], y[events[0]]
    if isinstance(y, tuple | list) and len(y) == 2:
        return y[0], y[1]
    raise InputError(
        "outcomes of survival are the pair (time, event), such as y=(time, event), or a structured array with both, "
        f"got {type(y).__name__}"
    )


def _checked_law(law: Any) -> Any:
    curves = curves_of(law)
    if curves is not None:
        return curves
    batch = law if isinstance(law, Predictions) else as_predictions(law)
    if not isinstance(batch, RealPredictions) or not batch.has_cdf or not batch.continuous:
        raise InputError(
            f"survival needs a continuous law of one positive number or SurvivalCurves, got {type(batch).__name__}: "
            "of survival probabilities pass kernelcal.survival.SurvivalCurves(times, survival)"
        )
    below = np.asarray(batch.cdf(np.zeros(len(batch))))
    _refuse(below > 1e-9, below, "the probability of a time below 0", "0: take a law of positive numbers")
    return batch


def _numbers(values: Any, n: int, what: str, endless: bool = False) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers, one for each of the {n:,} rows, got {str(values)[:60]}") from None
    if found.ndim == 0:
        found = np.full(n, float(found))
    if found.shape != (n,):
        raise InputError(f"{what} has shape {found.shape}, but there are predictions of {n:,} rows{_ROW_A_SUBJECT}")
    _refuse(np.isnan(found) | (np.isinf(found) & (not endless)), found, what, f"a finite number{_DROP}")
    return found


def _events(values: Any, n: int) -> np.ndarray:
    found = np.asarray(values)
    if found.shape != (n,):
        raise InputError(f"the event has shape {found.shape}, but there are predictions of {n:,} rows{_ROW_A_SUBJECT}")
    if found.dtype.kind == "b":
        return found
    if found.dtype.kind in "UST" or any(isinstance(value, str) for value in found):
        raise InputError(f"the event must be true or false, got text such as {str(found[0])!r}: {_TELL_EVENTS}")
    numbers = _numbers(found, n, "the event")
    cure = f"1 where it was seen and 0 where it was not: {_TELL_EVENTS}"
    if len(np.unique(numbers)) > 2:
        cure += "; were time and event swapped? The order is (time, event)"
    _refuse((numbers != 0) & (numbers != 1), numbers, "the event", cure)
    return numbers == 1


def _refuse(wrong: np.ndarray, values: np.ndarray, what: str, expected: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        more = f" ({int(wrong.sum()):,} such rows)" if wrong.sum() > 1 else ""
        raise InputError(f"{what} in row {row} is {values[row]:g}, expected {expected}{more}")


def _refuse_impossible(seen: Survival) -> None:
    """Refuse rows that live on although their law has ended, which has no cumulative hazard."""
    beyond = seen.hazard >= _HIGHEST
    if beyond.any() and not isinstance(seen.law, SurvivalCurves):
        row = int(np.argmax(beyond))
        raise InputError(
            f"row {row} was watched until {seen.time[row]:g}, where its prediction leaves a survival of 0 "
            f"({int(beyond.sum()):,} such rows): the model ruled out what happened; look at these rows"
        )
