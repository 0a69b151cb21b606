"""Predictions given by quantiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, as_array, concrete, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.border import finite_numbers, inside
from kernelcal.predictions.compositions.cells import QuantileCells
from kernelcal.predictions.compositions.piecewise import Piecewise
from kernelcal.predictions.real import CentralInterval, RealPredictions
from kernelcal.predictions.special_functions import count_below

__all__ = ["SAME_LEVEL", "Quantiles"]


SAME_LEVEL = 1e-9  # 0.05 * 7 is 0.35000000000000003


@dataclass(frozen=True, eq=False)
class Quantiles(RealPredictions):
    """Predictions given by quantiles: claims ``P(Y < q) <= level <= P(Y <= q)``, one a level.

    Tests, tables and the default kernels ask about these claims alone, by the cells between the quantiles
    (`QuantileCells`). What needs a whole distribution (`mean`, `std`, `cdf`, `log_prob`, `crps`, `quantile` of other
    levels, target kernels that are given) takes a distribution function that is linear between the quantiles: nobody
    predicted it.

    Parameters
    ----------
    values : array of shape (n, Q)
        Quantiles, a column a level.
    levels : array of shape (Q,)
        Their levels, different numbers in [0, 1]. Unsorted levels are sorted together with the values. One level alone
        (value at risk) makes no distribution, and what needs one is refused; what asks about levels needs one or more
        inside (0, 1).
    tails : {"exponential", "linear"}
        What the interpolation puts outside the outermost quantiles. The density of the outermost segment, f, goes on,
        and the tail holds the mass m that its level leaves: exponential tails decay from f, ``f exp(-f x / m)`` at
        distance x; linear ones keep f up to distance ``m / f``, where the distribution ends.
    crossing : {"raise", "sort"}
        What happens to rows whose quantiles decrease: they are refused, or their values are sorted (rearranged [1]_)
        with a note.
    resolution : float
        Width h to which outcomes were rounded, in their unit: an outcome y then stands for all of
        [y - h / 2, y + h / 2], and counts as below or above a quantile only if all of that does.

    Raises
    ------
    InputError
        If values are missing, levels are no levels, or quantiles cross, with the row.

    Notes
    -----
    Equal neighbouring quantiles are a value that has a probability of its own. Only the sharpest claims of such a group
    can be tested: at most its first level lies below, and at least its last level at or below. The interpolation makes
    it a point mass of the difference of their levels; where they are the outermost two, the tail joins the point mass,
    since the density beside it is infinite. Every method costs n Q.

    References
    ----------
    .. [1] V. Chernozhukov, I. Fernandez-Val, A. Galichon, "Quantile and probability curves without crossing",
       Econometrica 78, 2010.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.Quantiles([[1.0, 2.0, 3.0]], [0.25, 0.5, 0.75])
    >>> predictions.cdf([1.5])
    array([0.375])
    >>> predictions.at(0.75)
    array([3.])
    """

    remedies: ClassVar[Mapping[str, str]] = {
        "score": "its density jumps at the quantiles, so that Stein features have no mean of zero; use a statistic "
        "that needs no score, such as SKCE (statistic='skce')"
    }

    values: Array
    levels: np.ndarray
    tails: str = "exponential"
    crossing: str = "raise"
    resolution: float = 0.0
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        values, levels, notes = _checked_quantiles(self.values, self.levels, self.tails, self.crossing)
        object.__setattr__(self, "resolution", _checked_resolution(self.resolution))
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "notes", (*self.notes, *notes))

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __getitem__(self, index: Any) -> Self:
        return trusted(self, values=take_rows(self.values, checked_index(index)))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to the values; the levels, the same for all rows, stay."""
        return trusted(self, values=function(self.values))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: a scalar."""
        return ()

    @property
    def columns(self) -> int:
        """The quantiles."""
        return len(self.levels)

    def at(self, level: float) -> Array:
        """Values of one of the given levels, shape (n,); levels are equal up to 1e-9."""
        column = int(np.abs(self.levels - level).argmin())
        if not abs(self.levels[column] - level) < SAME_LEVEL:
            known = ", ".join(f"{k:.6g}" for k in self.levels)
            raise InputError(f"level {level} is not among the given levels {known}: quantile(level) interpolates")
        return self.values[:, column]

    @property
    def reference(self) -> Array:
        """The quantiles."""
        return self.values

    @property
    def cells(self) -> QuantileCells:
        """What tests look at: where outcomes lie among the quantiles."""
        if not ((self.levels > 0) & (self.levels < 1)).any():
            known = " and ".join(f"{level:g}" for level in self.levels)
            raise InputError(
                f"levels must have one or more inside (0, 1), got {known}: the ends of a range claim no share that "
                "could be counted"
            )
        return QuantileCells(to_numpy(self.values), self.levels, self.resolution)

    @property
    def coordinates(self) -> Array:  # type: ignore[override]  # a property, not a field
        """The quantiles divided by the root of their number: distances are root mean square differences."""
        return self.values / float(len(self.levels)) ** 0.5

    @property
    def centre(self) -> Array:
        """The quantile whose level is next to 1/2."""
        return self.values[:, int(np.abs(self.levels - 0.5).argmin())]

    @property
    def width(self) -> Array:
        """Distance of the outermost quantiles with levels inside (0, 1), in that of normal ones; 0 of one level."""
        from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

        inner = np.flatnonzero((self.levels > 0) & (self.levels < 1))
        first, last = (inner[0], inner[-1]) if len(inner) else (0, len(self.levels) - 1)
        unit = float(ndtri(self.levels[last]) - ndtri(self.levels[first]))
        unit = unit if 0 < unit < np.inf else 1.0
        return (self.values[:, int(last)] - self.values[:, int(first)]) / unit

    def level_range(self, y: Array) -> tuple[np.ndarray, np.ndarray]:
        """Levels between which a target lies whatever the interpolation, (..., n): 0 and 1 outside the quantiles."""
        values, y = to_numpy(self.values), to_numpy(as_array(y))
        padded = np.concatenate(([0.0], self.levels, [1.0]))
        return padded[count_below(values, y)], padded[count_below(values, y, equal=True) + 1]

    @property
    def mean(self) -> Array:
        """Means of the interpolation, sums over the segments and tails."""
        masses, centres, _ = self.pieces()
        first = self.values[..., :1]  # sums of differences: equal quantiles have exactly this mean
        return first[..., 0] + namespace(centres).sum(masses * (centres - first), axis=-1)

    @property
    def std(self) -> Array:
        """Standard deviations of the interpolation, from variances within and between the segments and tails."""
        masses, centres, variances = self.pieces()
        xp = namespace(centres)
        centres = centres - self.values[..., :1]  # so that equal quantiles have no spread at all
        mean = xp.sum(masses * centres, axis=-1, keepdims=True)
        return xp.sqrt(xp.sum(masses * (variances + (centres - mean) ** 2), axis=-1))

    def pieces(self) -> tuple[Array, Array, Array]:
        """Masses (Q + 1,), centres and variances (..., Q + 1) of the segments, the tails first and last."""
        self._refuse_one_level()
        xp, values = namespace(self.values), self.values
        masses = xp.asarray(np.diff(self.levels, prepend=0.0, append=1.0), dtype=values.dtype)
        lower, upper = self._tail_lengths()
        share, spread = (1.0, 1.0) if self.tails == "exponential" else (0.5, 1 / 12)
        middles, widths = 0.5 * (values[..., 1:] + values[..., :-1]), values[..., 1:] - values[..., :-1]
        ends = values[..., :1] - share * lower, values[..., -1:] + share * upper
        centres = xp.concat([ends[0], middles, ends[1]], axis=-1)
        variances = xp.concat([spread * lower * lower, widths * widths / 12, spread * upper * upper], axis=-1)
        return masses, centres, variances

    def _tail_lengths(self) -> tuple[Array, Array]:
        """Lengths (..., 1) of the tails: their mass divided by the density of the segment beside them."""
        v, q = self.values, self.levels
        lower = (v[..., 1:2] - v[..., :1]) * float(q[0] / (q[1] - q[0]))
        upper = (v[..., -1:] - v[..., -2:-1]) * float((1 - q[-1]) / (q[-1] - q[-2]))
        return lower, upper

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Invert the interpolated distribution function; exact tests draw cells instead (`QuantileCells.draw`)."""
        return self._quantile(inside(uniforms))

    def log_prob(self, y: Array) -> np.ndarray:
        """Logarithm of the density, constant between quantiles, in NumPy, shape (..., n).

        Raises
        ------
        InputError
            If a row has a point mass, and therefore no density.
        """
        flat = np.diff(to_numpy(self.values), axis=1) <= 0
        if flat.any():
            row, k = (int(i) for i in np.argwhere(flat)[0])
            raise InputError(
                f"row {row} has a point mass and no density: levels {self.levels[k]:g} and {self.levels[k + 1]:g} have "
                "one value; use a score of quantiles or of the distribution function, such as pinball loss or CRPS"
            )
        return self._piecewise().log_density(to_numpy(as_array(y)))

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y)."""
        return self._piecewise().cdf(to_numpy(as_array(y)), equal=True)

    def cdf_below(self, y: Array) -> np.ndarray:
        """P(Y < y): less than `cdf` at point masses."""
        return self._piecewise().cdf(to_numpy(as_array(y)), equal=False)

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Smallest value whose distribution function reaches the levels: interpolation of the given quantiles."""
        shape = np.broadcast_shapes(np.shape(levels), (len(self),))
        return self._piecewise().quantile(np.broadcast_to(levels, shape))

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """Sum over segments and tails in closed form."""
        return self._piecewise().characteristic(frequencies)

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Targets outside the quantiles of the levels 0 and 1: where these were not given, nothing is ruled out."""
        return QuantileCells(to_numpy(self.values), self.levels, self.resolution).impossible(y)

    @property
    def kind(self) -> tuple[Any, ...]:
        """Family, shape, levels and tails."""
        return (*super().kind, tuple(self.levels), self.tails)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Exact integral over the linear segments and the two tails."""
        return self._piecewise().crps(y)

    def breaks(self) -> np.ndarray:
        """Places in the tails, and the given quantiles."""
        return np.concatenate([super().breaks(), to_numpy(self.values).T])

    def pit_interval(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Levels of the quantiles next to the outcome: exact where it lies strictly between quantiles.

        An outcome equal to a quantile lies somewhere between the level before and the level after its group: how much
        of the probability there is below was not predicted, and the group counts to the cell on its left, or between
        its levels where there are several. Such values are not uniform under calibration.
        """
        cells = self.cells
        lo, hi = cells.ends(cells.codes(y))
        padded = np.concatenate([[0.0], cells.taus, [1.0]])
        several = hi > lo + 1
        low = np.where(several & (lo > 0), lo + 1, lo)
        high = np.where(several, np.where(hi == len(padded) - 2, hi + 1, hi), np.maximum(hi, lo + 1))
        return padded[low], padded[high]

    def central_interval(self, level: float) -> CentralInterval:
        """Say where the ends are no quantiles that were given."""
        found = super().central_interval(level)
        ends = np.round([(1 - level) / 2, (1 + level) / 2], 12)
        absent = [f"{end:g}" for end in ends if not np.any(np.isclose(end, self.levels, rtol=0, atol=1e-9))]
        if not absent:
            return found
        note = (
            f"{100 * level:g} % intervals need the quantiles {' and '.join(absent)}, which were not given: they are "
            "interpolated, or lie on the tails"
        )
        return CentralInterval(found.low, found.high, found.probability, (note,))

    def wasserstein_coordinates(self) -> Array:
        """Root of mass times centre and standard deviation of each piece."""
        masses, centres, variances = self.pieces()
        xp = namespace(centres)
        roots = xp.sqrt(masses)
        return xp.concat([roots * centres, roots * xp.sqrt(variances)], axis=-1)

    def in_words(self, y: np.ndarray) -> tuple[list[str], list[str]]:
        """At most three quantiles with their levels, and the targets."""
        shown = sorted({0, int(np.abs(self.levels - 0.5).argmin()), len(self.levels) - 1})
        predicted = [", ".join(f"{self.levels[k]:g}: {row[k]:.4g}" for k in shown) for row in to_numpy(self.values)]
        return predicted, [f"{value:.4g}" for value in y]

    def _refuse_one_level(self) -> None:
        if len(self.levels) < 2:
            raise InputError(
                f"one level alone, {self.levels[0]:g}, makes no distribution, which this needs: use "
                "kernelcal.calibration_test, kernelcal.evaluate or kernelcal.statistics.pinball_loss, which ask about "
                "the level itself, or give two or more levels"
            )

    def _piecewise(self) -> Piecewise:
        self._refuse_one_level()
        return Piecewise(to_numpy(self.values).astype(np.float64), self.levels, self.tails == "exponential")


def _checked_quantiles(
    values: Any, levels: Any, tails: str, crossing: str
) -> tuple[Array, np.ndarray, tuple[str, ...]]:
    """Values of shape (n, Q) that do not decrease, increasing levels, and notes."""
    for name, given, known in (
        ("tails", tails, ("exponential", "linear")),
        ("crossing", crossing, ("raise", "sort")),
    ):
        if not isinstance(given, str) or given not in known:
            raise InputError(f"{name} must be {known[0]!r} or {known[1]!r}, got {given!r}")
    order, levels = _checked_levels(levels)
    array = finite_numbers(values, "the quantile", ndim=2)
    if array.shape[1] != len(levels):
        raise InputError(f"there are {len(levels)} levels but {array.shape[1]} columns of values: one column a level")
    if not np.array_equal(order, np.arange(len(order))):
        array = namespace(array).stack([array[:, int(k)] for k in order], axis=1)
    array, notes = _in_order(array, levels, crossing)
    return array, levels, notes


def _checked_levels(levels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Order that sorts the levels, and the sorted levels."""
    array = to_numpy(as_array(levels))
    if array.ndim != 1 or len(array) < 1 or array.dtype.kind not in "fiub":
        raise InputError(f"levels must be one or more numbers, shape (Q,), got {array.dtype} of shape {array.shape}")
    array = array.astype(np.float64)
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        hint = ": percentages must be divided by 100" if np.nanmax(array) > 1 else ""
        raise InputError(f"levels must lie in [0, 1], got {array[np.argmax(wrong)]:g}{hint}")
    order = np.argsort(array, kind="stable")
    array = array[order]
    same = np.diff(array) < SAME_LEVEL
    if same.any():
        raise InputError(f"level {array[np.argmax(same)]:g} is given twice: every level needs one column of values")
    return order, array


def _checked_resolution(resolution: Any) -> float:
    number = isinstance(resolution, int | float | np.number) and not isinstance(resolution, bool)
    if not number or not 0 <= resolution <= float(np.finfo(np.float64).max):
        raise InputError(
            f"resolution must be the width to which outcomes were rounded, such as 0.1 or 1, or 0, got {resolution!r}"
        )
    return float(resolution)


def _in_order(array: Array, levels: np.ndarray, crossing: str) -> tuple[Array, tuple[str, ...]]:
    values = concrete(array)
    if values is None:
        return array, ()
    drops = -np.diff(values, axis=1)
    rows = np.flatnonzero((drops > 0).any(axis=1))
    if len(rows) == 0:
        return array, ()
    if crossing == "raise":
        raise InputError(_crossed(values, levels, drops, rows))
    note = (
        f"quantiles crossed in {len(rows)} of {len(values)} rows (first in row {rows[0]}, at most by "
        f"{drops.max():.4g}): they were sorted in each row, as asked"
    )
    return namespace(array).sort(array, axis=1), (note,)


def _crossed(values: np.ndarray, levels: np.ndarray, drops: np.ndarray, rows: np.ndarray) -> str:
    row = int(rows[0])
    k = int(drops[row].argmax())
    return (
        f"quantiles cross in row {row}: level {levels[k]:g} has {values[row, k]:.10g} but level {levels[k + 1]:g} has "
        f"{values[row, k + 1]:.10g}, less by {drops[row, k]:.4g} ({len(rows)} of {len(values)} rows cross, at most by "
        f'{drops.max():.4g}): correct them, or pass crossing="sort" to sort the values of each row'
    )
