"""A fit of either kind: what is held from the rows it saw, and how it serves others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.arrays import like, to_numpy
from kernelcal.cases import Case
from kernelcal.dependence import Dependence
from kernelcal.errors import InputError
from kernelcal.predictions import Bernoulli, Categorical, ClassPredictions, Normal, Quantiles, Samples, StudentT
from kernelcal.recalibration.advice import error_of_gain
from kernelcal.recalibration.class_maps import CLASS_MAPS, Rows, floor_of
from kernelcal.recalibration.folds import Fold, folds_of, refused_folds
from kernelcal.recalibration.numbers import NUMBER_MAPS, NumberMap, Unchanged, candidates_for, loss_rows, served
from kernelcal.recalibration.pool import Pool, error_of, fit_pool

__all__ = ["METHODS", "ClassFit", "FittedMap", "NumberFit", "fitted", "joined"]


METHODS = {
    "auto": "a pool of maps, weighed by held-out losses; for numbers the map of the least held-out loss",
    "one": "the map of the least held-out loss",
    "cautious": "the same, unless it is not better than leaving predictions alone by a standard error",
}
_FOLDS = 5
_FEWEST = 10  # rows; of fewer nothing is learnt that could be looked at
_NEARLY_NORMAL = 1e6  # degrees of freedom of a normal law beside Student's
_MARGIN = 2.0  # over n: by so many nats a further law must be better
_WORSE = (0.005, 0.05)  # of the CRPS of before: between these a map may add a standard error to it, and no more


class FittedMap(ABC):
    """What was fitted: `losses` of held-out rows by name, the loss of rows left alone and as maps make them.

    For a named method `losses` hold that map alone. `gain_error` is the standard error of the mean gain.
    """

    losses: dict[str, float]
    loss: str
    before: float
    after: float
    gain_error: float
    n: int
    family: str

    @abstractmethod
    def apply(self, predictions: Any) -> Any:
        """Return better predictions of the kind that was given."""

    @abstractmethod
    def refuse(self, predictions: Any) -> None:
        """Refuse predictions of another kind."""

    @abstractmethod
    def in_words(self) -> list[tuple[str, str]]:
        """Rows of the table: what it does."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return its numbers, for JSON."""


@dataclass(frozen=True)
class ClassFit(FittedMap):
    """A pool of maps of class probabilities."""

    pool: Pool
    floor: float
    lifted: int
    names: tuple[Any, ...] | None
    columns: int
    family: str
    before: float
    after: float
    gain_error: float
    loss: str = "log score"

    @property
    def losses(self) -> dict[str, float]:  # type: ignore[override]
        """Held-out log loss of every candidate."""
        return self.pool.losses

    @property
    def n(self) -> int:  # type: ignore[override]
        """Rows of the fit."""
        return self.pool.n

    @classmethod
    def of(cls, case: Case, method: str, rng: np.random.Generator) -> Self:
        """Fit to the rows of a case."""
        batch = case.predictions
        logs = _logs_of(batch)
        floor = floor_of(logs)
        weights = np.ones(len(case)) if case.weights is None else case.weights
        counted = weights > 0
        rows = Rows(np.maximum(logs, floor)[counted], case.targets[counted].astype(np.int64), weights[counted])
        rows = rows[np.arange(len(rows.labels))]
        pool, held = fit_pool(rows, method, rng, None if case.rows is None else case.rows[counted])
        own = np.maximum(logs, floor)[counted][np.arange(len(rows.labels)), rows.labels]
        gain = rows.weights * (-own - held)
        before, after = -float(np.mean(rows.weights * own)), float(np.mean(rows.weights * held))
        lifted = int(np.count_nonzero(np.isneginf(logs[counted])))
        names = None if batch.classes is None else tuple(map(_plain, batch.classes))
        made = cls(pool, floor, lifted, names, logs.shape[1], type(batch).__name__, before, after, 0.0)
        seen, depend = batch[np.flatnonzero(counted)], None if case.rows is None else case.rows[counted]
        return replace(made, gain_error=error_of_gain(gain, depend, seen, made.apply(seen)))

    def refuse(self, predictions: Any) -> None:
        """Refuse numbers, another number of classes, and other classes."""
        if not isinstance(predictions, ClassPredictions) or predictions.n_classes != self.columns:
            other = (
                f"{predictions.n_classes} classes"
                if isinstance(predictions, ClassPredictions)
                else type(predictions).__name__
            )
            raise InputError(f"this map was fitted to predictions of {self.columns} classes, got {other}")
        given = predictions.classes
        if self.names is not None and given is not None and tuple(given) != self.names:
            raise InputError(
                f"this map was fitted to the classes {_few(self.names)}, in this order, got {_few(given)}: bring the "
                "columns into that order"
            )

    def apply(self, predictions: Any) -> Any:
        """Return probabilities as the pool makes them."""
        logs = _logs_of(predictions)
        zeros = int(np.count_nonzero(np.isneginf(logs)))
        p = self.pool.probabilities(np.maximum(logs, self.floor))
        note = (
            f"{zeros:,} probabilities of exactly 0 were raised to {np.exp(self.floor):.1g} before the map, the half of "
            "the smallest positive one in the rows of its fit (of two classes 1e-6 at least)"
        )
        notes = (*predictions.notes, note) if zeros else predictions.notes
        names = {"classes": predictions.classes, "question": predictions.question, "notes": notes}
        if isinstance(predictions, Bernoulli):
            return Bernoulli(_back(p[:, 1], predictions.p), **names)
        return Categorical(_back(p, predictions.probabilities), **names)

    def in_words(self) -> list[tuple[str, str]]:
        """Weights of the maps, and the temperature behind them."""
        order = np.argsort(-self.pool.weights)
        parts = [f"{self.pool.maps[k].name} {self.pool.weights[k]:.2f}" for k in order if self.pool.weights[k] >= 0.01]
        rows = [("maps and their weights", ", ".join(parts)), ("temperature", f"{1 / self.pool.first.power:.3f}")]
        if self.lifted:
            rows.append(("zeros raised", f"{self.lifted:,}, to {np.exp(self.floor):.1g}"))
        return rows

    def state(self) -> dict[str, Any]:
        """Return its numbers."""
        own = {
            key: getattr(self, key) for key in ("floor", "lifted", "columns", "family", "before", "after", "gain_error")
        }
        return {"kind": "classes", **own, "names": self.names, "pool": self.pool.state()}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Self:
        """Make it of its numbers."""
        names = None if state["names"] is None else tuple(state["names"])
        own = {key: state[key] for key in ("floor", "lifted", "columns", "family", "before", "after", "gain_error")}
        return cls(pool=Pool.of_state(state["pool"]), names=names, **own)


