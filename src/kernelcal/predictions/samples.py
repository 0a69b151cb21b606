"""Ensembles: predictions given by draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from array_api_compat import device

from kernelcal.arrays import Array, as_array, namespace, row_slices, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.choice import choose, count_below
from kernelcal.predictions.real import RealPredictions
from kernelcal.predictions.sample_checks import checked_draw_weights, checked_draws

__all__ = ["Samples"]

_CHUNK_BYTES = 2**25
_ROUNDING = 1e-6  # weights that are equal but for float32
_TINY = 5e-324  # a draw of weight 0 is no quantile, not even of level 0


@dataclass(frozen=True, eq=False)
class Samples(RealPredictions):
    """Predictions given by draws: the members of an ensemble, or draws from a posterior.

    Parameters
    ----------
    draws : array of shape (n, S), or (n, S, d) for vectors
        S draws a row.
    weights : array of shape (n, S), optional
        Weights of the draws, not negative; only their ratios in a row matter (they are divided by their sum). Rows
        with fewer draws give the others weight 0. None weighs all draws equally.

    Raises
    ------
    InputError
        If a draw is missing, with row and member, or if the weights of a row are no weights.

    Notes
    -----
    The draws are the prediction: the distribution function is the share of draws at or below a value. Whether they
    are draws *from* a distribution that is to be tested is a question for ranks (`rank_range`) and the swap test
    (`pooled`), which need equal weights. Mean and standard deviation cost n S d; the distribution function sorts the
    draws of every row.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.Samples([[0.0, 1.0, 3.0], [2.0, 2.0, 5.0]])
    >>> predictions.cdf([1.0, 1.0]).round(4)
    array([0.6667, 0.    ])
    >>> predictions.rank_range([1.0, 2.0])
    (array([1, 0]), array([2, 2]))
    """

    draws: Array
    weights: Array | None = None
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        draws = checked_draws(self.draws)
        object.__setattr__(self, "draws", draws)
        object.__setattr__(self, "weights", checked_draw_weights(self.weights, draws))
        object.__setattr__(self, "_axes", draws.ndim - 2)  # of the event: leading axes may be added, these stay last

    def __len__(self) -> int:
        return int(self.draws.shape[0])

    def __getitem__(self, index: Any) -> Self:
        index = checked_index(index)
        return self.map_arrays(lambda x: take_rows(x, index))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to draws and weights."""
        weights = None if self.weights is None else function(self.weights)
        return trusted(self, draws=function(self.draws), weights=weights)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: that of one draw."""
        return tuple(int(size) for size in self.draws.shape[self.draws.ndim - self._event_axes :])

    @property
    def columns(self) -> int:
        """Every number of every draw."""
        return self.size * self.dimension

    @property
    def size(self) -> int:
        """Number of draws S."""
        return int(self.draws.shape[self._member_axis])

    @property
    def _event_axes(self) -> int:
        return self.__dict__["_axes"]

    @property
    def _member_axis(self) -> int:
        return -1 - self._event_axes

    @property
    def mean(self) -> Array:
        """Means of the draws."""
        return self._average(self.draws)

    @property
    def std(self) -> Array:
        """Standard deviations of the draws (divided by S, since the draws are the prediction)."""
        xp, axis = namespace(self.draws), self._member_axis
        first = xp.take(self.draws, xp.asarray([0]), axis=axis)  # differences: equal draws have no spread at all
        centred = self.draws - first
        centred = centred - xp.expand_dims(self._average(centred), axis=axis)
        return xp.sqrt(self._average(centred * centred))

    def _average(self, values: Array) -> Array:
        xp = namespace(values)
        if self.weights is None:
            return xp.mean(values, axis=self._member_axis)
        weights = self.weights[..., None] if self._event_axes else self.weights
        return xp.sum(weights * values, axis=self._member_axis)

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Pick a draw of every row by its weight."""
        if self.weights is None:
            member = np.minimum((uniforms * self.size).astype(np.intp), self.size - 1)
        else:
            member = choose(to_numpy(self.weights), uniforms)
        return to_numpy(self.draws)[np.arange(len(self)), member]

    def rank_range(self, y: Array) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of draws below and at or below the targets, shape (..., n): the ranks that ties allow.

        Raises
        ------
        InputError
            For vectors, and for weighted draws, whose ranks mean nothing.
        """
        if self.weights is not None:
            raise InputError("ranks need equally likely draws: leave out weights, or use cdf and cdf_below")
        draws, values = self._sorted()[0], to_numpy(as_array(y))
        return count_below(draws, values), count_below(draws, values, equal=True)

    @property
    def exchangeable(self) -> bool:
        """Whether all draws that count are equally likely, so that an outcome could be one of them."""
        if self.weights is None:
            return True
        weights = to_numpy(self.weights)
        largest = weights.max(axis=-1, keepdims=True)
        return bool(np.all((weights == 0) | (weights >= largest * (1 - _ROUNDING))))

    def pooled(self, y: Array) -> Samples:
        """Batch in which the outcome, shape ``(n, *event_shape)``, is one more draw of its row.

        The draws of every row stand in the order of their size (vectors: of their first components), so that no place
        tells who is the outcome. Draws of weight 0, which are no members, stay without weight.

        Raises
        ------
        InputError
            For draws with unequal weights, with which an outcome is not exchangeable.
        """
        if not self.exchangeable:
            raise InputError(
                "outcome and draws are exchangeable only if all draws are equally likely: leave out weights, or draw "
                "an unweighted sample by them first; weights of 0 beside equal ones are members that are missing"
            )
        xp = namespace(self.draws)
        outcome = xp.expand_dims(xp.asarray(y, dtype=self.draws.dtype), axis=1)
        draws, weights = xp.concat([self.draws, outcome], axis=1), self.weights
        if weights is not None:
            own = xp.max(weights, axis=1, keepdims=True)
            weights = xp.concat([weights, own], axis=1) / (1 + own)
        return trusted(self, draws=draws, weights=weights)._by_size()

    def _by_size(self) -> Samples:
        values = np.atleast_3d(to_numpy(self.draws))
        order = np.lexsort(np.moveaxis(values, 2, 0)[::-1], axis=1)
        xp = namespace(self.draws)
        index = xp.asarray(order, device=device(self.draws))
        weights = None if self.weights is None else xp.take_along_axis(self.weights, index, axis=1)
        if self._event_axes:
            index = xp.broadcast_to(index[..., None], self.draws.shape)
        return trusted(self, draws=xp.take_along_axis(self.draws, index, axis=1), weights=weights)

    def cdf(self, y: Array) -> np.ndarray:
        """Share of the draws at or below y."""
        return self._share(y, equal=True)

    def cdf_below(self, y: Array) -> np.ndarray:
        """Share of the draws below y."""
        return self._share(y, equal=False)

    def _share(self, y: Array, *, equal: bool) -> np.ndarray:
        draws, cumulative = self._sorted()
        counts = count_below(draws, to_numpy(as_array(y)), equal=equal)
        return np.pad(cumulative, ((0, 0), (1, 0)))[np.arange(len(self)), counts]

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Smallest draw whose distribution function reaches the levels; level 0 gives the smallest draw."""
        draws, cumulative = self._sorted()
        levels = np.broadcast_to(levels, np.broadcast_shapes(np.shape(levels), (len(self),)))
        member = count_below(cumulative, np.maximum(levels, _TINY))
        return draws[np.arange(len(self)), np.minimum(member, self.size - 1)]

    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Sorted draws and the distribution function at them, both of shape (n, S)."""
        if self._event_axes:
            raise self._without("distribution function")
        draws = to_numpy(self.draws)
        if self.weights is None:
            steps = np.arange(1, self.size + 1) / self.size
            return np.sort(draws, axis=1), np.broadcast_to(steps, draws.shape)
        order = np.argsort(draws, axis=1)
        cumulative = np.cumsum(np.take_along_axis(to_numpy(self.weights), order, axis=1), axis=1, dtype=np.float64)
        return np.take_along_axis(draws, order, axis=1), cumulative / cumulative[:, -1:]

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """Weighted mean of ``exp(i w.z)`` over the draws z."""
        result = np.empty((len(self), len(frequencies)), dtype=np.complex128)
        for part in row_slices(len(self), _CHUNK_BYTES // (16 * self.size * max(1, len(frequencies)))):
            draws = to_numpy(take_rows(self.draws, part))
            phases = draws @ frequencies.T if self._event_axes else draws[..., None] * frequencies
            waves = np.exp(1j * phases)
            weights = None if self.weights is None else to_numpy(take_rows(self.weights, part))[:, None, :]
            result[part] = waves.mean(axis=1) if weights is None else (weights @ waves)[:, 0]
        return result
