"""Several maps of classes weighed by what they predicted of rows that they had not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelcal.dependence import Dependence, mean_law
from kernelcal.errors import InputError
from kernelcal.recalibration.class_maps import CLASS_MAPS, ClassMap, Rows, Temperature
from kernelcal.recalibration.curve_maps import Platt, Quadratic, Spline, VennAbers
from kernelcal.recalibration.folds import Fold, folds_of, refused_folds

__all__ = ["CLASS_MAPS", "Pool", "error_of", "fit_pool"]  # the maps with those that curve_maps registers


_FOLDS = 5
_STEPS_A_ROW = 0.8  # of the EM algorithm, which begins at the shares: few rows leave the weights near them
_MOST_STEPS = 2000
_NEGLIGIBLE = 1e-4  # weight below which a map is left out of the pool
_ISOTONIC_FROM = 500  # rows
_MATRICES_UP_TO = 40  # classes
_OF_TWO = {  # share of every map before data are seen, over their sum
    "identity": 2.0,
    "temperature": 4.0,
    Platt.name: 1.0,
    "svs": 1.0,
    "bounded": 1.0,
    Quadratic.name: 1.0,
    Spline.name: 1.0,
    VennAbers.name: 1.0,  # from 500 rows
}
_OF_MORE = {
    "identity": 0.2,
    "temperature": 0.6,
    "svs": 0.15,
    "svs, ridge / 4": 0.05,
    "bounded": 0.05,
    "sms": 0.05,
    "sms, ridge / 4": 0.05,
    "sms, ridge / 16": 0.05,
    "isotonic": 0.05,  # from 500 rows
}
_OF_MANY = ("identity", "temperature", "svs", "svs, ridge / 4")  # above 40 classes
_PRIOR_OF_TWO, _PRIOR_OF_MORE = 1.0, 5.0  # rows that the shares count as
_EVEN_OF_TWO, _EVEN_OF_MORE = 150.0, 100.0  # rows with which the pool and leaving predictions alone have even odds
_FEWEST_OF_ODDS = 100.0  # rows: with fewer the odds are those of so many


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
    late = () if n >= _ISOTONIC_FROM else ("isotonic", VennAbers.name)
    every = _OF_TWO if classes == 2 else _OF_MORE
    names = [name for name in every if name not in late and (classes <= _MATRICES_UP_TO or name in _OF_MANY)]
    total = sum(every[name] for name in names)
    return {name: every[name] / total for name in names}, _PRIOR_OF_TWO if classes == 2 else _PRIOR_OF_MORE


def fit_pool(rows: Rows, method: str, rng: np.random.Generator, depend: Dependence | None) -> tuple[Pool, np.ndarray]:
    """Fit all candidates, weigh them by `method`; return the pool and its log loss of every row, held out.

    ``auto``: 0.8 n steps, at most 2,000, of ``q_im ~ w_m exp(-c_im)``, ``w_m = (sum_i q_im + a pi_m) / (n + a)`` on the
    held-out losses c_im of five folds, begun at the shares pi. The whole is then weighed against leaving predictions
    alone by the likelihood of all rows, each under the weights of the other folds, and odds of 100 to n before, with
    two classes 150 to n: the more rows, the clearer a gain must be, as by Schwarz's criterion. ``one``: the map of the
    least held-out loss. ``cautious``: the same, unless it is not better than the identity by a standard error of the
    differences. Any other: the map of this name.
    """
    folds = refused_folds(folds_of(rows.labels, min(_FOLDS, len(rows.labels)), rng, depend))
    if method not in ("auto", "one", "cautious"):
        kind = CLASS_MAPS.chosen(method)
        _refuse_classes(kind, rows)
        first = Temperature.fit(rows)
        one = first if kind is Temperature else kind.fit(_after(first, rows) if kind.tempered else rows)
        loss = held_out(rows, [one], folds)[:, 0]
        found = {kind.name: float(np.mean(rows.weights * loss))}
        return Pool(first, (one,), np.ones(1), found, len(rows.labels)), loss
    shares, prior = candidates(rows.number, rows.classes)
    kinds, first = [CLASS_MAPS[name] for name in shares], Temperature.fit(rows)
    tempered = _after(first, rows)
    whole = [first if kind is Temperature else kind.fit(tempered if kind.tempered else rows) for kind in kinds]
    losses = held_out(rows, whole, folds)
    means = rows.weights @ losses / len(losses)
    if method == "auto":
        weights, pooled = _pooled(losses, rows, np.array(list(shares.values())), prior, folds, depend)
    else:
        best = int(means.argmin())
        gain = rows.weights * (losses[:, 0] - losses[:, best])
        unsure = method == "cautious" and gain.mean() <= error_of(gain, depend)
        weights = 1.0 * (np.arange(len(kinds)) == (0 if unsure else best))
        pooled = _mixed(losses, weights)
    kept = weights >= _NEGLIGIBLE
    maps = tuple(one for one, keep in zip(whole, kept, strict=True) if keep)
    found = {kind.name: float(mean) for kind, mean in zip(kinds, means, strict=True)}
    return Pool(first, maps, weights[kept] / weights[kept].sum(), found, len(rows.labels)), pooled


def held_out(rows: Rows, whole: list[Any], folds: list[Fold]) -> np.ndarray:
    """Return the log loss of every map on every row, fitted to the other folds, shape (n, maps)."""
    losses = np.empty((len(rows.labels), len(whole)))
    for fit, held in folds:
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


def _pooled(
    losses: np.ndarray, rows: Rows, shares: np.ndarray, prior: float, folds: list[Fold], depend: Dependence | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights, and the loss of every row by weights that it had no part in: they are fitted as well."""
    counts, odds, mixed, pooled = rows.weights, _odds(rows), np.empty(len(losses)), np.empty(len(losses))
    parts = [_weighed(losses[fit], counts[fit] / counts[fit].mean(), shares, prior) for fit, _ in folds]
    for part, (_, held) in zip(parts, folds, strict=True):
        mixed[held] = _mixed(losses[held], part)
    gains = counts * (losses[:, 0] - mixed)
    gains *= _worth(gains, depend)
    for part, (fit, held) in zip(parts, folds, strict=True):
        pooled[held] = _mixed(losses[held], _trusted(part, gains[fit].sum(), odds))
    return _trusted(_weighed(losses, counts, shares, prior), gains.sum(), odds), pooled


