"""Conventions of other libraries, as settings of bins and questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kernelcal.binning import Binning, EdgeBins, QuantileBins
from kernelcal.binning.base import checked_choice, checked_count
from kernelcal.errors import InputError
from kernelcal.registry import Registry

__all__ = ["PRESETS", "Preset"]


@dataclass(frozen=True)
class Preset:
    """Default number of bins and question of a library, and its bins by strategy."""

    bins: int
    question: str
    strategies: dict[str, Callable[[int], Binning]]

    def binning(self, bins: int | None, strategy: str) -> Binning:
        """Bins as the library makes them."""
        checked_choice(strategy, "strategy", tuple(self.strategies))
        return self.strategies[strategy](self.bins if bins is None else checked_count(bins, "bins", "bins=10"))


def _equal(bins: int) -> list[float]:
    return [float(edge) for edge in np.linspace(0, 1, bins + 1)]


def _torch_equal(bins: int) -> list[float]:
    """``torch.linspace(0, 1, bins + 1)`` in float64: from both ends to the middle, rounded once each."""
    step = 1 / bins
    below = (bins + 1) // 2
    return [step * i if i < below else float(1 - Fraction(step) * (bins - i)) for i in range(bins + 1)]


def _mapie(bins: int) -> int:
    """MAPIE counts edges: the smallest value has a bin, and one less are left for the rest."""
    if bins < 2:
        raise InputError("MAPIE with one bin uses only predictions of exactly 0 and gives NaN: bins must be at least 2")
    return bins - 1


PRESETS: Registry[Preset] = Registry("library")
for _library, _preset in {
    # sklearn.calibration.calibration_curve: searchsorted(edges[1:-1], p)
    "sklearn": Preset(5, "positive class", {"uniform": lambda b: EdgeBins(_equal(b)), "quantile": QuantileBins}),
    # torchmetrics.functional.classification.calibration_error: bucketize(p, edges, right=True) - 1
    "torchmetrics": Preset(
        15, "top label", {"uniform": lambda b: EdgeBins(_torch_equal(b), closed="left", lone_end=True)}
    ),
    # mapie.metrics.calibration: digitize(p, edges, right=True) with as many edges as bins
    "mapie": Preset(
        50,
        "top label",
        {
            "uniform": lambda b: EdgeBins(_equal(_mapie(b)), lone_end=True),
            "quantile": lambda b: QuantileBins(_mapie(b), lone_end=True),
        },
    ),
    # netcal.metrics.confidence.ECE: scipy.stats.binned_statistic_dd, after clipping p to [eps, 1 - eps]
    "netcal": Preset(
        10,
        "top label",
        {
            "uniform": lambda b: EdgeBins(_equal(b), closed="left"),
            "quantile": lambda b: QuantileBins(b, closed="left"),
        },
    ),
}.items():
    PRESETS.register(_library, _preset, summary=f"{_preset.bins} bins, {_preset.question}")
