"""Maps from predicted class probabilities to better ones: a temperature, ridged scalings, curves of one logit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.registry import Registry

__all__ = ["CLASS_MAPS", "ClassMap", "Identity", "Rows", "Temperature", "floor_of", "register"]


_SCALE = 0.5  # of log(1 / T) before data are seen
_WIDEST = 5.0  # of the same, to both sides
_BISECTIONS = 40
_LEAST_OF_TWO = 1e-6  # probability that 0 becomes with two classes; with more it is half the smallest one


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return rows of probabilities proportional to ``exp(scores)``."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def floor_of(logs: np.ndarray) -> float:
    """Return the logarithm that probabilities are raised to: of half the smallest positive one, of two classes 1e-6."""
    positive = logs[np.isfinite(logs)]
    half = float(positive.min(initial=0.0)) - float(np.log(2))
    return max(half, float(np.log(_LEAST_OF_TWO))) if logs.shape[1] == 2 else half


@dataclass(frozen=True)
class Rows:
    """What a map is fitted to.

    Attributes
    ----------
    logs : numpy.ndarray of shape (n, k)
        Logarithms of the predicted probabilities.
    labels : numpy.ndarray of int, shape (n,)
        What happened.
    weights : numpy.ndarray of shape (n,)
        Weights with mean 1.
    """

    logs: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    def __getitem__(self, rows: np.ndarray) -> Rows:
        weights = self.weights[rows]
        return Rows(self.logs[rows], self.labels[rows], weights / weights.mean())

    @property
    def number(self) -> float:
        """Rows that count: ``(sum w)^2 / sum w^2``, n without weights."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    @property
    def classes(self) -> int:
        """Number of classes k."""
        return self.logs.shape[1]