def _odds(rows: Rows) -> float:
    """Return the odds of the pool to leaving predictions alone, before data are seen."""
    return (_EVEN_OF_TWO if rows.classes == 2 else _EVEN_OF_MORE) / max(rows.number, _FEWEST_OF_ODDS)


def _weighed(losses: np.ndarray, counts: np.ndarray, shares: np.ndarray, prior: float) -> np.ndarray:
    """Return the weights: the fewer rows, the sooner the steps end and the nearer to the shares."""
    likelihood, weights, total = np.exp(losses.min(axis=1, keepdims=True) - losses), shares.copy(), counts.sum()
    for _ in range(min(int(np.ceil(_STEPS_A_ROW * len(losses))), _MOST_STEPS)):
        ratios = (counts / (likelihood @ weights)) @ likelihood
        weights = (weights * ratios + prior * shares) / (total + prior)
    return weights


def _mixed(losses: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the loss of every row by the weighted mean of the maps' probabilities."""
    least = losses.min(axis=1, keepdims=True)
    return np.asarray(least[:, 0] - np.log(np.exp(least - losses) @ weights))


def _trusted(weights: np.ndarray, gained: float, odds: float) -> np.ndarray:
    """Weigh the pool against identity, the first of the maps, by what it gained in all rows together."""
    trust = 1 / (1 + np.exp(-np.clip(gained, -500, 500)) / odds)
    return np.asarray(trust * weights + (1 - trust) * (np.arange(len(weights)) == 0))


def _worth(gains: np.ndarray, depend: Dependence | None) -> float:
    """Return how many independent rows one is worth, where rows depend on each other: at most one."""
    plain, error = error_of(gains, None), error_of(gains, depend)
    return min(plain**2 / error**2, 1.0) if error > 0 else 1.0


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
