"""Several maps of classes weighed by what they predicted of rows that they had not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelcal.dependence import Dependence, mean_law
from kernelcal.errors import InputError
from kernelcal.recalibration.class_maps import CLASS_MAPS, ClassMap, Rows, Temperature
from kernelcal.recalibration.curve_maps import Platt, Quadratic, Spline, VennAbers
from kernelcal.recalibration.folds import folds_of, refused_folds

__all__ = ["Pool", "error_of", "fit_pool"]


_FOLDS = 5
_STEPS = 80  # of the EM algorithm
_NEGLIGIBLE = 1e-4  # weight below which a map is left out of the pool
_ISOTONIC_FROM = 500  # rows
_MATRICES_UP_TO = 40  # classes
_OF_TWO = ("identity", "temperature", Platt.name, "svs", Quadratic.name, Spline.name, VennAbers.name)
_OF_MORE = {  # share of every map before data are seen
    "identity": 0.1,
    "temperature": 0.6,
    "svs": 0.15,
    "svs, ridge / 4": 0.05,
    "sms": 0.05,
    "sms, ridge / 4": 0.05,
}


@dataclass(frozen=True)
class Pool:
    """``q = sum_m w_m q_m``, maps m fitted to all rows.

    Attributes
    ----------
    first : Temperature
        Whose output most maps look at.
    maps : tuple of ClassMap
        The maps.
    weights : numpy.ndarray
        Their weights, which sum to 1.
    losses : dict of str to float
        Mean log loss of every candidate on held-out rows.
    n : int
        Rows of the fit.
    """

    first: Temperature
    maps: tuple[ClassMap, ...]
    weights: np.ndarray
    losses: dict[str, float]
    n: int

    def probabilities(self, logs: np.ndarray) -> np.ndarray:
        """Return the weighted mean of what the maps say of logarithms, shape (n, k)."""
        tempered = np.log(self.first.probabilities(logs))
        total = np.zeros(logs.shape)
        for weight, one in zip(self.weights, self.maps, strict=True):
            total += weight * one.probabilities(tempered if one.tempered else logs)
        return total

    def state(self) -> dict[str, Any]:
        """Return its numbers, for JSON."""
        maps = [
            {"map": one.name, "weight": float(w), **one.state()} for one, w in zip(self.maps, self.weights, strict=True)
        ]
        return {"first": self.first.state(), "maps": maps, "losses": self.losses, "n": self.n}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Self:
        """Make it of its numbers."""
        maps, weights = [], []
        for one in state["maps"]:
            numbers = {key: value for key, value in one.items() if key not in ("map", "weight")}
            maps.append(CLASS_MAPS.chosen(one["map"]).of_state(numbers))
            weights.append(one["weight"])
        return cls(Temperature.of_state(state["first"]), tuple(maps), np.array(weights), state["losses"], state["n"])


def candidates(n: float, classes: int) -> tuple[dict[str, float], float]:
    """Return shares of the maps before data are seen, and how many rows these count as."""
    if classes == 2:
        names = _OF_TWO if n >= _ISOTONIC_FROM else _OF_TWO[:-1]
        return {name: 1 / len(names) for name in names}, 1.0
    shares = {name: share for name, share in _OF_MORE.items() if classes <= _MATRICES_UP_TO or "sms" not in name}
    if n >= _ISOTONIC_FROM and classes <= _MATRICES_UP_TO:
        shares["isotonic"] = 0.05
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()}, 5.0


def fit_pool(rows: Rows, method: str, rng: np.random.Generator, depend: Dependence | None) -> tuple[Pool, np.ndarray]:
    """Fit all candidates, weigh them by `method`; return the pool and its log loss of every row, held out.

    ``auto``: 80 steps of ``q_im ~ w_m exp(-c_im)``, ``w_m = (sum_i q_im + a pi_m) / (n + a)`` on the held-out losses
    c_im of five folds. ``one``: the map of the least held-out loss. ``cautious``: the same, unless it is not better
    than the identity by a standard error of the differences. Any other: the map of this name.
    """
    if method not in ("auto", "one", "cautious"):
        kind = CLASS_MAPS.chosen(method)
        _refuse_classes(kind, rows)
        first = Temperature.fit(rows)
        one = first if kind is Temperature else kind.fit(_after(first, rows) if kind.tempered else rows)
        loss = held_out(rows, [one], rng, depend)[:, 0]
        found = {kind.name: float(np.mean(rows.weights * loss))}
        return Pool(first, (one,), np.ones(1), found, len(rows.labels)), loss
    shares, prior = candidates(rows.number, rows.classes)
    kinds, first = [CLASS_MAPS[name] for name in shares], Temperature.fit(rows)
    tempered = _after(first, rows)
    whole = [first if kind is Temperature else kind.fit(tempered if kind.tempered else rows) for kind in kinds]
    losses = held_out(rows, whole, rng, depend)
    means = rows.weights @ losses / len(losses)
    if method == "auto":
        weights = _weighed(losses, rows.weights, np.array(list(shares.values())), prior)
    else:
        weights = np.zeros(len(kinds))
        best = int(means.argmin())
        gain = rows.weights * (losses[:, 0] - losses[:, best])
        unsure = method == "cautious" and gain.mean() <= error_of(gain, depend)
        weights[0 if unsure else best] = 1.0
    kept = weights >= _NEGLIGIBLE
    maps = tuple(one for one, keep in zip(whole, kept, strict=True) if keep)
    found = {kind.name: float(mean) for kind, mean in zip(kinds, means, strict=True)}
    weights = weights[kept] / weights[kept].sum()
    least = losses.min(axis=1, keepdims=True)
    pooled = least[:, 0] - np.log(np.exp(least - losses[:, kept]) @ weights)
    return Pool(first, maps, weights, found, len(rows.labels)), pooled


def held_out(rows: Rows, whole: list[Any], rng: np.random.Generator, depend: Dependence | None) -> np.ndarray:
    """Return the log loss of every map on every row, fitted to the other folds, shape (n, maps)."""
    losses, number = np.empty((len(rows.labels), len(whole))), min(_FOLDS, len(rows.labels))
    for fit, held in refused_folds(folds_of(rows.labels, number, rng, depend)):
        part, own = rows[fit], (np.arange(len(held)), rows.labels[held])
        first = Temperature.fit(part)
        tempered, after = _after(first, part), np.log(first.probabilities(rows.logs[held]))
        for m, one in enumerate(whole):
            kind = type(one)
            made = first if kind is Temperature else kind.fit(tempered if kind.tempered else part, start=one)
            p = made.probabilities(after if kind.tempered else rows.logs[held])
            losses[held, m] = -np.log(np.maximum(p[own], np.finfo(float).tiny))
    return losses


def _after(first: Temperature, rows: Rows) -> Rows:
    return Rows(np.log(first.probabilities(rows.logs)), rows.labels, rows.weights)


def _weighed(losses: np.ndarray, counts: np.ndarray, shares: np.ndarray, prior: float) -> np.ndarray:
    likelihood, weights = np.exp(losses.min(axis=1, keepdims=True) - losses), shares.copy()
    for _ in range(_STEPS):
        q = weights * likelihood
        q /= q.sum(axis=1, keepdims=True)
        weights = (counts @ q + prior * shares) / (counts.sum() + prior)
    return weights


def error_of(gain: np.ndarray, depend: Dependence | None) -> float:
    """Return the standard error of a mean of differences of losses, over clusters or along time where rows depend."""
    if depend is None or not depend.overlap:
        return float(gain.std() / np.sqrt(len(gain)))
    return mean_law(depend).error(gain)


def _refuse_classes(kind: type[ClassMap], rows: Rows) -> None:
    entry = next(entry for entry in CLASS_MAPS.entries if entry.name == kind.name)
    if entry.serves.startswith("two classes") and rows.classes != 2:
        raise InputError(
            f"method {kind.name!r} serves two classes, got {rows.classes}: use method='auto', or 'svs' or 'temperature'"
        )
