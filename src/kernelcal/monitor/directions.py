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
_NATS = 2.0  # by which a slope must be better than the best shift alone: two standard errors
_PART = 0.25  # of the money of the leading expert, in logarithms
_EDGE = 0.97  # of the farthest expert
_LOGIT = 0.2  # bias of a class that is worth a word


def direction_of(kind: Kind, experts: Sequence[Expert], wealth: Wealth) -> str:
    """Return words for the money of the fixed experts, as the drift statistic shares it: it has not grown old.

    A slope or width is told where no shift alone explains as much; ``or more`` where no expert goes farther.
    """
    logs, first, words = np.log(wealth.weights) + wealth.drift, 0, []
    for one in experts:
        own = logs[first : first + one.number]
        first += one.number
        if isinstance(one, LogitMaps | PowerMaps | NormalMaps):
            scales = next((two for two in experts if isinstance(two, ClassScales) and two.biases), None)
            words += _of_maps(kind, one, own, scales)
        if isinstance(one, ClassScales) and one.biases:
            words += _of_classes(kind, one)
    return "; ".join(words)


def _of_maps(
    kind: Kind, maps: LogitMaps | PowerMaps | NormalMaps, logs: np.ndarray, scales: ClassScales | None
) -> list[str]:
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    slope, shift = maps.words(shares)
    sloped = abs(slope - 1) > _CLEAR * _spread(maps.slopes, shares)
    # outcomes wider than the widest expert vary more than it allows
    clear = 2 * _CLEAR if sloped and _or_more(maps.slopes, slope) else _CLEAR
    shifted = abs(shift) > clear * _spread(maps.shifts, shares)
    alone, gain, loss = _shift_alone(maps, logs)
    if loss < _NATS and (sloped or not shifted):  # the shift alone explains as much
        sloped, shift, shifted = False, alone, gain > _NATS
    words = []
    if sloped and (scales is None or _agreed(scales, slope)):
        words.append(_slope_in_words(kind, slope, _or_more(maps.slopes, slope)))
    if shifted:
        words.append(_shift_in_words(kind, shift, _or_more(maps.shifts, shift)))
    return words


def _shift_alone(maps: LogitMaps | PowerMaps | NormalMaps, logs: np.ndarray) -> tuple[float, float, float]:
    """Return the best shift of slope 1, what it gains over no shift, and what the leading expert gains over it.

    It lies between experts where a parabola through three of them is highest. Where that is beyond the last one, which
    won a good part of what the leading expert did, more of a shift may explain the outcomes, and a slope that leads
    gains nothing: outcomes two spreads above the predictions look wide to experts that move by 0.8 at most, and rare
    events that happen more often look less sharp.
    """
    at = np.flatnonzero(maps.slopes == 1.0)
    at = at[np.argsort(maps.shifts[at])]
    x, y = maps.shifts[at], logs[at]
    if len(at) == 1:
        return 0.0, 0.0, float(logs.max() - y[0])
    middle = int(np.clip(y.argmax(), 1, len(at) - 2))
    near = slice(middle - 1, middle + 2)
    bent, rise, height = np.polyfit(x[near], y[near], 2)
    best = float(np.clip(-rise / (2 * bent), x[0], x[-1])) if bent < 0 else float(x[y.argmax()])
    most, none = max(float(bent * best**2 + rise * best + height), float(y.max())), float(y[x == 0][0])
    beyond = best in (x[0], x[-1]) and y.max() - none > _PART * (logs.max() - none)
    return best, most - none, 0.0 if beyond else float(logs.max()) - most


def _agreed(scales: ClassScales, slope: float) -> bool:
    """Tell whether a power of all classes is left when each class has a bias of its own."""
    k = len(scales.spreads) - 1
    error = np.sqrt(np.diag(np.linalg.inv(scales.precision[k]))[:2])
    return bool((np.sign(slope - 1) * scales.theta[k, :2] > _CLEAR * error).any())


def _or_more(grid: np.ndarray, value: float) -> str:
    """Say that no expert goes farther than those who lead."""
    least = grid.min() * (_EDGE if grid.min() < 0 else 1 / _EDGE)
    return ", or more" if value >= _EDGE * grid.max() or value <= least else ""


def _slope_in_words(kind: Kind, slope: float, more: str) -> str:
    less = more.replace("more", "less") if slope < 1 else more
    if kind.ordered:
        side = "over-confident: outcomes spread" if slope > 1 else "under-confident: outcomes spread"
        return f"{side} {slope:.2g} times as wide as predicted{less}"
    side = "over-confident" if slope < 1 else "under-confident"
    what = "logit" if kind.name == "binary" else "log-probabilities"
    return f"{side}: outcomes follow {slope:.2g} times the predicted {what}{less}"


def _shift_in_words(kind: Kind, shift: float, more: str) -> str:
    if kind.ordered:
        side = "above" if shift > 0 else "below"
        return f"outcomes lie {side} the predictions, by {abs(shift):.2g} of their spread{more}"
    name = 1 if kind.names is None else kind.names[1]
    side = "more" if shift > 0 else "less"
    return f"class {name} happens {side} often than predicted, by {abs(shift):.2g} in logits{more}"


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