@dataclass(frozen=True)
class NumberFit(FittedMap):
    """A map of predictions of one number."""

    map: NumberMap
    losses: dict[str, float]
    n: int
    family: str
    levels: tuple[float, ...] | None
    before: float
    after: float
    gain_error: float
    loss: str = "CRPS"

    @classmethod
    def of(cls, case: Case, method: str, rng: np.random.Generator) -> Self:
        """Choose a map by held-out losses, and fit it to all rows."""
        served(case.predictions)
        weights = np.ones(len(case)) if case.weights is None else case.weights
        case = case[weights > 0]
        weights = weights[weights > 0] / weights[weights > 0].mean()
        number = float(weights.sum() ** 2 / (weights**2).sum())
        kinds = candidates_for(case.predictions)
        if method not in METHODS:
            kinds = tuple(kind for kind in kinds if kind.name == method)
            if not kinds:
                known = [repr(kind.name) for kind in candidates_for(case.predictions)]
                raise InputError(f"method must be one of {', '.join([*map(repr, METHODS), *known])}, got {method!r}")
        plain = loss_rows(case)[0]
        _refuse_impossible(plain, type(case.predictions).__name__)
        folds = refused_folds(folds_of(np.zeros(len(case)), _FOLDS, rng, case.rows))
        rows = np.stack([_held_out(kind, case, weights, folds) for kind in kinds], axis=2)
        means = weights @ rows[0] / len(case)
        relative = isinstance(case.predictions, Samples | Quantiles)  # losses in the unit of the targets
        margin = 0.0 if method == "one" else _MARGIN / number * (float(means[0]) if relative else 1.0)
        allowed = np.where(_not_worse(rows[1], weights, case.rows), means, np.inf)
        best = _best(allowed, margin, 0.0 if relative else margin)
        gain = weights * (rows[0, :, 0] - rows[0, :, best])
        if method == "cautious" and gain.mean() <= error_of(gain, case.rows):
            best = 0
        batch, kind = case.predictions, kinds[best]
        levels = tuple(map(float, batch.levels)) if isinstance(batch, Quantiles) else None
        before = float(weights @ plain / len(case))
        found = {one.name: float(mean) for one, mean in zip(kinds, means, strict=True)}
        loss = "mean pinball loss" if levels else "CRPS" if relative else "log score"
        error = error_of_gain(weights * (plain - rows[0, :, best]), case.rows, batch, batch)
        made = kind.fit(case, weights, number)
        return cls(made, found, len(case), type(batch).__name__, levels, before, float(means[best]), error, loss)

    def refuse(self, predictions: Any) -> None:
        """Refuse another family, and quantiles of other levels."""
        if type(predictions).__name__ != self.family:
            raise InputError(f"this map was fitted to predictions of {self.family}, got {type(predictions).__name__}")
        if self.levels is not None and not np.array_equal(np.asarray(predictions.levels), self.levels):
            raise InputError(
                f"this map was fitted to quantiles of the levels {_few(self.levels)}, got {_few(predictions.levels)}"
            )

    def apply(self, predictions: Any) -> Any:
        """Return what the map makes of them, in the array library that was given."""
        made: Any = self.map(predictions.map_arrays(to_numpy))
        given: list[Any] = []

        def noted(array: Any) -> Any:
            given.append(array)
            return array

        predictions.map_arrays(noted)
        other = next((array for array in given if not isinstance(array, np.ndarray)), None)
        return made if other is None else made.map_arrays(lambda array: like(array, other))

    def in_words(self) -> list[tuple[str, str]]:
        """Name the map and what it does."""
        return [("map", type(self.map).name), ("what it does", self.map.in_words())]

    def state(self) -> dict[str, Any]:
        """Return its numbers."""
        own = {
            key: getattr(self, key)
            for key in ("losses", "n", "family", "levels", "before", "after", "gain_error", "loss")
        }
        return {"kind": "numbers", "map": type(self.map).__name__, **own, "numbers": self.map.state()}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Self:
        """Make it of its numbers."""
        own = {key: state[key] for key in ("losses", "n", "family", "before", "after", "gain_error", "loss")}
        levels = None if state["levels"] is None else tuple(state["levels"])
        return cls(map=NUMBER_MAPS[state["map"]].of_state(state["numbers"]), levels=levels, **own)


