"""Signals of predictions of numbers: shifted up or down, too narrow or too wide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.predictions import RealPredictions
from kernelcal.statistics.base import Prepared, Statistic
from kernelcal.statistics.outcomes import kuiper
from kernelcal.statistics.scores import components_of
from kernelcal.statistics.signals.clear import clear_of_zero

__all__ = ["NumberSignals", "PreparedNumberSignals"]


_VALUES = 2**21  # numbers of one part: 16 MiB


@dataclass(frozen=True)
class NumberSignals(Statistic):
    """Moments of the standardised residuals ``z = (y - mean) / std`` and their interaction with the predicted scale.

    ``bias``: ``max_k |sum_i z_ik|`` over the components k of a target. ``dispersion``: ``|sum_i (z_i^2 - 1)|``, the
    square averaged over components. ``bias by scale`` and ``dispersion by scale``: the same with every row multiplied
    by its standardised log standard deviation, so that wide predictions may err otherwise than narrow ones. All have
    mean zero inside the bars under calibration, whatever the family. Residuals of laws without variance are normal
    quantiles (`standardised` of the family).

    ``PIT``: Kuiper's distance of the values ``(F_i(y_i-) + F_i(y_i)) / 2`` from uniform ones, the largest of the
    components: the shape of the predicted distributions, on the scale of each. Where values have probabilities of
    their own these are not uniform under calibration either; their law is that of the draws.

    ``impossible target``: number of targets that the predictions had ruled out. It is 0 in every draw.

    Notes
    -----
    Rows without spread take no part but in the first. Case weights multiply every row. Cost: O(n d) a draw.
    """

    def prepare(self, predictions: RealPredictions, weights: np.ndarray | None = None) -> PreparedNumberSignals:
        """Compute means, standard deviations and the predicted scale."""
        return PreparedNumberSignals(predictions, weights)


class PreparedNumberSignals(Prepared):
    """Signals of fixed predictions, with their directions."""

    directed = ("bias", "dispersion", "bias by scale", "dispersion by scale")
    aimless = "no single direction: neither one shift nor one width of all predictions explains how outcomes deviate"
    shape = "no clear shift or wrong width: the shape of the predicted distributions is wrong"
    engine = "sums over rows"

    def __init__(self, predictions: RealPredictions, weights: np.ndarray | None = None) -> None:
        self.predictions = predictions
        n = len(predictions)
        self.weights = np.ones(n) if weights is None else weights
        self.bytes_per_draw = 32 * n * predictions.dimension
        self.scale = _standardised_scale(predictions, self.weights)
        self.given = weights
        self.components = components_of(predictions)
        self.names = ("impossible target", *self.directed, *(("PIT",) if self.components else ()))

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Signals without direction, shape (B, 6), or (B, 5) without distribution functions."""
        bias, dispersion, bias_by, dispersion_by = self.signed(targets)
        largest = (np.abs(bias).max(axis=1), np.abs(dispersion), np.abs(bias_by).max(axis=1), np.abs(dispersion_by))
        impossible = self.predictions.impossible(targets).sum(axis=1)
        pit = (self._pit(targets),) if self.components else ()
        return np.stack([impossible, *largest, *pit], axis=1)

    def _pit(self, targets: np.ndarray) -> np.ndarray:
        """Largest distance of the components from uniform values, shape (B,)."""
        return np.max([self._distance(k, targets) for k in range(len(self.components))], axis=0)

    def _distance(self, k: int, targets: np.ndarray) -> np.ndarray:
        batch, y = self.components[k], targets[..., k] if self.predictions.event_shape else targets
        middle = 0.5 * (batch.cdf_below(y) + batch.cdf(y))
        if self.given is None:
            return kuiper(np.sort(middle, axis=1))
        order = np.argsort(middle, axis=1)
        return kuiper(np.take_along_axis(middle, order, axis=1), self.given[order])

    def signed(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Bias (B, d), dispersion (B,), and both multiplied by the scale; positive: too low, too narrow."""
        draws, d = len(targets), self.predictions.dimension
        bias, by = np.zeros((draws, d)), np.zeros((draws, d))
        spread, spread_by = np.zeros(draws), np.zeros(draws)
        for part in row_slices(len(self.predictions), _VALUES // max(draws * d, 1)):
            z = self._standardised(part, targets[:, part])
            excess = (z * z).mean(axis=2) - self._has_spread(part)
            w, ws = self.weights[part], self.weights[part] * self.scale[part]
            bias += np.einsum("bnd,n->bd", z, w)
            by += np.einsum("bnd,n->bd", z, ws)
            spread += excess @ w
            spread_by += excess @ ws
        return bias, spread, by, spread_by

    def clear(self, name: str, targets: np.ndarray) -> bool:
        """Tell whether a signal deviates by the spread of the observed rows too, for one set of targets."""
        sums = squares = np.zeros(1)
        for part in row_slices(len(self.predictions), _VALUES // max(self.predictions.dimension, 1)):
            z = self._standardised(part, targets[None, part])[0]
            terms = z if name.startswith("bias") else ((z * z).mean(axis=1) - self._has_spread(part))[:, None]
            terms = terms * (self.weights[part] * (self.scale[part] if name.endswith("scale") else 1.0))[:, None]
            sums, squares = sums + terms.sum(axis=0), squares + (terms**2).sum(axis=0)
        return bool(clear_of_zero(sums, squares, len(self.predictions)).any())

    def _standardised(self, part: slice, targets: np.ndarray) -> np.ndarray:
        z = self.predictions[part].standardised(targets)
        return z.reshape(*z.shape[:2], self.predictions.dimension)

    def _has_spread(self, part: slice) -> np.ndarray:
        """Expected z^2: the share of components with spread."""
        std = to_numpy(self.predictions[part].width)
        return (std > 0).reshape(len(std), -1).mean(axis=1)

    def sentence(self, name: str, targets: np.ndarray) -> str:
        """Say in which direction a signal deviates, for one set of targets."""
        if not (to_numpy(self.predictions.width) > 0).any():
            return "outcomes differ from predictions that have no spread"
        bias, spread, by, spread_by = (x[0] for x in self.signed(targets[None]))
        total = float(self.weights.sum())
        if name == "bias":
            return _shift(bias, total)
        if name == "dispersion":
            ratio = float(np.sqrt(max(1 + spread / total, 0.0)))
            return f"predictions too {_width(spread)} (outcomes spread {ratio:.2f} times as wide as predicted)"
        if name == "bias by scale":
            word = "down" if by[np.abs(by).argmax()] > 0 else "up"
            return f"wide predictions are shifted {word} compared with narrow ones"
        return f"wide predictions are too {_width(spread_by)} compared with narrow ones"


def _shift(bias: np.ndarray, total: float) -> str:
    k = int(np.abs(bias).argmax())
    where = "" if len(bias) == 1 else f" in component {k}"
    word, direction = ("higher", "down") if bias[k] > 0 else ("lower", "up")
    size = abs(bias[k]) / total
    return f"predictions shifted {direction}{where} (outcomes are {word} by {size:.2g} standard deviations on average)"


def _width(excess: float) -> str:
    return "narrow" if excess > 0 else "wide"


def _standardised_scale(predictions: RealPredictions, weights: np.ndarray) -> np.ndarray:
    """Mean log standard deviation of a row, centred and divided by its spread; 0 where all are equal."""
    std = to_numpy(predictions.width).astype(np.float64).reshape(len(predictions), -1)
    known = (std > 0).all(axis=1)
    logs = np.log(np.where(std > 0, std, 1.0)).mean(axis=1)
    centred = np.where(known, logs - np.average(logs, weights=weights * known) if known.any() else 0.0, 0.0)
    spread = float(np.sqrt((centred**2).mean()))
    return centred / spread if spread > 1e-9 else np.zeros(len(centred))
