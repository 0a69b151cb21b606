"""What the richest experts bet on, in words that a truth can contradict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.monitor.cells import Kind
from kernelcal.monitor.experts import Expert, LogitMaps, NormalMaps, PowerMaps
from kernelcal.monitor.learners import ClassScales
from kernelcal.monitor.wealth import Wealth

__all__ = ["direction_of"]


_CLEAR = 2.0  # spreads of the weights of the experts
_LOGIT = 0.2  # bias of a class that is worth a word


def direction_of(kind: Kind, experts: Sequence[Expert], wealth: Wealth) -> str:
    """Return words for the money of the fixed experts, as the drift statistic shares it: it has not grown old."""
    logs, first, words = np.log(wealth.weights) + wealth.drift, 0, []
    for one in experts:
        own = logs[first : first + one.number]
        first += one.number
        if isinstance(one, LogitMaps | PowerMaps | NormalMaps):
            shares = np.exp(own - own.max())
            words += _of_maps(kind, one, shares / shares.sum())
        if isinstance(one, ClassScales) and one.biases:
            words += _of_classes(kind, one)
    return "; ".join(words)


def _of_maps(kind: Kind, maps: LogitMaps | PowerMaps | NormalMaps, shares: np.ndarray) -> list[str]:
    slope, shift = maps.words(shares)
    words = []
    if abs(slope - 1) > _CLEAR * _spread(maps.slopes, shares):
        if kind.ordered:
            side = "over-confident: outcomes spread" if slope > 1 else "under-confident: outcomes spread"
            words.append(f"{side} {slope:.2g} times as wide as predicted")
        else:
            side = "over-confident" if slope < 1 else "under-confident"
            what = "logit" if kind.name == "binary" else "log-probabilities"
            words.append(f"{side}: outcomes follow {slope:.2g} times the predicted {what}")
    if abs(shift) > _CLEAR * _spread(maps.shifts, shares):
        if kind.ordered:
            side = "above" if shift > 0 else "below"
            words.append(f"outcomes lie {side} the predictions, by {abs(shift):.2g} of their spread")
        else:
            name = 1 if kind.names is None else kind.names[1]
            side = "more" if shift > 0 else "less"
            words.append(f"class {name} happens {side} often than predicted, by {abs(shift):.2g} in logits")
    return words


def _spread(values: np.ndarray, shares: np.ndarray) -> float:
    return float(np.sqrt(shares @ (values - shares @ values) ** 2))


def _of_classes(kind: Kind, scales: ClassScales) -> list[str]:
    """Name the class whose learned bias is largest, where it is clear of its error."""
    k = len(scales.spreads) - 1
    bias = scales.theta[k, 2:]
    error = np.sqrt(np.diag(np.linalg.inv(scales.precision[k]))[2:])
    most = int(np.abs(bias).argmax())
    if abs(bias[most]) < max(_LOGIT, _CLEAR * 1.5 * error[most]):
        return []
    name = most if kind.names is None else kind.names[most]
    side = "more" if bias[most] > 0 else "less"
    return [f"class {name} happens {side} often than predicted"]
