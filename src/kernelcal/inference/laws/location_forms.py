"""The forms of the calibration mean embedding test, and the known covariance of residuals at locations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.errors import InputError
from kernelcal.kernels import Dirac, Gaussian, Integrator, Kernel, Scaled, Sum, plan, point
from kernelcal.kernels.embeddings import merged
from kernelcal.predictions import Samples
from kernelcal.randomness import generator_of
from kernelcal.statistics import (
    ClassFunctions,
    KernelFunctions,
    PlaceFunctions,
    Prepared,
    PreparedUCME,
    ResidualFunctions,
    SpectralFunctions,
)

__all__ = [
    "ROUNDING",
    "EmpiricalForm",
    "KnownForm",
    "LocationCovariance",
    "LocationForm",
    "Whitening",
    "known_covariance",
]


_NUMBERS = 2**20  # of one part: rows times squared number of locations

_TOTAL_DRAWS, _LEAST_DRAWS, _MOST_DRAWS = 200_000, 100, 2_000

Products = Callable[[Any], np.ndarray]  # predictions -> shape (n, pairs)

Moments = Callable[[slice], np.ndarray]  # rows -> E k(z_j, Z_i) k(z_l, Z_i), shape (rows, J, J)


@dataclass(frozen=True, eq=False)
class LocationCovariance:
    """Covariance ``V_jl = sum_i c_ij c_il Cov(k(z_j, Z_i), k(z_l, Z_i))`` of the sums at J locations.

    Attributes
    ----------
    matrix : numpy.ndarray of shape (J, J)
        V.
    squares : numpy.ndarray of shape (J,)
        ``sum_i c_ij^2 E k(z_j, Z_i)^2``, the size of the numbers whose difference the diagonal is.
    notes : tuple of str
        How it was computed, where not in closed form.
    """

    matrix: np.ndarray
    squares: np.ndarray
    notes: tuple[str, ...] = ()


def known_covariance(functions: ResidualFunctions, coefficients: np.ndarray) -> LocationCovariance:
    """Covariance of sums of residual functions with coefficients of shape (n, J), from the predictions alone.

    In closed form for classes (sums over labels), for spectral kernels (characteristic functions at sums and
    differences of the frequencies), for ensembles (sums over their draws), and for Gaussian kernels under every family
    that has their expectation; for places of continuous outcomes, which are uniform.
    Otherwise from 100 to 2,000 seeded draws a row. Cost: O(n J^2).
    """
    if isinstance(functions.predictions, Samples):
        return _over_draws(functions, coefficients, *_members(functions.predictions))
    moments = _moments(functions)
    if moments is None:
        size = min(max(_TOTAL_DRAWS // len(coefficients), _LEAST_DRAWS), _MOST_DRAWS)
        notes = (
            f"the covariance at the test locations has no closed form for this target kernel: it was taken from {size} "
            "seeded draws a row",
        )
        return _over_draws(functions, coefficients, *_drawn(functions.predictions, size), notes=notes)
    return _in_closed_form(moments, functions, coefficients)


def _in_closed_form(moments: Moments, functions: Any, c: np.ndarray) -> LocationCovariance:
    number = c.shape[1]
    matrix, squares = np.zeros((number, number)), np.zeros(number)
    for part in row_slices(len(c), _NUMBERS // number**2):
        products, mean, rows = moments(part), _mean(functions, part), c[part]
        squares += np.einsum("nj,njj->j", rows**2, products)
        products = products - mean[:, :, None] * mean[:, None, :]
        matrix += np.einsum("nj,nl,njl->jl", rows, rows, products, optimize=True)
    return LocationCovariance(0.5 * (matrix + matrix.T), squares)


def _mean(functions: Any, part: slice) -> np.ndarray:
    if isinstance(functions, SpectralFunctions):
        return functions.residual.mean[part] @ functions.features.T
    if isinstance(functions, PlaceFunctions):
        return np.zeros((len(range(*part.indices(len(functions.predictions)))), len(functions.features)))
    return functions.mean[part]


@singledispatch
def _moments(functions: Any) -> Moments | None:
    """Expected products of the kernel at two test targets, or None where they have no closed form."""
    return None


@_moments.register
def _of_classes(functions: ClassFunctions) -> Moments:
    rows, p = functions.rows, functions.predictions.probabilities
    number, m = rows.shape
    products = (rows[:, None, :] * rows[None, :, :]).reshape(number * number, m)
    return lambda part: (p[part] @ products.T).reshape(-1, number, number)


@_moments.register
def _of_places(functions: PlaceFunctions) -> Moments | None:
    """Features of one uniform place are orthogonal; those of several places, or of jumps, are drawn."""
    residual = functions.residual
    if residual.views > 1 or not functions.predictions.continuous:
        return None
    scaled = functions.features * residual.kernel.amplitudes
    products = scaled @ scaled.T
    return lambda part: np.broadcast_to(products, (len(residual[part]), *products.shape))


@_moments.register
def _of_kernels(functions: KernelFunctions) -> Moments | None:
    z, predictions = functions.z, functions.predictions
    left, right = np.repeat(z, len(z), axis=0), np.concatenate([z] * len(z))
    products = _expected_products(functions.kernel, predictions, left, right, functions.integrator)
    if products is None:
        return None
    return lambda part: products(predictions[part]).reshape(-1, len(z), len(z))


@_moments.register
def _of_spectra(functions: SpectralFunctions) -> Moments:
    """``2 cos a cos b = cos(a - b) + cos(a + b)``: the characteristic function at differences and sums."""
    z, predictions = functions.z, functions.predictions
    frequencies, amplitudes = functions.kernel.nodes(predictions.dimension if predictions.event_shape else None)
    phases = np.exp(1j * (z @ frequencies.T if predictions.event_shape else z[:, None] * frequencies))  # (J, D)
    weighted = phases * amplitudes**2
    apart = np.concatenate([frequencies[:, None] - frequencies, frequencies[:, None] + frequencies])
    apart = apart.reshape(-1, *frequencies.shape[1:])  # (2 D D, ...)
    differences, sums = (np.einsum("jk,lm->kmjl", weighted, right) for right in (weighted.conj(), weighted))
    waves = 0.5 * np.concatenate([differences, sums]).reshape(len(apart), -1)

    def moments(part: slice) -> np.ndarray:
        found = [_products(predictions[rows], apart, waves) for rows in _parts(part, len(predictions), len(apart))]
        return np.concatenate(found).reshape(-1, len(z), len(z))

    return moments


def _products(predictions: Any, frequencies: np.ndarray, waves: np.ndarray) -> np.ndarray:
    return (predictions.characteristic(frequencies).conj() @ waves).real


def _parts(part: slice, n: int, width: int) -> list[slice]:
    start, stop, _ = part.indices(n)
    return [slice(start + s.start, start + s.stop) for s in row_slices(stop - start, _NUMBERS // width)]


def _members(predictions: Samples) -> tuple[Iterator[np.ndarray], Iterator[np.ndarray]]:
    """Draws of an ensemble as sets of targets, and their weights."""
    draws = np.moveaxis(predictions.draws, 1, 0)
    n, size = len(predictions), predictions.size
    weights = np.full((n, size), 1 / size) if predictions.weights is None else predictions.weights
    return iter(draws), iter(weights.T)


def _drawn(predictions: Any, size: int) -> tuple[Iterator[np.ndarray], Iterator[np.ndarray]]:
    """Seeded draws, one set of targets after the other."""
    rng = generator_of(0, "draws of a covariance")
    weights = np.full(len(predictions), 1 / size)
    return (predictions.sample(rng)[0] for _ in range(size)), (weights for _ in range(size))


def _over_draws(
    functions: ResidualFunctions,
    c: np.ndarray,
    draws: Iterator[np.ndarray],
    weights: Iterator[np.ndarray],
    notes: tuple[str, ...] = (),
) -> LocationCovariance:
    number = c.shape[1]
    matrix, squares, mean = np.zeros((number, number)), np.zeros(number), _mean(functions, slice(None))
    for targets, w in zip(draws, weights, strict=True):
        scale, values = np.sqrt(w)[:, None] * c, functions.values(targets)
        rows = scale * values
        matrix += rows.T @ rows
        squares += ((scale * (values + mean)) ** 2).sum(axis=0)
    return LocationCovariance(matrix, squares, notes)


def _expected_products(
    kernel: Kernel, predictions: Any, t: np.ndarray, u: np.ndarray, integrator: Integrator | None = None
) -> Products | None:
    """Function from predictions to ``E k(t_s, Z_i) k(u_s, Z_i)``, shape (n, S), or None where there is no closed form.

    The targets t and u have shape (S, *event_shape). Sums and multiples of Gaussian and Dirac kernels have one under
    every family that has their expectations, and with an `integrator` under the others.
    """
    kernel = merged(kernel, len(predictions.event_shape))
    return _mixed(kernel, kernel, _Pairs(predictions, t, u, integrator))


@dataclass(frozen=True)
class _Pairs:
    """Where the products are asked for: predictions and pairs of test targets."""

    predictions: Any
    t: np.ndarray
    u: np.ndarray
    integrator: Integrator | None

    def apart(self, kernel: Kernel) -> np.ndarray:
        """Kernel values between both targets of every pair."""
        return point(kernel, self.t, self.u, len(self.predictions.event_shape))

    def expectations(self, kernel: Kernel, z: np.ndarray, factors: np.ndarray) -> Products:
        """Function that gives ``factors * E kernel(z, Z_i)``."""
        embedding = plan(kernel, self.predictions, self.integrator)
        return lambda p: factors * embedding.mean(p.map_arrays(lambda x: x[:, None, ...]), z[None, ...])


def _mixed(k: Kernel, other: Kernel, pairs: _Pairs) -> Products | None:
    if isinstance(k, Scaled | Sum):
        return _of_parts(k, lambda part: _mixed(part, other, pairs))
    if isinstance(other, Scaled | Sum):
        return _of_parts(other, lambda part: _mixed(k, part, pairs))
    if type(k) is Gaussian and type(other) is Gaussian:
        return _gaussians(k, other, pairs)
    if isinstance(k, Dirac) and isinstance(other, Dirac):
        return pairs.expectations(k, pairs.t, pairs.apart(k))
    return None


def _of_parts(kernel: Scaled | Sum, products: Callable[[Kernel], Products | None]) -> Products | None:
    """Bilinear: a multiple of what the part gives, a sum of what both parts give."""
    if isinstance(kernel, Scaled):
        inside = products(kernel.kernel)
        return None if inside is None else lambda p: kernel.factor * inside(p)
    left, right = products(kernel.left), products(kernel.right)
    return None if left is None or right is None else lambda p: left(p) + right(p)


def _gaussians(k: Gaussian, other: Gaussian, pairs: _Pairs) -> Products:
    """Product of two Gaussians in Z: a Gaussian between both targets, times one of their distance.

    For equal lengthscales l: ``exp(-|t - u|^2 / (4 l^2))`` times the Gaussian of lengthscale ``l / sqrt 2`` at the
    midpoint.
    """
    a, b = k.scale**2, other.scale**2
    between = (b * pairs.t + a * pairs.u) / (a + b)
    apart = k.with_lengthscale(float(np.sqrt(a + b)))
    narrow = k.with_lengthscale(float(np.sqrt(a * b / (a + b))))
    return pairs.expectations(narrow, between, pairs.apart(apart))


ROUNDING = 1e-12  # of the squares whose difference a variance is, and of the largest eigenvalue: below is no variance

_CLEARLY = 1e4  # a squared deviation in directions without variance counts above so many times the rounding

# Combinations of locations with a smaller variance are far from normal with few rows: at J = 10, d = 1, n = 16 the
# chi-square law rejects 8.4 % of calibrated models with them, 7.1 % without, at much the same power: experiments/cme.
_CUTOFF = 1e-5


class LocationForm(Prepared):
    """Q at the locations of fixed predictions, for many sets of targets.

    Attributes
    ----------
    n, locations : int
        Rows, and test locations.
    """

    def __init__(self, prepared: PreparedUCME) -> None:
        self.prepared, self.names, self.engine = prepared, ("CME",), prepared.engine
        self.bytes_per_draw = prepared.bytes_per_draw
        self.n, self.locations = prepared.alike.shape

    @abstractmethod
    def rank(self, targets: np.ndarray) -> int:
        """Rank of the covariance for one set of targets."""


class KnownForm(LocationForm):
    """``z' V^+ z`` with the sums z and their covariance V from the predictions."""

    def __init__(self, prepared: PreparedUCME) -> None:
        super().__init__(prepared)
        covariance = known_covariance(prepared.functions, prepared.alike)
        self.whitening = Whitening.of(covariance.matrix, covariance.squares, _CUTOFF)
        self.notes = covariance.notes

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n, ...): shape (B, 1)."""
        return self.whitening.squares(self.prepared.sums(targets))[:, None]

    def rank(self, targets: np.ndarray) -> int:
        """Rank of V."""
        return self.whitening.rank


class EmpiricalForm(LocationForm):
    """``n m' S^+ m`` with the mean m and the covariance S (ddof 1) of the observed vectors."""

    def __init__(self, prepared: PreparedUCME) -> None:
        super().__init__(prepared)
        if prepared.weights is not None:
            raise InputError("an empirical covariance takes no case weights: use CME(), whose covariance is known")
        if self.n < 2:
            raise InputError(f"an empirical covariance needs at least 2 rows, got {self.n}: use CME()")

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n, ...): shape (B, 1); every set of targets has its own S."""
        return np.array([[self._value(self.prepared.rows(y))] for y in targets])

    def rank(self, targets: np.ndarray) -> int:
        """Rank of S."""
        return self._whitening(self.prepared.rows(targets)).rank

    def _value(self, rows: np.ndarray) -> float:
        return self.n * float(self._whitening(rows).squares(rows.mean(axis=0)[None], leaving=False)[0])

    @staticmethod
    def _whitening(rows: np.ndarray) -> Whitening:
        return Whitening.of(np.atleast_2d(np.cov(rows, rowvar=False)), (rows**2).mean(axis=0))


@dataclass(frozen=True, eq=False)
class Whitening:
    """Pseudo-inverse of a covariance matrix V, through its correlation matrix.

    Locations far from all predictions have tiny variances and are as good as others: the correlation matrix tells them
    from rounding, the covariance matrix does not.

    Attributes
    ----------
    scale : numpy.ndarray of shape (J,)
        Standard deviations.
    vectors : numpy.ndarray of shape (J, J)
        Eigenvectors of the correlation matrix.
    values : numpy.ndarray of shape (J,)
        Eigenvalues, ascending.
    cutoff : float
        Eigenvalues below so much of the largest are left out.
    """

    scale: np.ndarray
    vectors: np.ndarray
    values: np.ndarray
    cutoff: float

    @classmethod
    def of(cls, matrix: np.ndarray, squares: np.ndarray, cutoff: float = ROUNDING) -> Whitening:
        """Decompose a covariance matrix; `squares` are the sizes of the numbers that its diagonal came from.

        A variance below rounding is zero, and rounding is the unit there.
        """
        variance, rounding = np.diag(matrix), ROUNDING * squares
        varies = variance > rounding
        scale = np.sqrt(np.maximum(variance, rounding))
        scale[scale == 0] = 1.0  # far from every prediction: the sum is zero as well
        correlation = np.where(np.outer(varies, varies), matrix / np.outer(scale, scale), 0.0)
        values, vectors = np.linalg.eigh(correlation)
        return cls(scale, vectors, values, cutoff)

    @property
    def kept(self) -> np.ndarray:
        """Which eigenvalues are used."""
        return self.values > self.cutoff * max(float(self.values[-1]), 0.0)

    @property
    def rank(self) -> int:
        """Rank of the matrix, above the cutoff."""
        return int(self.kept.sum())

    def squares(self, z: np.ndarray, *, leaving: bool = True) -> np.ndarray:
        """``z' V^+ z`` of vectors of shape (B, J).

        Vectors that clearly leave the range of V, which no draw with this covariance does, get the square of what is
        outside added, in units of rounding; without `leaving` it is left out.
        """
        w, kept = (z / self.scale) @ self.vectors, self.kept
        inside = (w[:, kept] ** 2 / self.values[kept]).sum(axis=1)
        if not leaving:
            return inside
        rounding = ROUNDING * max(float(self.values[-1]), 1.0)
        outside = (w[:, self.values <= rounding] ** 2).sum(axis=1) / rounding
        return inside + np.where(outside > _CLEARLY, outside, 0.0)