def fitted(case: Case, method: str, rng: np.random.Generator) -> FittedMap:
    """Fit to a case of either kind."""
    if len(case) < _FEWEST:
        raise InputError(
            f"{len(case)} rows are too few to learn a map from and to look at it: {_FEWEST} at least, better hundreds"
        )
    if isinstance(case.predictions, ClassPredictions):
        if method not in METHODS and method not in CLASS_MAPS:
            known = ", ".join(map(repr, [*METHODS, *CLASS_MAPS]))
            raise InputError(f"method must be one of {known}, got {method!r}")
        return ClassFit.of(case, method, rng)
    return NumberFit.of(case, method, rng)


def joined(batches: Sequence[Any]) -> Any:
    """Return predictions of one kind, one batch after the other; normal laws beside Student's become nearly normal."""
    first = batches[0]
    if isinstance(first, Bernoulli):
        return replace(first, p=np.concatenate([b.p for b in batches]), logs=None)
    if isinstance(first, Categorical):
        return replace(first, probs=np.concatenate([b.probs for b in batches]), logs=None)
    if isinstance(first, Samples):
        return Samples(np.concatenate([b.draws for b in batches]))
    if isinstance(first, Quantiles):
        return replace(first, values=np.concatenate([b.values for b in batches]))
    if len({type(b) for b in batches}) > 1:
        batches = [
            StudentT(np.full(len(b), _NEARLY_NORMAL), b.mean, b.std) if isinstance(b, Normal) else b for b in batches
        ]
    names = type(batches[0]).given_by
    return type(batches[0])(*(np.concatenate([np.asarray(getattr(b, name)) for b in batches]) for name in names))


def _held_out(kind: type[NumberMap], case: Case, weights: np.ndarray, folds: Sequence[Fold]) -> np.ndarray:
    """Return loss and CRPS of every row by fits to the other folds, shape (2, n)."""
    if kind is Unchanged:
        return np.stack(loss_rows(case))
    losses = np.empty((2, len(case)))
    for fit, held in folds:
        own = weights[fit] / weights[fit].mean()
        made = kind.fit(case[fit], own, float(own.sum() ** 2 / (own**2).sum()))
        part = case[held]
        losses[:, held] = loss_rows(replace(part, predictions=made(part.predictions)))
    return losses


def _not_worse(crps: np.ndarray, weights: np.ndarray, depend: Dependence | None) -> np.ndarray:
    """Tell of every map whether its CRPS is no worse than that of the first, which the log score does not prevent."""
    more = weights[:, None] * (crps - crps[:, :1])
    before = float(weights @ crps[:, 0]) / len(crps)
    errors = np.array([error_of(column, depend) for column in more.T])
    return np.asarray(more.mean(axis=0) <= np.clip(errors, _WORSE[0] * before, _WORSE[1] * before))


def _best(means: np.ndarray, margin: float, first: float) -> int:
    """Return the map that is taken, each compared with the best of the simpler ones; `first`: margin over identity.

    What a few nats tell surely hardly shows in a CRPS: against identity no margin is asked of it.
    """
    best = 0
    for k in range(1, len(means)):
        if means[k] < means[best] - (margin if best else first):
            best = k
    return best


def _refuse_impossible(losses: np.ndarray, family: str) -> None:
    impossible = np.flatnonzero(~np.isfinite(losses))
    if len(impossible):
        raise InputError(
            f"row {int(impossible[0])}: the outcome has a predicted density of 0 ({len(impossible)} such rows), which "
            f"no map of {family} changes: drop these rows, or predict with a family that can have them"
        )


def _logs_of(batch: ClassPredictions) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(batch.map_arrays(to_numpy).log_table(slice(None)), dtype=np.float64)


def _back(values: np.ndarray, given: Any) -> Any:
    return values if isinstance(given, np.ndarray) else like(values, given)


def _plain(name: Any) -> Any:
    """Return a name as Python has it, which JSON can hold."""
    return name.item() if isinstance(name, np.generic) else name


def _few(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:6])) + ", ..." * (len(names) > 6)
