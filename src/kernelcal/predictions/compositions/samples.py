"""Ensembles: predictions given by draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from array_api_compat import device

from kernelcal.arrays import Array, as_array, concrete, like, namespace, row_slices, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.border import checked_numbers, finite_numbers, floating, plain_array, refuse_rows
from kernelcal.predictions.real import CentralInterval, RealPredictions
from kernelcal.predictions.special_functions import choose, count_below

__all__ = ["ONE_DRAW", "Samples"]


ONE_DRAW = "one draw a row is a point forecast: the calibration of its spread cannot be tested"


_CHUNK_BYTES = 2**25

_SMALL = 2.0**24
_ROUNDING = 1e-6  # weights that are equal but for float32

_UNEVEN = "the draws have unequal weights: intervals and expected coverage are those of their weighted quantiles"

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
        draws = _checked_draws(self.draws)
        object.__setattr__(self, "draws", draws)
        weights = _checked_draw_weights(self.weights, draws)
        if weights is not None and namespace(weights) is not namespace(draws):  # of two libraries that of the draws
            weights = like(weights, draws)
        object.__setattr__(self, "weights", weights)
        if int(draws.shape[1]) == 1 and ONE_DRAW not in self.notes:
            object.__setattr__(self, "notes", (ONE_DRAW, *self.notes))
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
        numbers = self.draws.ndim == 2 and not self._event_axes
        if numbers and self.weights is None and isinstance(self.draws, np.ndarray):
            return _deviations(self.draws)
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
    def has_cdf(self) -> bool:
        """Whether targets are numbers."""
        return not self.event_shape

    @property
    def holds_outcomes(self) -> bool:
        """Whether the outcome is one of the draws of its row: that of `pooled` draws."""
        return bool(self.__dict__.get("_pooled", False))

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
        return trusted(self, draws=draws, weights=weights, _pooled=True)._by_size()

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
            raise self.lacks("cdf", "distribution function")
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

    def marginal(self, k: int) -> Samples:
        """Component k of the draws."""
        return trusted(self, draws=self.draws[..., k], _axes=0)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Score of the draws as a distribution, by one sort.

        With sorted draws x and cumulative weights c, ``E|X - X'| / 2 = sum_j (x_{j+1} - x_j) c_j (1 - c_j)``.
        """
        distance, half_spread, _ = self._crps_parts(y)
        return distance - half_spread

    def fair_crps(self, y: np.ndarray) -> np.ndarray:
        """Score of the distribution that the draws come from: pairs of different draws, ``1 - sum_s w_s^2`` of all."""
        distance, half_spread, own = self._crps_parts(y)
        if np.any(alone := own >= 1):
            row = int(np.argmax(alone))
            raise InputError(f"fair=True needs at least two draws of positive weight, row {row} has one")
        return distance - half_spread / (1 - own)

    def _crps_parts(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``E|X - y|``, ``E|X - X'| / 2``, and the probability that X and X' are one draw."""
        if self.weights is None:
            return _equal_crps_parts(to_numpy(self.draws), y)
        draws, weights = self._sorted_weights()
        distance = (weights * np.abs(draws - y[:, None])).sum(axis=1)
        cumulative = np.cumsum(weights, axis=1)[:, :-1]
        half_spread = (np.diff(draws, axis=1) * cumulative * (1 - cumulative)).sum(axis=1)
        return distance, half_spread, np.where((weights > 0).sum(axis=1) < 2, 1.0, (weights**2).sum(axis=1))

    def _sorted_weights(self) -> tuple[np.ndarray, np.ndarray]:
        draws = to_numpy(self.draws).astype(np.float64)
        order = np.argsort(draws, axis=1)
        weights = np.take_along_axis(to_numpy(self.weights).astype(np.float64), order, axis=1)
        return np.take_along_axis(draws, order, axis=1), weights / weights.sum(axis=1, keepdims=True)

    def breaks(self) -> np.ndarray:
        """The draws, where the distribution function jumps."""
        return to_numpy(self.draws).T.astype(np.float64)

    def pit_interval(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ranks of the outcome among all S + 1 values, over S + 1; uneven weights leave it ``sum_s w_s^2``."""
        low, high = self.cdf_below(y), self.cdf(y)
        if self.holds_outcomes:
            return low, high
        weights = self._given_weights()
        own = (weights**2).sum(axis=1) / weights.sum(axis=1) ** 2  # 1 / S for S equal draws
        return low / (1 + own), (high + own) / (1 + own)

    def _given_weights(self) -> np.ndarray:
        return np.ones(self.draws.shape) if self.weights is None else to_numpy(self.weights)

    def central_interval(self, level: float) -> CentralInterval:
        """Order statistics: the outcome is one of S + 1 exchangeable values."""
        if not self.exchangeable:
            found = super().central_interval(level)
            return CentralInterval(found.low, found.high, found.probability, (_UNEVEN,))
        counted = self._given_weights() > 0
        members = counted.sum(axis=1)
        cut = np.floor((members + 1) * (1 - level) / 2 + 1e-9).astype(np.int64)
        short = cut < 1
        cut = np.maximum(cut, 1)
        ordered = np.sort(np.where(counted, to_numpy(self.draws), np.inf), axis=1)
        rows = np.arange(len(members))
        probability = (members + 1 - 2 * cut) / (members + 1)
        ends = ordered[rows, cut - 1], ordered[rows, members - cut]
        return CentralInterval(*ends, probability, _too_few(short, members, level))

    def wasserstein_coordinates(self) -> Array:
        """Sorted draws over ``sqrt(S)``, for numbers and equal weights."""
        if self.dimension != 1:
            raise InputError(
                f"Wasserstein between samples is defined for numbers, not for vectors of {self.dimension}: use the "
                "metric Euclidean(), or MMD(Gaussian(lengthscale))"
            )
        weights = None if self.weights is None else concrete(self.weights)
        if self.weights is not None and (weights is None or (weights != weights[:1, :1]).any()):
            raise InputError(
                "Wasserstein between samples needs equal weights, so that sorted draws are coordinates: use the metric "
                "Euclidean(), or MMD(Gaussian(lengthscale))"
            )
        draws = self.draws if not self.event_shape else self.draws[..., 0]
        return namespace(draws).sort(draws, axis=-1) / math.sqrt(self.size)


_AT_ONCE = 2**15  # numbers of draws: 256 KiB, which stay in a processor's cache between the steps


def _deviations(draws: np.ndarray) -> np.ndarray:
    """Standard deviations of rows, shape (n,): about the first draw, so that equal draws have no spread at all.

    What is taken off again is at most S - 1 times as large as what is left.
    """
    found = np.empty(len(draws), dtype=draws.dtype)
    for rows in row_slices(len(draws), max(1, _AT_ONCE // draws.shape[1])):
        centred = draws[rows] - draws[rows, :1]
        centred -= centred.mean(axis=1, keepdims=True)
        found[rows] = np.sqrt(np.einsum("ns,ns->n", centred, centred) / draws.shape[1])
    return found


def _equal_crps_parts(draws: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parts of the score for equal weights: with sorted x, ``E|X - X'| / 2 = sum_j x_j (2 j + 1 - S) / S^2``, j from 0.

    Draws are taken less the outcome, so that products lose no digits to their size.
    """
    n, size = draws.shape
    slopes, shares = (2 * np.arange(size) + 1 - size) / size**2, np.full(size, 1 / size)
    distance, half_spread = np.empty(n), np.empty(n)
    for rows in row_slices(n, max(1, _AT_ONCE // size)):
        away = draws[rows] - y[rows, None]
        away.sort(axis=1)
        half_spread[rows] = away @ slopes
        distance[rows] = np.abs(away, out=away) @ shares
    return distance, half_spread, np.full(n, 1 / size)


def _too_few(short: np.ndarray, members: np.ndarray, level: float) -> tuple[str, ...]:
    if not short.any():
        return ()
    most = int(members[short].max())
    return (
        f"intervals of {100 * level:g} % need at least {int(np.ceil(round((1 + level) / (1 - level), 9)))} draws, and "
        f"there are fewer in {int(short.sum()):,} of {len(short):,} rows (at most {most}): their whole range was "
        f"taken, which covers at most {(most - 1) / (most + 1):.3f}",
    )


def _checked_draws(x: Any) -> Array:
    """Return finite draws of shape (n, S) or (n, S, d)."""
    array = plain_array(x)[0]
    values = concrete(array)
    if values is None:
        return floating(array)
    checked_numbers(values)
    if values.ndim not in (2, 3) or 0 in values.shape[1:]:
        raise InputError(
            f"draws must have shape (n, S), or (n, S, d) for vectors, with S > 0 draws a row, got {values.shape}; "
            "where the draws lie on another axis, kernelcal.as_predictions(x, sample_axis=...) moves it"
        )
    _refuse_missing_members(values)
    return floating(array)


def _refuse_missing_members(values: np.ndarray) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong) == 0:
        return
    row, member = (int(k) for k in wrong[0][:2])
    value, count = values[tuple(wrong[0])], len(np.unique(wrong[:, 0]))
    raise InputError(
        f"the draw in row {row}, member {member} is {'missing (NaN)' if np.isnan(value) else value}, expected a finite "
        f"number ({count} such row{'s' * (count > 1)}): drop these rows, or leave members out by weight 0, "
        "Samples(np.nan_to_num(draws), weights=np.isfinite(draws))"
    )


def _checked_draw_weights(weights: Any, draws: Array) -> Array | None:
    """Return weights of shape (n, S), divided by their sums."""
    if weights is None:
        return None
    array = finite_numbers(weights, "the weight", ndim=2)
    if tuple(array.shape) != tuple(draws.shape[:2]):
        raise InputError(
            f"weights must have the shape of the draws, {tuple(draws.shape[:2])}, got {tuple(array.shape)}"
        )
    values = concrete(array)
    if values is not None:
        refuse_rows(values < 0, "the weight", values, "a number that is not negative")
        with np.errstate(over="ignore"):
            total = values.sum(axis=1)
        refuse_rows(total <= 0, "the sum of the weights", total, "a positive number: one draw must count")
        if not np.isfinite(total).all() or total.min() < np.finfo(total.dtype).tiny * _SMALL:
            array = array / namespace(array).max(array, axis=1, keepdims=True)  # no sum overflows, no ratio is lost
    return array / namespace(array).sum(array, axis=1, keepdims=True)