class ClassMap(ABC):
    """A fitted map of class probabilities: numbers and arrays alone, which JSON holds bit by bit.

    Most look at the output of a fitted `Temperature`, X = log of it, and are shrunk towards leaving it alone: with few
    rows they do nothing.
    """

    name: ClassVar[str]
    tempered: ClassVar[bool] = True  # whether it looks at tempered logarithms

    @classmethod
    @abstractmethod
    def fit(cls, rows: Rows, start: Self | None = None) -> Self:
        """Fit to rows, of tempered logarithms if it is such a map; `start` is a fit to more rows, to begin at."""

    @abstractmethod
    def probabilities(self, logs: np.ndarray) -> np.ndarray:
        """Return probabilities of shape (n, k)."""

    def state(self) -> dict[str, Any]:
        """Return its numbers, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Self:
        """Make it of its numbers."""
        return cls(**{name: np.array(v, dtype=float) if isinstance(v, list) else v for name, v in state.items()})


CLASS_MAPS: Registry[type[ClassMap]] = Registry("a map of classes")


def register(summary: str, serves: str = "any") -> Any:
    """Return what makes a map of this class known by its name."""

    def add(kind: type[ClassMap]) -> type[ClassMap]:
        CLASS_MAPS.register(kind.name, kind, summary=summary, serves=serves)
        return kind

    return add


@register("the predictions as they are")
@dataclass(frozen=True)
class Identity(ClassMap):
    """Nothing is changed but zeros, which are as small as the floor."""

    name: ClassVar[str] = "identity"
    tempered: ClassVar[bool] = False

    @classmethod
    def fit(cls, rows: Rows, start: Self | None = None) -> Self:
        """Return it."""
        return cls()

    def probabilities(self, logs: np.ndarray) -> np.ndarray:
        """Return the softmax of the logarithms."""
        return softmax(logs)


@register("one temperature, shrunk towards 1, mixed with equal probabilities by 1 / (n + 1)")
@dataclass(frozen=True)
class Temperature(ClassMap):
    """``(1 - g) softmax(b log p) + g / k``, ``g = 1 / (n + 1)``: b by the mean log score, log b with a normal prior."""

    name: ClassVar[str] = "temperature"
    tempered: ClassVar[bool] = False
    power: float
    mixed: float

    @classmethod
    def fit(cls, rows: Rows, start: Self | None = None) -> Self:
        """Find the root of the slope in log b by bisection."""
        n, own = rows.number, rows.logs[np.arange(len(rows.labels)), rows.labels]

        def slope(u: float) -> float:
            b = np.exp(u)
            expected = (softmax(b * rows.logs) * rows.logs).sum(axis=1)
            return float(b * np.mean(rows.weights * (expected - own)) + u / (n * _SCALE**2))

        low, high = -_WIDEST, _WIDEST
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if slope(middle) > 0 else (middle, high)
        return cls(float(np.exp((low + high) / 2)), float(1 / (n + 1)))

    def probabilities(self, logs: np.ndarray) -> np.ndarray:
        """Return tempered probabilities of logarithms as they were given."""
        return (1 - self.mixed) * softmax(self.power * logs) + self.mixed / logs.shape[1]


@dataclass(frozen=True)
class _Scaling(ClassMap):
    """``softmax(X + M X + b)``, mixed with the input by ``1 / (n + 1)``: M diagonal, or full.

    The ridge is ``(k / n) (|b|^2 + |diag M|^2) + (k (k - 1) / n) |M without its diagonal|^2`` times `strength`.
    """

    full: ClassVar[bool]
    strength: ClassVar[float] = 1.0
    matrix: np.ndarray
    shift: np.ndarray
    mixed: float

    @classmethod
    def fit(cls, rows: Rows, start: Self | None = None) -> Self:
        """Minimise the mean log loss with the ridge, which is strictly convex, by L-BFGS from `start` or 0."""
        from scipy.optimize import minimize  # imported when needed: the import of kernelcal stays light

        k, n, count = rows.classes, rows.number, len(rows.labels)
        ridge = np.full((k, k), k * (k - 1) / n) if cls.full else np.zeros((k, k))
        np.fill_diagonal(ridge, k / n)
        ridge, of_shift = cls.strength * ridge, cls.strength * k / n
        own, spot = np.arange(count), (slice(None), slice(None)) if cls.full else np.diag_indices(k)
        size = k * k if cls.full else k

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            matrix, shift = np.zeros((k, k)), theta[size:]
            matrix[spot] = theta[:size].reshape(matrix[spot].shape)
            scores = rows.logs + (rows.logs @ matrix.T if cls.full else rows.logs * theta[:size]) + shift
            top = scores.max(axis=1, keepdims=True)
            q = np.exp(scores - top)
            totals = q.sum(axis=1, keepdims=True)
            value = rows.weights @ (np.log(totals[:, 0]) + top[:, 0] - scores[own, rows.labels]) / count
            q *= rows.weights[:, None] / (totals * count)
            q[own, rows.labels] -= rows.weights / count
            by_matrix = q.T @ rows.logs if cls.full else np.diag((q * rows.logs).sum(axis=0))
            gradient = np.concatenate(
                [(by_matrix + 2 * ridge * matrix)[spot].ravel(), q.sum(axis=0) + 2 * of_shift * shift]
            )
            return value + float((ridge * matrix**2).sum() + of_shift * (shift @ shift)), gradient

        begin = np.zeros(size + k) if start is None else np.concatenate([start.matrix[spot].ravel(), start.shift])
        found = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 500, "gtol": 1e-6}).x
        matrix = np.zeros((k, k))
        matrix[spot] = found[:size].reshape(matrix[spot].shape)
        return cls(matrix, found[size:], float(1 / (n + 1)))

    def probabilities(self, logs: np.ndarray) -> np.ndarray:
        """Return the probabilities, never smaller than the mixed share of the input's."""
        moved = logs @ self.matrix.T if self.full else logs * np.diag(self.matrix)
        return (1 - self.mixed) * softmax(logs + moved + self.shift) + self.mixed * softmax(logs)

    def state(self) -> dict[str, Any]:
        """Return its numbers: of a diagonal matrix the diagonal."""
        own = super().state()
        return own if self.full else {**own, "matrix": np.diag(self.matrix).tolist()}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Self:
        """Make it of its numbers."""
        made = super().of_state(state)
        return made if cls.full else cls(np.diag(made.matrix), made.shift, made.mixed)


@register("a scale and a shift of every class, shrunk (structured vector scaling)")
class VectorScaling(_Scaling):
    """A scale and a shift of every class."""

    name: ClassVar[str] = "svs"
    full: ClassVar[bool] = False


