"""Outcomes as they would be if the predictions were right: times redrawn under the same censoring, or flipped signs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kernelcal.survival.data import Survival
from kernelcal.survival.residuals import FUNCTIONS, residual_features

__all__ = ["censoring_of", "features_of", "flipped", "imputed_censoring", "redrawn"]


_VALUES = 2**22  # numbers held at once


def imputed_censoring(time: np.ndarray, event: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Censoring times of all rows: those seen, and for events one drawn from the censoring law beyond the event.

    Notes
    -----
    The law G is the Kaplan-Meier curve of the censoring times, where events come before censorings of the same time.
    Were G known, drawing ``C | C > T`` for events would give a pair (T, C) with the law of the true one, and
    redrawing times given all C would be exact; G is estimated, and the level is so measured, not proved. What
    remains above the last censored time is never censored: inf.
    """
    n = len(time)
    order = np.lexsort((~event, time))
    t, censored, at_risk = time[order], ~event[order], n - np.arange(n)
    with np.errstate(divide="ignore"):
        curve = np.exp(np.cumsum(np.where(censored, np.log1p(-1 / at_risk), 0.0)))
    events = np.flatnonzero(event)
    before = np.searchsorted(t, time[events], side="left")  # of equal times events come first
    here = np.concatenate([[1.0], curve])[before]
    first = np.searchsorted(-curve, -generator.random(len(events)) * here, side="right")
    drawn = np.full(n, np.inf)
    drawn[~event] = time[~event]
    drawn[events] = np.where(first < n, t[np.minimum(first, n - 1)], np.inf)
    return drawn


def censoring_of(seen: Survival, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Censoring times of all rows, imputed where they are not known, and the predicted cumulative hazards at them."""
    known = seen.censoring_time
    times = imputed_censoring(seen.time, seen.event, generator) if known is None else known
    return times, np.maximum(seen.hazard_at(np.minimum(times, seen.end)), seen.hazard)


def redrawn(
    censoring: np.ndarray, draws: int, generator: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Cumulative hazards and events of calibrated predictions, in batches of shape (b, n).

    On the axis of cumulative hazards a calibrated event is exponential with mean 1.
    """
    n, left = len(censoring), draws
    while left:
        size = min(left, max(1, _VALUES // (n * FUNCTIONS)))
        times = generator.exponential(size=(size, n))
        yield np.minimum(times, censoring), times <= censoring
        left -= size


def flipped(
    features: np.ndarray, clusters: np.ndarray | None, draws: int, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """Residual features with random signs, one a row or one a cluster, in batches of shape (b, n, k)."""
    n, left = len(features), draws
    groups = np.arange(n) if clusters is None else clusters
    while left:
        size = min(left, max(1, _VALUES // (n * FUNCTIONS)))
        signs = generator.choice([-1.0, 1.0], size=(size, int(groups.max()) + 1))[:, groups]
        yield signs[..., None] * features
        left -= size


def features_of(hazard: np.ndarray, event: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Residual features of outcomes, times case weights."""
    features = residual_features(hazard, event)
    return features if weights is None else features * weights[:, None]
