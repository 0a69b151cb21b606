"""Maps of ensembles by the CRPS, and of quantiles by the pinball loss or level by level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.predictions import Samples
from kernelcal.recalibration.numbers.moving import BOUND, Affine, NumberMap, numbers_of

__all__ = ["EnsembleMap", "Levels", "ShiftedEnsemble", "Stretched", "crps_of_members"]


def crps_of_members(draws: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CRPS of every ensemble as a distribution, and half the mean distance of its members, each with itself too.

    For members that stretch around their own mean this is the right one: at S members of the predicted law, the mean
    distance of different members would be smaller for a factor above 1, since their mean moves with them.
    """
    size = draws.shape[1]
    ordered = np.sort(draws, axis=1)
    half = ordered @ (2 * np.arange(size) - size + 1) / size**2
    return np.abs(draws - y[:, None]).mean(axis=1) - half, half


@dataclass(frozen=True)
class EnsembleMap(Affine):
    """EnsembleMap of ensembles moved with their mean and stretched around it, by the CRPS."""

    name: ClassVar[str] = "places and widths"

    @classmethod
    def fit(cls, case: Case, weights: np.ndarray, number: float) -> Self:
        """Minimise the mean CRPS in units of the root mean square residual of the ensemble means."""
        draws, y = numbers_of(case.predictions.draws), case.targets.astype(np.float64)
        place, width = numbers_of(case.predictions.mean), numbers_of(case.predictions.std)
        apart = draws - place[:, None]
        half = crps_of_members(draws, y)[1]
        unit = float(np.sqrt(np.average((y - place) ** 2, weights=weights))) or 1.0

        def loss(moved: np.ndarray, log_factor: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            factor = np.exp(log_factor)
            off = moved[:, None] + factor[:, None] * apart - y[:, None]
            sign = np.sign(off)
            value = np.abs(off).mean(axis=1) - factor * half
            return value / unit, sign.mean(axis=1) / unit, factor * ((sign * apart).mean(axis=1) - half) / unit

        return cls._fitted(place, width, y, weights, number, loss)

    def __call__(self, predictions: Any) -> Any:
        """Return ensembles of as many members, with their weights."""
        draws, mean = numbers_of(predictions.draws), numbers_of(predictions.mean)
        place, factor = self._moved(mean, numbers_of(predictions.std))
        return Samples(place[:, None] + factor[:, None] * (draws - mean[:, None]), notes=predictions.notes)


class ShiftedEnsemble(EnsembleMap):
    """One shift, and one factor of all widths."""

    name: ClassVar[str] = "one shift, one factor"
    free: ClassVar[tuple[bool, bool]] = (False, False)


@dataclass(frozen=True)
class Stretched(NumberMap):
    """Quantiles moved by one shift and stretched around their middle, by the pinball loss."""

    name: ClassVar[str] = "one shift, one factor"
    shift: float
    stretch: float

    @classmethod
    def fit(cls, case: Case, weights: np.ndarray, number: float) -> Self:
        """Minimise the mean pinball loss by shift and factor, with a ridge of 1 / n on its logarithm."""
        from scipy.optimize import minimize  # as above

        q, y, levels = numbers_of(case.predictions.values), case.targets.astype(np.float64), case.predictions.levels
        middle = _middle(q, levels)
        unit = float(np.average(np.abs(y - middle), weights=weights)) or 1.0
        apart = q - middle[:, None]

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            factor = np.exp(np.clip(theta[1], -BOUND, BOUND))
            off = y[:, None] - middle[:, None] - theta[0] * unit - factor * apart
            slope = np.where(off > 0, -levels, 1 - levels)  # in the quantile
            value = np.maximum(levels * off, (levels - 1) * off).mean(axis=1)
            by_shift = weights @ slope.mean(axis=1) * unit
            by_stretch = weights @ (slope * apart).mean(axis=1) * factor
            n = len(y)
            total = weights @ value / n / unit + theta[1] ** 2 / number
            return float(total), np.array([by_shift, by_stretch]) / n / unit + [0.0, 2 * theta[1] / number]

        bounds = [(-BOUND, BOUND)] * 2
        found = minimize(objective, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}).x
        return cls(float(found[0] * unit), float(found[1]))

    def __call__(self, predictions: Any) -> Any:
        """Return quantiles of the same levels."""
        q = numbers_of(predictions.values)
        middle = _middle(q, predictions.levels)[:, None]
        return replace(predictions, values=middle + self.shift + np.exp(self.stretch) * (q - middle))

    def in_words(self) -> str:
        """Say by how much."""
        return f"quantiles moved by {self.shift:.4g}, distances from the middle times {np.exp(self.stretch):.3g}"


@dataclass(frozen=True)
class Levels(NumberMap):
    """Every level moved by the quantile of its own errors, in units of the row's width: conformal, level by level."""

    name: ClassVar[str] = "every level"
    shifts: np.ndarray

    @classmethod
    def fit(cls, case: Case, weights: np.ndarray, number: float) -> Self:
        """Take weighted quantiles of the errors over the width of the row."""
        q, y, levels = numbers_of(case.predictions.values), case.targets.astype(np.float64), case.predictions.levels
        errors = (y[:, None] - q) / _widths(q)[:, None]
        shifts = []
        for column, level in zip(errors.T, levels, strict=True):
            order = np.argsort(column)
            share = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
            shifts.append(np.interp(level, share, column[order]))
        return cls(np.array(shifts))

    def __call__(self, predictions: Any) -> Any:
        """Return quantiles of the same levels, sorted where they cross."""
        q = numbers_of(predictions.values)
        return replace(predictions, values=np.sort(q + _widths(q)[:, None] * self.shifts, axis=1))

    def in_words(self) -> str:
        """Say by how much."""
        words = ", ".join(f"{shift:+.3g}" for shift in self.shifts[:9]) + ", ..." * (len(self.shifts) > 9)
        return f"levels moved by {words} widths of their rows"


def _middle(q: np.ndarray, levels: np.ndarray) -> np.ndarray:
    return np.array([np.interp(0.5, levels, row) for row in q])


def _widths(q: np.ndarray) -> np.ndarray:
    """Distance of the outermost quantiles; 1 where there is none."""
    width = q[:, -1] - q[:, 0]
    return np.where(width > 0, width, 1.0)
