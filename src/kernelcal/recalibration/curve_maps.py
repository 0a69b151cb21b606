"""Maps of two classes: monotone curves of the logit, and Venn-Abers predictions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from kernelcal.recalibration.class_maps import ClassMap, Rows, register

__all__ = ["Platt", "Quadratic", "Spline", "VennAbers"]


_KNOTS = (0.1, 0.3, 0.5, 0.7, 0.9)  # quantiles of the logits
_PLACES = 1000  # of the scores that Venn-Abers tells apart: each costs an isotonic regression


@dataclass(frozen=True)
class _Curve(ClassMap):
    """A monotone curve of the logit x of two classes: ``q = sigmoid(shift + sum_j slopes_j B_j(x))``, all slopes >= 0.

    The basis is that of the antiderivatives of hats: slopes are those of the curve at the knots, linear in between
    (quadratic), or constant between them (line, spline); outside the outer knots the outer slopes go on. A ridge of
    1 / n draws the coefficients of the usual powers towards the identity.
    """

    knots: np.ndarray
    shift: float
    slopes: np.ndarray

    @staticmethod
    @abstractmethod
    def knots_of(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Choose the knots, by the logits alone."""

    @staticmethod
    @abstractmethod
    def basis(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
        """Antiderivatives at x, shape (n, J)."""

    @staticmethod
    @abstractmethod
    def usual(knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Matrix from (shift, slopes) to the usual coefficients, and what these are of the identity."""

    @classmethod
    def fit(cls, rows: Rows, start: Self | None = None) -> Self:
        """Minimise the mean log loss with the ridge under bounds, which is convex."""
        from scipy.optimize import minimize  # imported when needed: the import of kernelcal stays light

        x = rows.logs[:, 1] - rows.logs[:, 0]
        knots, n, sign = cls.knots_of(x, rows.weights), rows.number, np.where(rows.labels == 1, 1.0, -1.0)
        design = np.column_stack([np.ones(len(x)), cls.basis(x, knots)])
        to_usual, identity = cls.usual(knots)

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            margin = sign * (design @ theta)
            off = to_usual @ theta - identity
            wrong = np.exp(-np.logaddexp(0.0, margin))  # probability of the other label
            value = float(np.mean(rows.weights * np.logaddexp(0.0, -margin)) + off @ off / n)
            return value, -(rows.weights * sign * wrong) @ design / len(x) + 2 / n * (to_usual.T @ off)

        begin = np.concatenate([[0.0], np.ones(design.shape[1] - 1)])
        bounds = [(None, None)] + [(0.0, None)] * (design.shape[1] - 1)
        found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
        return cls(knots, float(found[0]), found[1:])

    def probabilities(self, logs: np.ndarray) -> np.ndarray:
        """Return probabilities of both classes."""
        score = self.shift + self.basis(logs[:, 1] - logs[:, 0], self.knots) @ self.slopes
        return np.stack([np.exp(-np.logaddexp(0.0, score)), np.exp(-np.logaddexp(0.0, -score))], axis=1)


@register("slope and intercept of the logit, shrunk towards 1 and 0", serves="two classes")
class Platt(_Curve):
    """``sigmoid(a + b x)``."""

    name: ClassVar[str] = "platt"

    @staticmethod
    def knots_of(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return none."""
        return np.empty(0)

    @staticmethod
    def basis(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
        """Return the logit."""
        return x[:, None]

    @staticmethod
    def usual(knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return shift and slope, 0 and 1."""
        return np.eye(2), np.array([0.0, 1.0])


@register("a monotone parabola of the logit, shrunk towards the identity", serves="two classes")
class Quadratic(_Curve):
    """``sigmoid(a + b x + c x^2)`` inside the range of the calibration rows, straight lines outside."""

    name: ClassVar[str] = "quadratic"

    @staticmethod
    def knots_of(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the range, of width 1e-3 at least."""
        low, high = float(x.min()), float(x.max())
        middle, half = (low + high) / 2, max((high - low) / 2, 5e-4)
        return np.array([middle - half, middle + half])

    @staticmethod
    def basis(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
        """Antiderivatives from 0 of the falling and the rising hat."""

        def rising(t: np.ndarray) -> np.ndarray:
            s = (t - knots[0]) / (knots[1] - knots[0])
            inside = np.clip(s, 0, 1)
            return (knots[1] - knots[0]) * (inside**2 / 2 + np.maximum(s - 1, 0))

        up = rising(x) - rising(np.zeros(1))
        return np.column_stack([x - up, up])

    @staticmethod
    def usual(knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return shift, slope at 0 and curvature, of the identity 0, 1, 0."""
        low, high = knots
        half = 1 / (2 * (high - low))
        return np.array([[1, 0, 0], [0, 1 + 2 * half * low, -2 * half * low], [0, -half, half]]), np.array([0, 1.0, 0])


@register("a monotone line with five kinks at quantiles of the logits", serves="two classes")
class Spline(_Curve):
    """A broken line of the logit."""

    name: ClassVar[str] = "spline"

    @staticmethod
    def knots_of(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return distinct quantiles."""
        return np.unique(np.quantile(x, _KNOTS))

    @staticmethod
    def basis(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
        """Length of every segment below x, from 0: negative where x lies left of it."""
        ends = np.concatenate([[-np.inf], knots, [np.inf]])
        above = [np.clip(x, a, b) - np.clip(0.0, a, b) for a, b in pairwise(ends)]
        return np.stack(above, axis=1)

    @staticmethod
    def usual(knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return shift, first slope and changes of slope at the knots, of the identity 0, 1, 0, ..."""
        k = len(knots) + 2
        matrix = np.eye(k)
        matrix[np.arange(2, k), np.arange(1, k - 1)] = -1
        return matrix, np.concatenate([[0.0, 1.0], np.zeros(k - 2)])


@register("isotonic regression with either label added (Vovk, Petej 2014)", serves="two classes, from 500 rows")
@dataclass(frozen=True)
class VennAbers(ClassMap):
    """``p1 / (1 - p0 + p1)``: what isotonic regression says with the row added as a no, and as a yes."""

    name: ClassVar[str] = "venn-abers"
    places: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def fit(cls, rows: Rows, start: Self | None = None) -> Self:
        """Pool equal logits, of very many rows neighbours, and add a row at each place and between them."""
        x = rows.logs[:, 1] - rows.logs[:, 0]
        distinct, inverse = np.unique(x, return_inverse=True)
        if len(distinct) > _PLACES:
            order = np.argsort(np.argsort(x, kind="stable"))
            pooled = order * _PLACES // len(x)
            pooled = pooled[np.searchsorted(np.sort(x), x)]  # equal logits stay together: that of the first of them
            _, inverse = np.unique(pooled, return_inverse=True)
        mass = np.bincount(inverse, rows.weights)
        events = np.bincount(inverse, rows.weights * (rows.labels == 1))
        lowest = np.full(len(mass), np.inf)
        highest = np.full(len(mass), -np.inf)
        np.minimum.at(lowest, inverse, x)
        np.maximum.at(highest, inverse, x)
        low, high = (cls._added(mass, events, label) for label in (0.0, 1.0))
        return cls((lowest[1:] + highest[:-1]) / 2, low, high)

    @staticmethod
    def _added(mass: np.ndarray, events: np.ndarray, label: float) -> np.ndarray:
        """Return the fitted value at every place if one row of this label is added there."""
        from scipy.optimize import isotonic_regression  # as above

        fitted = np.empty(len(mass))
        for place in range(len(mass)):
            weights, values = mass.copy(), events.copy()
            weights[place] += 1
            values[place] += label
            fitted[place] = isotonic_regression(values / weights, weights=weights).x[place]
        return fitted

    def probabilities(self, logs: np.ndarray) -> np.ndarray:
        """Return probabilities of both classes: those of the place that is nearest."""
        at = np.searchsorted(self.places, logs[:, 1] - logs[:, 0])
        p = self.high[at] / (1 - self.low[at] + self.high[at])
        return np.stack([1 - p, p], axis=1)