@register("the same, shrunk by a quarter")
class LooseVectorScaling(VectorScaling):
    """A scale and a shift of every class, with a quarter of the ridge."""

    name: ClassVar[str] = "svs, ridge / 4"
    strength: ClassVar[float] = 0.25


@register("a scale and a shift of every class on the scale of probabilities", serves="up to 40 classes")
class BoundedScaling(VectorScaling):
    """``softmax(X + M X + b)`` of ``X = k p``, which equals log p to first order where classes are equally likely.

    However sure p is, the odds that it makes are bounded: for models whose surest predictions are the worst.
    """

    name: ClassVar[str] = "bounded"
    tempered: ClassVar[bool] = False

    @classmethod
    def fit(cls, rows: Rows, start: Self | None = None) -> Self:
        """Fit to probabilities."""
        return super().fit(Rows(_stretched(rows.logs), rows.labels, rows.weights), start)

    def probabilities(self, logs: np.ndarray) -> np.ndarray:
        """Return probabilities of logarithms as they were given."""
        return super().probabilities(_stretched(logs))


def _stretched(logs: np.ndarray) -> np.ndarray:
    return logs.shape[1] * softmax(logs)


@register("a matrix of all classes, shrunk (structured matrix scaling)", serves="up to 40 classes")
class MatrixScaling(_Scaling):
    """A matrix and a shift."""

    name: ClassVar[str] = "sms"
    full: ClassVar[bool] = True


@register("the same, shrunk by a quarter", serves="up to 40 classes")
class LooseMatrixScaling(MatrixScaling):
    """A matrix and a shift, with a quarter of the ridge."""

    name: ClassVar[str] = "sms, ridge / 4"
    strength: ClassVar[float] = 0.25


@register("the same, shrunk by a sixteenth", serves="up to 40 classes, where asked for")
class LoosestMatrixScaling(MatrixScaling):
    """A matrix and a shift, with a sixteenth of the ridge."""

    name: ClassVar[str] = "sms, ridge / 16"
    strength: ClassVar[float] = 1 / 16


@register("isotonic regression of every class against the rest", serves="from 500 rows")
@dataclass(frozen=True)
class Isotonic(ClassMap):
    """A step of every class: isotonic regression of being it on its logarithm, mixed with the input, over the sum."""

    name: ClassVar[str] = "isotonic"
    ends: Sequence[np.ndarray]
    steps: Sequence[np.ndarray]
    mixed: float

    @classmethod
    def fit(cls, rows: Rows, start: Self | None = None) -> Self:
        """Fit class by class."""
        from scipy.optimize import isotonic_regression  # as above

        ends, steps = [], []
        for k in range(rows.classes):
            x, inverse = np.unique(rows.logs[:, k], return_inverse=True)
            mass = np.bincount(inverse, rows.weights)
            share = np.bincount(inverse, rows.weights * (rows.labels == k)) / np.where(mass > 0, mass, 1)
            fitted = isotonic_regression(share, weights=np.maximum(mass, 1e-12)).x
            first_of = np.flatnonzero(np.diff(fitted, prepend=-1.0))
            ends.append((x[first_of[1:]] + x[first_of[1:] - 1]) / 2)
            steps.append(fitted[first_of])
        return cls(ends, steps, float(np.sqrt(rows.classes / (rows.number + rows.classes))) / 2)

    def probabilities(self, logs: np.ndarray) -> np.ndarray:
        """Return the steps over their sum."""
        given = softmax(logs)
        stepped = [s[np.searchsorted(e, x)] for e, s, x in zip(self.ends, self.steps, logs.T, strict=True)]
        p = (1 - self.mixed) * np.stack(stepped, axis=1) + self.mixed * given
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def state(self) -> dict[str, Any]:
        """Return its numbers."""
        return {"ends": [e.tolist() for e in self.ends], "steps": [s.tolist() for s in self.steps], "mixed": self.mixed}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Self:
        """Make it of its numbers."""
        arrays = {name: [np.array(x, dtype=float) for x in state[name]] for name in ("ends", "steps")}
        return cls(arrays["ends"], arrays["steps"], state["mixed"])
