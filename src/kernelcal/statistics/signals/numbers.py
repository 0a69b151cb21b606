"""Signals of predictions of numbers: shifted up or down, too narrow or too wide, here or there, of the wrong shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.dependence import MeanLaw
from kernelcal.kernels import PIT, Standardised
from kernelcal.pairs import threaded_map
from kernelcal.predictions import RealPredictions, Samples
from kernelcal.residuals import OutcomePlaces, PITResidual, has_places
from kernelcal.statistics.base import Merge, Prepared, Statistic
from kernelcal.statistics.signals.clear import errors_apart, sums_with_errors
from kernelcal.statistics.signals.number_sums import Explaining, NumberSums, cells_of
from kernelcal.statistics.signals.number_words import (
    far_off,
    far_rows,
    few_far,
    of_shape,
    of_shift,
    of_width,
    rows_in_words,
)

__all__ = ["NumberSignals", "PreparedNumberSignals"]


_BY_ITSELF = 1.96  # standard errors of a sum that is clear if no other is looked at

_FEW_DRAWS = 5  # of fewer draws the standard deviation says next to nothing

# weights of impossible targets, bias, dispersion, interactions, PIT and its cells, chosen on simulated data: shifts and
# wrong widths are met most often, and what the PIT sees no other group does
_WEIGHTS = (1.0, 1.2, 1.2, 0.8, 1.4, 0.8)

_CELLS = 8, 64  # of equal width, at least and at most

_AT_ONCE = 2**17  # scores of some draws, which stay in the cache

_BY = ("bias by location", "bias by scale", "dispersion by location", "dispersion by scale")


@dataclass(frozen=True)
class NumberSignals(Statistic):
    """Normal scores of the outcomes and their interaction with where and how wide predictions are.

    The score of an outcome is ``z = Phi^-1(F(y))``, standard normal under calibration whatever the law; where the
    distribution function has jumps (counts, draws) and for vectors it is the standardised residual
    ``(y - mean) / std`` of every component.

    ``bias``: ``max_k |sum_i z_ik|`` over the components k of a target. ``bias by location``, ``bias by scale``: the
    same with every row multiplied by its standardised location, or by the logarithm of its width, so that high or wide
    predictions may err otherwise than low or narrow ones. ``dispersion``: distance from its mean under calibration of
    the cube root of the variance of the scores about what these three explain: a shift is never taken for a wrong
    width, nor a shift that depends on the prediction. ``dispersion by location``, ``dispersion by scale``: the sums of
    these squares, each row multiplied as above.

    ``PIT``: ``sum_k (sum_i phi_k(u_i))^2`` of the orthonormal polynomials of order 1 to 4 of the places
    ``u = F(y)``, averaged over jumps of F: the shape of the predicted distributions, each on its own scale.

    ``PIT cells``: the chi-square of the places in about ``2 n^(2/5)`` cells of equal width, 8 to 64, where the
    distribution functions have no jumps: finer structure than polynomials of low order see, as ripples of a density.

    ``impossible target``: number of targets that the predictions had ruled out. It is 0 in every draw.

    Ranked together the four interactions are one group, and each of the others one by itself; weights are 1.2 of bias
    and dispersion, 1.4 of the PIT, 0.8 of interactions and cells.

    Notes
    -----
    Rows without spread take no part but in the first. Case weights multiply every row. Cost: O(n d) a draw.

    References
    ----------
    Wilson and Hilferty (1931): in the cube root too wide and too narrow are seen alike. Neyman (1937): the polynomials.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import NumberSignals
    >>> y = np.random.default_rng(0).normal(size=60) + 1
    >>> kc.calibration_test(y, kc.Normal(np.zeros(60), 1.0), statistic=NumberSignals(), draws=99).pvalue
    0.01
    """

    def prepare(self, predictions: RealPredictions, weights: np.ndarray | None = None) -> PreparedNumberSignals:
        """Compute where and how wide the predictions are."""
        return PreparedNumberSignals(predictions, weights)


class PreparedNumberSignals(Prepared):
    """Signals of fixed predictions, with their directions."""

    directed = ("bias", "dispersion", *_BY)
    aimless = "no single direction: neither one shift nor one width of all predictions explains how outcomes deviate"
    engine = "sums over rows"
    proof: ClassVar[float] = 1.0  # what one outcome that was ruled out adds to the first member

    def __init__(self, predictions: RealPredictions, weights: np.ndarray | None = None) -> None:
        self.predictions = predictions
        n, d = len(predictions), predictions.dimension
        self.weights = np.ones(n) if weights is None else weights
        self.bytes_per_draw = 64 * n * (d + 4)
        self.spread = to_numpy(predictions.width).reshape(n, d) > 0
        self.places = PITResidual.of(predictions, PIT("polynomials"), weights) if has_places(predictions) else None
        self.cells = int(np.clip(round(2 * n**0.4), *_CELLS)) if self.places and predictions.continuous else 0
        shape = () if self.places is None else ("PIT", "PIT cells") if self.cells else ("PIT",)
        self.names = ("impossible target", *self.directed, *shape)
        groups = ((0,), (1,), (2,), (3, 4, 5, 6), (7,), (8,))[: 4 + len(shape)]
        self.merge = Merge(groups, _WEIGHTS[: len(groups)])

    @cached_property
    def explaining(self) -> np.ndarray:
        """Ones, location and scale of every component, the last two with weighted mean 0, shape (d, n, 3)."""
        n, d = self.spread.shape
        counted = self.predictions[np.flatnonzero(self.weights > 0)]
        found = to_numpy(Standardised().resolved(counted).coordinates(self.predictions)).astype(np.float64)
        columns = np.stack([np.ones((n, d)), found[:, :d], found[:, d:]], axis=-1).transpose(1, 0, 2)
        columns *= self.spread.T[:, :, None]
        for k in range(d):
            w = self.weights * self.spread[:, k]
            mean = (w @ columns[k, :, 1:]) / max(w.sum(), 1e-300)
            columns[k, :, 1:] -= mean * self.spread[:, k, None]
        return columns

    @cached_property
    def explained_by(self) -> Explaining:
        """The same with its moments."""
        return Explaining(self.explaining, self.weights)

    @cached_property
    def freedom(self) -> tuple[float, float]:
        """Expected weighted sum of squares about what is explained, and its degrees of freedom, roughly.

        The first is exact for the variance 1 of scores: ``sum_i w_i (1 - h_i)``, h the leverage.
        """
        leverage = (
            np.einsum("dni,dij,dnj->nd", self.explaining, self.explained_by.inverse, self.explaining)
            * self.weights[:, None]
        )
        share = self.weights[:, None] * np.maximum(self.spread - leverage, 0.0)
        total, squares = float(share.sum()), float((share * self.weights[:, None]).sum())
        return total, total**2 / squares if squares > 0 else 0.0

    def scores(
        self, targets: np.ndarray, predictions: RealPredictions | None = None, rows: slice = slice(None)
    ) -> np.ndarray:
        """Scores of targets of shape (B, n, ...), 0 without spread: shape (B, n, d); of some rows, given both."""
        batch = self.predictions if predictions is None else predictions
        z = batch.normal_scores(targets).reshape(*targets.shape[:2], self.spread.shape[1])
        return z if self.everywhere else np.where(self.spread[rows], z, 0.0)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Signals without direction, shape (B, signals): 7, and one or two of the PIT."""
        self.ready()
        step = max(1, _AT_ONCE // max(self.spread.size, 1))
        parts = [targets[part] for part in row_slices(len(targets), step)]
        return np.concatenate(threaded_map(self._values, parts, None))

    def _values(self, targets: np.ndarray) -> np.ndarray:
        """The same of draws that stay in the cache together."""
        moments = chi_square = None
        if self.places is not None:
            places = self.places.places(targets)
            moments = self._moments(places)
            chi_square = self._chi_square(np.asarray(places.low)) if self.cells else None
        return self.columns(
            self.predictions.impossible(targets).sum(axis=1), *self.signed(targets), moments, chi_square
        )

    def columns(
        self,
        impossible: np.ndarray,
        sums: np.ndarray,
        excess: np.ndarray,
        by: np.ndarray,
        moments: np.ndarray | None,
        chi_square: np.ndarray | None,
    ) -> np.ndarray:
        """Signals without direction side by side, from those with one (`signed`), moments (B, r) and chi-square."""
        bias = np.abs(sums).max(axis=1)
        columns = [impossible, bias[:, 0], np.abs(excess), bias[:, 1], bias[:, 2], np.abs(by[:, 0]), np.abs(by[:, 1])]
        columns += [] if moments is None else [(moments**2).sum(axis=1)]
        columns += [] if chi_square is None else [chi_square]
        return np.stack(columns, axis=1)

    def ready(self) -> PreparedNumberSignals:
        """Make what values need, before threads ask for it."""
        by = self.explained_by
        by.inverse, by.products, by.thirds, self.freedom, self.everywhere  # noqa: B018
        return self

    def sums(self, draws: int) -> NumberSums:
        """Start sums of some draws that rows are added to."""
        places = self.places
        features, views = (0, 0) if places is None else (places.dimension, places.views)
        return NumberSums(self.explained_by, draws, features, views, self.cells)

    def values_of(self, sums: NumberSums) -> np.ndarray:
        """Signals without direction, shape (B, signals), from sums over all rows."""
        bias, squares, by = sums.signed()
        moments = None if self.places is None else sums.moments.T / self.amplitudes
        chi_square = self.chi_square(sums.counts) if self.cells else None
        return self.columns(sums.impossible, bias, self.excess(squares), by, moments, chi_square)

    @cached_property
    def amplitudes(self) -> np.ndarray:
        """What multiplies each feature of the places, shape (r,)."""
        assert self.places is not None  # for the type checker: asked for where there are places
        return np.tile(self.places.kernel.amplitudes, self.places.views)

    @cached_property
    def everywhere(self) -> bool:
        """Whether every row has a spread."""
        return bool(self.spread.all())

    def _moments(self, places: OutcomePlaces) -> np.ndarray:
        """Sums over rows of the polynomials of all places, shape (B, r)."""
        assert self.places is not None  # for the type checker: asked for where there are places
        return self.places.by_feature(places).sum(axis=2).T / self.amplitudes

    def _chi_square(self, u: np.ndarray) -> np.ndarray:
        """Chi-square of places (B, n, c), over all c: shape (B,)."""
        weights = None if (self.weights == 1).all() else self.weights
        return self.chi_square(np.stack([cells_of(own, self.cells, weights) for own in u.transpose(2, 0, 1)]))

    def chi_square(self, counts: np.ndarray) -> np.ndarray:
        """``sum_c (N_c - W / K)^2 / (sum_i w_i^2 (1 - 1 / K) / K)`` of counts (c, B, K), over all c: shape (B,)."""
        k, excess = self.cells, counts - self.weights.sum() / self.cells
        return (excess**2).sum(axis=(0, 2)) / ((self.weights**2).sum() * (1 - 1 / k) / k)

    def signed(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bias, alone, by location and by scale (B, d, 3); dispersion (B,); by location and scale (B, 2).

        Positive: outcomes too high, predictions too narrow.
        """
        z = self.scores(targets)
        sums, rest = self._explained(z)
        rest = rest * rest
        squares = np.einsum("bnd,n->b", rest, self.weights)
        by = sum(rest[:, :, k] @ (self.weights[:, None] * own[:, 1:]) for k, own in enumerate(self.explaining))
        return sums, self.excess(squares), by / z.shape[2]

    def excess(self, squares: np.ndarray) -> np.ndarray:
        """Cube root of the variance about what explains less its mean, from sums of squares (B,): shape (B,)."""
        total, freedom = self.freedom
        ratio = np.cbrt(squares / total) if total > 0 else np.ones(len(squares))
        return ratio - (1 - 2 / (9 * freedom)) if freedom > 0 else np.zeros(len(squares))

    def _explained(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted sums of scores times what explains, (B, d, 3), and the scores less what it explains, (B, n, d)."""
        weighted = self.explaining * self.weights[:, None]
        sums = np.stack([z[:, :, k] @ weighted[k] for k in range(z.shape[2])], axis=1)
        slopes = np.einsum("bdi,dij->bdj", sums, self.explained_by.inverse)
        fitted = np.stack([slopes[:, k] @ self.explaining[k].T for k in range(z.shape[2])], axis=2)
        return sums, z - fitted

    def clear(self, name: str, targets: np.ndarray, law: MeanLaw | None = None) -> bool:
        """Tell whether a signal deviates by the spread of the observed rows too, at 5 % for all signals together."""
        together = len(self.directed)
        return self._clarity(name, targets, law, together) > errors_apart(together)

    def named(
        self,
        found: list[str],
        pvalues: dict[str, float],
        targets: np.ndarray,
        fired: str,
        alpha: float,
        law: MeanLaw | None = None,
    ) -> list[str]:
        """Signals to name of those that speak against calibration: the clear ones, or else one."""
        clear = [name for name in found if self.clear(name, targets, law)]
        return clear or self.unclear(found, pvalues, targets, fired, alpha, law)

    def unclear(
        self,
        found: list[str],
        pvalues: dict[str, float],
        targets: np.ndarray,
        fired: str,
        alpha: float,
        law: MeanLaw | None = None,
    ) -> list[str]:
        """Name one of several signals none of which is clear: the fired one, if it is clear by itself, or the shape.

        If there is neither, the clearest or plainest. The shape of rows that depend on each other is that of their
        shared parts, and few clusters tell errors roughly: of those the one that decided is named, or one that is clear
        by itself.
        """
        if fired in found and (law is not None or self._clarity(fired, targets, law) > _BY_ITSELF):
            return [fired]
        shape = min(pvalues.get("PIT", 1.0), pvalues.get("PIT cells", 1.0)) <= alpha
        if shape and law is None:
            return ["PIT"]
        best = max(found, key=lambda name: self._clarity(name, targets, law))
        alone = self._clarity(best, targets, law) > _BY_ITSELF
        if shape and not alone:
            return ["PIT"]
        return [best if alone else min(found, key=self.directed.index)]

    def _clarity(self, name: str, targets: np.ndarray, law: MeanLaw | None, together: int = 1) -> float:
        """How many observed standard errors a signal is away from 0; of several components the clearest.

        Of few clusters or stretches errors are as much larger as the level of so many signals together takes.
        """
        z = self.scores(targets[None])
        rest = self._explained(z)[1][0]
        column = 1 if name.endswith("location") else 2 if name.endswith("scale") else 0
        explaining = self.explaining[:, :, column].T
        if name.startswith("bias"):
            terms = z[0] * explaining
        else:
            if column == 0 and not self._agree(z[0], rest, self.signed(targets[None])[1][0]):
                return 0.0
            sizes = rest**2 if column == 0 else np.abs(rest)  # few large squares say nothing of where they come from
            level = (
                1.0 if column == 0 else (self.weights @ sizes).sum() / max((self.weights @ self.spread).sum(), 1e-300)
            )
            terms = ((sizes - level * self.spread) * explaining).mean(axis=1, keepdims=True)
        terms = terms * self.weights[:, None]
        sums, errors = sums_with_errors(terms.T, law, together)
        with np.errstate(divide="ignore", invalid="ignore"):  # sums without spread that are not 0 are clear
            return float(np.nan_to_num(np.abs(sums) / errors, nan=0.0, posinf=np.inf).max())

    def _agree(self, z: np.ndarray, rest: np.ndarray, excess: float) -> bool:
        """Whether a width is wrong on the same side once it is allowed for that a few draws tell it roughly."""
        if not isinstance(self.predictions, Samples):
            return True
        noise = 2 * np.sqrt(2 / max(self.freedom[1], 1.0))
        return bool(np.sign(excess) * (self._ratio(z, rest) ** 2 - 1) > noise)

    def _ratio(self, z: np.ndarray, rest: np.ndarray) -> float:
        """How many times as wide as predicted scores spread about what explains them, shape (n, d) both.

        The standard deviation of S draws varies: of normal laws scores in its unit have variance (S + 1) / (S - 3), and
        one more for a shift, by its square over 2 (S - 3).
        """
        total, _ = self.freedom
        variance = float((self.weights @ rest**2).sum()) / max(total, 1e-300)
        size = self.predictions.size if isinstance(self.predictions, Samples) else 0
        if size > _FEW_DRAWS:
            shift = z - rest
            moved = float((self.weights @ (shift**2 * self.spread)).sum()) / max(total, 1e-300)
            variance = max(variance - moved / (2 * (size - 3)), 0.0) * (size - 3) / (size + 1)
        return float(np.sqrt(variance))

    def sentence(self, name: str, targets: np.ndarray, law: MeanLaw | None = None) -> str:
        """Say in which direction a signal deviates, for one set of targets."""
        if not self.spread.any():
            return "outcomes differ from predictions that have no spread"
        if name.startswith("PIT"):
            return self.shape(targets)
        sums, excess, by = (x[0] for x in self.signed(targets[None]))
        if name == "bias":
            k = int(np.abs(sums[:, 0]).argmax())
            return of_shift(self.predictions, targets, self.scores(targets[None])[0, :, k], self.weights, k)
        if name == "dispersion":
            return self._width(targets, float(excess))
        column = 1 if name.endswith("location") else 2
        these, those = ("high", "low") if column == 1 else ("wide", "narrow")
        if name.startswith("bias"):
            k = int(np.abs(sums[:, column]).argmax())
            far = self._far_alone(targets, column, float(sums[k, column]), k)
            word = "down" if sums[k, column] > 0 else "up"
            where = "" if len(sums) == 1 else f" of component {k}"
            return far or f"{these} predictions{where} are shifted {word} compared with {those} ones"
        word = "narrow" if by[column - 1] > 0 else "wide"
        far = self._far_alone(targets, column, float(by[column - 1]))
        return far or f"{these} predictions are too {word} compared with {those} ones"

    def _far_alone(self, targets: np.ndarray, column: int, found: float, k: int | None = None) -> str | None:
        """Sentence where a few far rows make a difference between rows that the others do not show; None elsewhere."""
        z = self.scores(targets[None])[0]
        far = np.stack([far_off(own) for own in z.T], axis=1).any(axis=1)
        few, rest = int(far.sum()), ~far
        if not few_far(few, len(z)):
            return None
        near, explaining = z[rest] - z[rest].mean(axis=0), self.explaining[:, rest, column].T
        sizes = np.abs(near) if k is None else near[:, [k]]
        terms = (sizes - sizes.mean(axis=0)) * (explaining if k is None else explaining[:, [k]])
        terms = terms.mean(axis=1) * self.weights[rest]
        if float(terms.sum()) * np.sign(found) > 2 * np.sqrt(float(terms @ terms)):
            return None
        rows = rows_in_words(few, len(z))
        return f"outcomes lie far from the predictions in {rows}, the others show no such difference"

    def _width(self, targets: np.ndarray, excess: float) -> str:
        z = self.scores(targets[None])
        rest = self._explained(z)[1][0]
        ratio = self._ratio(z[0], rest)
        known = z[0][self.spread]
        far = far_rows(known) if excess > 0 else None
        return far or of_width(self.predictions, targets, known, ratio, excess) or self.shape(targets)

    def shape(self, targets: np.ndarray) -> str:
        """Say in which way the shape is wrong."""
        if self.places is None:
            return self.aimless
        moments = self._moments(self.places.places(targets[None]))[0].reshape(self.places.views, -1)
        return of_shape(moments * np.sqrt(self.places.views / (self.weights**2).sum()))
