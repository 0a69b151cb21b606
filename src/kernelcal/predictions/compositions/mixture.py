"""Mixtures of batches of any family for numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import array_api_compat
import numpy as np

from kernelcal.arrays import Array, as_array, concrete, is_numpy, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.border import finite_numbers, refuse_rows, rows_of
from kernelcal.predictions.compositions.quantiles import Quantiles
from kernelcal.predictions.continuous import Normal, normal_distance
from kernelcal.predictions.counts import count_quantile
from kernelcal.predictions.real import RealPredictions
from kernelcal.predictions.special_functions import choose, smallest_reaching
from kernelcal.predictions.sums import SUM_TOLERANCE

__all__ = ["Mixture"]


_INTERPOLATED = (
    "components are quantile forecasts: the mixture is one of the laws that are linear between their quantiles, which "
    "were not forecast, and tests of it are tests of these laws too"
)
_TEMPERED = (
    "temperature scaling was applied to every component of the mixture, with the weights unchanged: this is not the "
    "density of the mixture to the power 1/T"
)


@dataclass(frozen=True, eq=False)
class Mixture(RealPredictions):
    """Mixtures: component k of row i holds with probability ``weights[i, k]``.

    Parameters
    ----------
    weights : array of shape (n, K), (K,) for all rows, or None
        Probabilities of the components; None weighs them equally. Rows must sum to 1 and are divided by their sums,
        which then differ from 1 by rounding only. Weights of 0 are allowed: rows with fewer components have some.
    components : sequence of K batches
        Batches of one or several families with n rows and targets of one shape.

    Raises
    ------
    InputError
        If weights are no probabilities or components do not fit together.

    Notes
    -----
    Every method costs the sum over the components. Quantiles are found by bisection, exact to rounding. A mixture of
    counts counts. One that mixes counts, samples or point masses with densities has a distribution function, but no
    density: `log_prob` refuses it.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.predictions import Mixture, Normal
    >>> predictions = Mixture([0.25, 0.75], [Normal([0.0, 1.0], 1.0), Normal([4.0, 5.0], 1.0)])
    >>> predictions.mean
    array([3., 4.])
    >>> predictions.quantile(0.5).round(4)
    array([3.5694, 4.5694])
    """

    remedies: ClassVar[Mapping[str, str]] = {
        "wasserstein_coordinates": "mixtures have the metric MixtureWasserstein(); or use Euclidean(), or "
        "MMD(Gaussian(lengthscale))"
    }

    weights: Array
    components: tuple[RealPredictions, ...]
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        components = _checked_components(self.components)
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "weights", _checked_component_weights(self.weights, components))
        object.__setattr__(self, "counts", all(c.counts for c in components))
        notes = [note for c in components for note in c.notes]
        if any(isinstance(c, Quantiles) for c in components):
            notes.append(_INTERPOLATED)
        object.__setattr__(self, "notes", tuple(dict.fromkeys((*self.notes, *notes))))

    def __len__(self) -> int:
        return int(self.weights.shape[0])

    def __getitem__(self, index: Any) -> Self:
        index = checked_index(index)
        components = tuple(c[index] for c in self.components)
        return trusted(self, weights=take_rows(self.weights, index), components=components)

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to the weights and to the arrays of every component."""
        components = tuple(c.map_arrays(function) for c in self.components)
        return trusted(self, weights=function(self.weights), components=components)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: that of the components."""
        return self.components[0].event_shape

    @property
    def continuous(self) -> bool:
        """Whether no component has jumps."""
        return all(c.continuous for c in self.components)

    @property
    def columns(self) -> int:
        """The weights and what describes the components."""
        return sum(1 + c.columns for c in self.components)

    @property
    def uniforms(self) -> int:
        """One number for the component, and what the component takes."""
        return 1 + max(c.uniforms for c in self.components)

    @property
    def mean(self) -> Array:
        """Means: weighted sums of the means of the components."""
        return self._weighted([c.mean for c in self.components])

    @property
    def std(self) -> Array:
        """Standard deviations: variance within components plus variance of their means."""
        mean = self.mean
        squares = [c.std * c.std + (c.mean - mean) ** 2 for c in self.components]
        return namespace(mean).sqrt(self._weighted(squares))

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Choose a component by the first uniform number of a target; the component draws from the others."""
        chosen = choose(to_numpy(self.weights), uniforms[..., 0])
        drawn = np.zeros((*chosen.shape, *self.event_shape))
        for k, component in enumerate(self.components):
            rest = uniforms[..., 1 : 1 + component.uniforms]
            new = component.draw(rest if component.uniforms > 1 else rest[..., 0])
            picked = chosen == k
            drawn[picked] = new[picked]
        return drawn

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the density (probability of counts), shape (..., n): log-sum-exp over the components."""
        terms, largest = self._terms(y)
        xp = namespace(terms)
        with np.errstate(divide="ignore"):  # a target that every component excludes
            return largest[..., 0] + xp.log(xp.sum(xp.exp(terms - largest), axis=-1))

    def score(self, y: Array) -> Array:
        """``sum_k v_k s_k``, shape ``(..., n, *event_shape)``.

        The s_k are the scores of the components, the v_k their probabilities given the target.
        """
        scores = [c.score(y) for c in self.components]
        terms, largest = self._terms(y)
        xp = namespace(terms)
        shares = xp.exp(terms - largest)
        shares = shares / xp.sum(shares, axis=-1, keepdims=True)
        event, total = (None,) * len(self.event_shape), 0.0
        for k, score in enumerate(scores):
            share = shares[(..., k, *event)]
            score = to_numpy(score) if is_numpy(share) else score
            total = total + xp.where(share > 0, share * score, xp.zeros_like(score))
        return total

    def _terms(self, y: Array) -> tuple[Array, Array]:
        """Logarithms of weight times density of the components on a last axis, and the largest of them."""
        self._refuse_mixed()
        parts, weights = [c.log_prob(y) for c in self.components], self.weights
        if any(is_numpy(part) for part in parts):
            parts, weights = [to_numpy(part) for part in parts], to_numpy(weights)
        xp = namespace(weights)
        possible = weights > 0  # the logarithm never meets 0, whose gradient would be infinite
        logs = xp.where(possible, xp.log(xp.where(possible, weights, xp.ones_like(weights))), -xp.inf)
        terms = xp.stack([part + logs[..., k] for k, part in enumerate(parts)], axis=-1)
        largest = xp.max(terms, axis=-1, keepdims=True)
        return terms, xp.where(largest > -xp.inf, largest, xp.zeros_like(largest))

    def _refuse_mixed(self) -> None:
        kinds = {c.counts for c in self.components}
        if len(kinds) > 1:
            names = " and ".join(sorted({type(c).__name__ for c in self.components}))
            raise InputError(
                f"a mixture of {names} has neither a density nor probabilities of counts alone: use a score of its "
                "distribution function, such as the CRPS"
            )

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y): weighted sum."""
        return np.minimum(self._weighted_in_numpy([c.cdf(y) for c in self.components]), 1.0)  # 1 up to rounding

    def cdf_below(self, y: Array) -> np.ndarray:
        """P(Y < y): weighted sum."""
        return np.minimum(self._weighted_in_numpy([c.cdf_below(y) for c in self.components]), 1.0)

    def survival(self, y: Array) -> np.ndarray:
        """P(Y > y): weighted sum."""
        return np.minimum(self._weighted_in_numpy([c.survival(y) for c in self.components]), 1.0)

    @property
    def has_cdf(self) -> bool:
        """Whether all components have one."""
        return all(c.has_cdf for c in self.components)

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Smallest value whose distribution function reaches the levels, by bisection."""
        if self.counts:
            return count_quantile(self, levels)
        low, high = self._bracket(levels)
        return smallest_reaching(self.cdf, levels, low, high)

    def _bracket(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest quantile of the components that can occur: the quantile of the mixture lies between."""
        low, high = np.full(len(self), np.inf), np.full(len(self), -np.inf)
        for k, component in enumerate(self.components):
            values, possible = component._quantile(levels), to_numpy(self.weights)[:, k] > 0
            low = np.where(possible, np.minimum(low, values), low)
            high = np.where(possible, np.maximum(high, values), high)
        return low, high

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """Weighted sum of the characteristic functions of the components."""
        weights = to_numpy(self.weights)
        terms = (weights[:, k, None] * c.characteristic(frequencies) for k, c in enumerate(self.components))
        return np.asarray(sum(terms))

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """What every component of positive weight had ruled out."""
        weights = to_numpy(self.weights)
        return np.all([c.impossible(y) | (weights[:, k] <= 0) for k, c in enumerate(self.components)], axis=0)

    @property
    def centre(self) -> Array:
        """Weighted sums of the centres of the components."""
        return self._weighted([c.centre for c in self.components])

    @property
    def width(self) -> Array:
        """Root of the squared widths of the components plus the variance of their centres."""
        centre = self.centre
        squares = [c.width * c.width + (c.centre - centre) ** 2 for c in self.components]
        return namespace(centre).sqrt(self._weighted(squares))

    @property
    def kind(self) -> tuple[Any, ...]:
        """Family, shape, and the kinds of the components."""
        return (*super().kind, frozenset(part.kind for part in self.components))

    def marginal(self, k: int) -> Mixture:
        """Mixture of the coordinates of the components."""
        return trusted(self, components=tuple(part.marginal(k) for part in self.components))

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Of normal components in closed form, O(K^2); of others an integral or, for counts, a sum."""
        if not all(isinstance(part, Normal) for part in self.components):
            return super().crps(y)
        w = to_numpy(self.weights).astype(np.float64).T
        parts = [part.map_arrays(to_numpy) for part in self.components]
        mean, std = (np.stack([getattr(p, name) for p in parts], dtype=np.float64) for name in ("mean", "std"))
        score = (w * normal_distance(y - mean, std)).sum(axis=0)  # eq. (5) of Grimit et al. (2006)
        for k in range(len(w)):
            score -= w[k] * (w[k] * std[k] / math.sqrt(math.pi))
            others = normal_distance(mean[k] - mean[:k], np.hypot(std[k], std[:k]))
            score -= w[k] * (w[:k] * others).sum(axis=0)
        return score

    def breaks(self) -> np.ndarray:
        """Places of all components."""
        return np.concatenate([part.breaks() for part in self.components])

    def tempered(self, temperature: float) -> Self:
        """Every component at the temperature, with the weights unchanged, and a note that says so."""
        components = tuple(part.tempered(temperature) for part in self.components)
        notes = tuple(dict.fromkeys((*self.notes, _TEMPERED)))
        return trusted(self, components=components, notes=notes)

    @property
    def largest_temperature(self) -> float:
        """The least of those of the components."""
        return min(part.largest_temperature for part in self.components)

    def _weighted_in_numpy(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        weights = to_numpy(self.weights)
        return np.asarray(sum(weights[:, k] * part for k, part in enumerate(parts)))

    def _weighted(self, parts: Sequence[Array]) -> Array:
        """Sum over the components of weight times part, shape (n, *event_shape)."""
        event = (None,) * len(self.event_shape)
        total = self.weights[(..., 0, *event)] * parts[0]
        for k in range(1, len(parts)):
            total = total + self.weights[(..., k, *event)] * parts[k]
        return total


def _checked_components(components: Any) -> tuple[RealPredictions, ...]:
    """Return batches with equal rows and targets of one shape as a tuple."""
    if isinstance(components, RealPredictions) or not isinstance(components, list | tuple) or not components:
        raise InputError(
            f"components must be a list of batches, one a component, got {type(components).__name__}: "
            "Mixture(weights, [Normal(mean1, std1), Normal(mean2, std2)])"
        )
    for k, component in enumerate(components):
        if not isinstance(component, RealPredictions):
            raise InputError(
                f"component {k} is {type(component).__name__}, expected a batch of a family for numbers such as "
                "Normal, MultivariateNormal, Poisson or Samples; class probabilities are mixed by their weighted mean"
            )
    first = components[0]
    for k, component in enumerate(components[1:], start=1):
        if (len(component), component.event_shape) != (len(first), first.event_shape):
            raise InputError(
                f"components must have equal rows and targets of one shape: component 0 has {len(first)} rows and "
                f"targets of shape {first.event_shape}, component {k} has {len(component)} and {component.event_shape}"
            )
    return tuple(components)


def _checked_component_weights(weights: Any, components: tuple[RealPredictions, ...]) -> Array:
    """Return weights of shape (n, K) whose rows sum to 1, in the library of the components."""
    like, number = components[0].mean, len(components)
    given = np.full(number, 1 / number) if weights is None else weights
    array = finite_numbers(rows_of(_in_library_of(given, like), like, event=1), "the weight", ndim=2)
    if tuple(array.shape) != (len(components[0]), number):
        raise InputError(
            f"weights must have shape {(len(components[0]), number)} for {number} components, got {tuple(array.shape)}"
        )
    values = concrete(array)
    if values is not None:
        refuse_rows(values < 0, "the weight", values, "a probability")
        _refuse_sums(values)
    return array / namespace(array).sum(array, axis=1, keepdims=True)


def _in_library_of(x: Any, like: Array) -> Array:
    """NumPy weights beside components of another library move there."""
    if is_numpy(like) or not is_numpy(as_array(x)):
        return x
    return namespace(like).asarray(as_array(x), dtype=like.dtype, device=array_api_compat.device(like))


def _refuse_sums(values: np.ndarray) -> None:
    sums = values.sum(axis=1, dtype=np.float64)
    wrong = np.abs(sums - 1) > SUM_TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"the weights of row {row} sum to {sums[row]:.6g}, expected 1 ({int(wrong.sum())} such rows): divide "
            "each row by its sum, weights / weights.sum(axis=1, keepdims=True), if that is what they mean"
        )
