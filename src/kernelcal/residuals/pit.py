"""Residuals on the scale of probability: features of the places of outcomes in their predicted distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, like, namespace, to_double, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import PIT
from kernelcal.predictions import Normal, RealPredictions, Samples, VectorNormal
from kernelcal.residuals.base import FeatureResidual

__all__ = ["PITResidual", "has_places"]


_NODES = np.sqrt(0.6) * np.array([-1.0, 0.0, 1.0])  # Gauss-Legendre: exact for polynomials up to order 5
_SHARES = np.array([5.0, 8.0, 5.0]) / 18

_LIBRARIES = (  # of special functions with a gradient, by the first word of the module of an array
    ("torch", "torch.special"),
    ("jax", "jax.scipy.special"),
    ("cupy", "cupyx.scipy.special"),
)


@dataclass(frozen=True, eq=False)
class OutcomePlaces:
    """Where outcomes lie in their predicted distributions: P(Z < y) and P(Z <= y), each of shape (..., n, c)."""

    low: Array
    high: Array

    @property
    def middle(self) -> Array:
        """Middles of the jumps."""
        return self.low if self.low is self.high else 0.5 * (self.low + self.high)

    @property
    def half(self) -> np.ndarray | None:
        """Half the jumps; None where there are none."""
        return None if self.low is self.high else 0.5 * (self.high - self.low)


@dataclass(frozen=True, eq=False)
class PITResidual(FeatureResidual):
    """Residual features ``a_j phi_j(u_i)``, ``u_i = F_i(y_i)``, of a `PIT` kernel: all have mean 0 if calibrated.

    Attributes
    ----------
    predictions : RealPredictions
        What was predicted.
    kernel : PIT
        Target kernel.
    weights : numpy.ndarray of shape (n,), or None
        Case weights.

    Notes
    -----
    Cost: a distribution function and as many features as the kernel has, a row. Gradients flow for normal numbers and
    vectors.
    """

    predictions: RealPredictions
    kernel: PIT
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, predictions: RealPredictions, kernel: PIT, weights: np.ndarray | None = None) -> PITResidual:
        """Residual of predictions that have distribution functions."""
        if not is_numpy(predictions.mean) and not isinstance(predictions, Normal | VectorNormal):
            library = type(predictions.mean).__module__.split(".")[0]
            raise InputError(
                f"{kernel} is computed in NumPy for {type(predictions).__name__} and keeps no gradient, got an array "
                f"of {library}: move the predictions to NumPy, or choose a target_kernel whose expectation has a "
                "closed form in that library"
            )
        if not has_places(predictions):
            raise InputError(
                f"{kernel} needs distribution functions, which {type(predictions).__name__} of these targets does not "
                "have: pass a target kernel on the axis of the targets, such as Spectral(Gaussian())"
            )
        return cls(predictions, kernel, weights)

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, index: Any) -> PITResidual:
        weights = None if self.weights is None else self.weights[index]
        return replace(self, predictions=self.predictions[index], weights=weights)

    @property
    def continuous(self) -> bool:
        """Whether no outcome has a probability of its own."""
        return bool(self.predictions.continuous)

    @cached_property
    def _parts(self) -> list[Any]:
        """Predictions of one number each, whose places are those of a target; none of normal vectors."""
        batch = self.predictions
        if not batch.event_shape:
            return [batch]
        return [] if isinstance(batch, VectorNormal) else [batch.marginal(k) for k in range(batch.dimension)]

    @property
    def views(self) -> int:
        """Number of places of one target: 1, or of vectors one a component and, of normal ones, the distance."""
        d = self.predictions.dimension
        return len(self._parts) or (d + 1 if d > 1 else 1)

    @property
    def dimension(self) -> int:
        """Number of features."""
        return self.kernel.size * self.views

    def bound(self) -> float:
        """Bound of |<r_i, r_j>|: that of the kernel."""
        return self.kernel.bound()

    def double(self) -> PITResidual:
        """Return the same in NumPy and float64."""
        return replace(self, predictions=self.predictions.map_arrays(to_double))

    def features(self, targets: np.ndarray) -> Array:
        """Features of one set of targets, shape (n, r), in the library of the predictions."""
        values = self._features(self.places(targets))
        return values if self.weights is None else values * like(self.weights, values)[:, None]

    def batch(self, targets: np.ndarray) -> np.ndarray:
        """Features of many sets of targets as one array of shape (n, B, r)."""
        numpy = self if is_numpy(self.predictions.mean) else self.double()
        return numpy.batch_of(numpy.places(targets))

    def batch_of(self, places: OutcomePlaces) -> np.ndarray:
        """Features of places of shape (B, n, c) in NumPy, as one array of shape (n, B, r)."""
        values = np.ascontiguousarray(np.swapaxes(self._features(places), 0, 1))
        if self.weights is not None:
            values *= self.weights[:, None, None]
        return values

    def by_feature(self, places: OutcomePlaces) -> np.ndarray:
        """Features of places of shape (B, n, c) in NumPy, one feature after the other: shape (r, B, n)."""
        low, half = places.low.transpose(2, 0, 1), places.half
        values = np.empty((len(low), self.kernel.size, *low.shape[1:]))
        amplitudes = self.kernel.amplitudes / math.sqrt(self.views)
        if half is None and self.kernel.features == "polynomials":
            for own, u in zip(values, low, strict=True):
                _write_polynomials(u, amplitudes, own)
        else:
            features = self._features(places).reshape(*places.low.shape, -1)
            values[:] = np.moveaxis(features, (-2, -1), (0, 1))
        values = values.reshape(-1, *low.shape[1:])
        return values if self.weights is None else np.multiply(values, self.weights, out=values)

    def places_of_scores(self, scores: np.ndarray) -> OutcomePlaces:
        """Where outcomes of continuous laws of one number lie, by their normal scores (..., n)."""
        return _of_scores(scores[..., None])

    def places(self, targets: np.ndarray) -> OutcomePlaces:
        """Where targets of shape (..., n, *event_shape) lie."""
        batch = self.predictions
        if isinstance(batch, Normal):
            return _of_scores(((like(targets, batch.mean) - batch.mean) / batch.std)[..., None])
        if isinstance(batch, VectorNormal):
            z = batch.whiten(like(targets, batch.mean) - batch.mean)
            return _with_distance(z) if batch.dimension > 1 else _of_scores(z)
        vector = bool(batch.event_shape)
        parts = [_places(part, targets[..., k] if vector else targets) for k, part in enumerate(self._parts)]
        low = np.stack([part.low for part in parts], axis=-1)
        if all(part.half is None for part in parts):
            return OutcomePlaces(low, low)
        return OutcomePlaces(low, np.stack([part.high for part in parts], axis=-1))

    def _features(self, places: OutcomePlaces) -> Array:
        """Features of shape (..., n, c), as (..., n, r); of several places each counts by the root of its share."""
        columns = _FEATURES[self.kernel.features](places, self.kernel.size)
        amplitudes = self.kernel.amplitudes / math.sqrt(self.views)
        xp = namespace(places.low)
        if places.half is not None:  # a jump from 0 to 1 says nothing, and no rounding either
            columns = [np.where(places.half < 0.5, column, 0.0) for column in columns]
        parts = [float(a) * column for a, column in zip(amplitudes, columns, strict=True)]
        if self.views == 1:
            return xp.stack([part[..., 0] for part in parts], axis=-1)
        stacked = xp.stack(parts, axis=-1)
        return xp.reshape(stacked, (*stacked.shape[:-2], self.dimension))


def has_places(predictions: RealPredictions) -> bool:
    """Tell whether targets have places: whether there are distribution functions, of vectors those of components."""
    if isinstance(predictions, VectorNormal):
        return True
    if predictions.event_shape:
        try:
            predictions = predictions[:1].marginal(0)
        except InputError:
            return False
    return predictions.has_cdf


def _places(batch: RealPredictions, y: np.ndarray) -> OutcomePlaces:
    if batch.continuous:
        u = batch.cdf(y)
        return OutcomePlaces(u, u)
    if isinstance(batch, Samples) and not batch.exchangeable:  # no place among equals: the draws are the law
        return OutcomePlaces(batch.cdf_below(y), batch.cdf(y))
    return OutcomePlaces(*batch.pit_interval(y))


def _of_scores(z: Array) -> OutcomePlaces:
    u = _special("ndtr", z)
    return OutcomePlaces(u, u)


def _with_distance(z: Array) -> OutcomePlaces:
    """OutcomePlaces of whitened components, and of the squared distance, chi-square with d degrees of freedom."""
    xp = namespace(z)
    half = 0.5 * xp.sum(z * z, axis=-1)
    distance = _special("gammainc", xp.full_like(half, 0.5 * z.shape[-1]), half)
    u = xp.concat([_special("ndtr", z), distance[..., None]], axis=-1)
    return OutcomePlaces(u, u)


def _special(name: str, *arrays: Array) -> Array:
    """Value of a function of scipy.special, by the library of the arrays where that has it, with its gradient."""
    import importlib  # imported when needed: the import of kernelcal stays light

    module = type(arrays[-1]).__module__
    own = next((library for word, library in _LIBRARIES if module.startswith(word)), None)
    if own is not None:
        return getattr(importlib.import_module(own), name)(*arrays)
    value = getattr(importlib.import_module("scipy.special"), name)(*map(to_numpy, arrays))
    return like(np.asarray(value), arrays[-1])


def _waves(places: OutcomePlaces, size: int) -> list[Array]:
    """``sqrt(2) cos(j pi u)``; over a jump of half width h times ``sin(j pi h) / (j pi h)``, which is its mean."""
    xp, half = namespace(places.low), places.half
    first = xp.cos(math.pi * places.middle)
    before, now = xp.ones_like(first), first
    columns = []
    for j in range(1, size + 1):
        columns.append(math.sqrt(2) * (now if half is None else now * np.sinc(j * half)))
        before, now = now, 2 * first * now - before
    return columns


def _legendre(places: OutcomePlaces, size: int) -> list[Array]:
    half = places.half
    if half is None:
        return _polynomials(places.middle, size)
    total = [np.zeros_like(half) for _ in range(size)]
    for node, share in zip(_NODES, _SHARES, strict=True):
        for sum_, column in zip(total, _polynomials(places.middle + node * half, size), strict=True):
            sum_ += share * column
    return total


def _polynomials(u: Array, size: int) -> list[Array]:
    """``sqrt(2 k + 1) P_k(2 u - 1)``, k = 1, ..., by the recurrence of Bonnet."""
    x = 2 * u - 1
    before, now, columns = namespace(x).ones_like(x), x, []
    for k in range(1, size + 1):
        columns.append(math.sqrt(2 * k + 1) * now)
        before, now = now, ((2 * k + 1) * x * now - k * before) / (k + 1)
    return columns


def _write_polynomials(u: np.ndarray, amplitudes: np.ndarray, out: np.ndarray) -> None:
    """The same times amplitudes, written to `out` with few passes over memory: the recurrence of the multiples."""
    scales = [1.0] + [float(a) * math.sqrt(2 * k + 1) for k, a in enumerate(amplitudes, start=1)]
    x = 2 * u
    x -= 1
    np.multiply(x, scales[1], out=out[0])
    for k in range(1, len(out)):
        now = out[k]
        np.multiply(x, out[k - 1], out=now)
        now *= (2 * k + 1) / (k + 1) * scales[k + 1] / scales[k]
        before = k / (k + 1) * scales[k + 1] / scales[k - 1]
        now -= before if k == 1 else before * out[k - 2]


_FEATURES: dict[str, Callable[[OutcomePlaces, int], list[Array]]] = {
    "levels": _waves,
    "polynomials": _legendre,
}
