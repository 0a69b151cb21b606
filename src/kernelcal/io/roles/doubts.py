"""What looks as if it had been read wrongly, as questions: labels that count from 1, few different predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelcal.io.roles.vocabulary import plain

__all__ = ["doubts_of", "other_scale", "other_units"]


_ROWS, _FEW, _EXPECTED = 50, 3, 10.0


def doubts_of(y: np.ndarray, predictions: Any) -> tuple[str, ...]:
    """Questions about labels and class probabilities that nothing refuses.

    No calibrated model expects ten rows of a class that has none (probability ``exp(-10)`` at most), and fewer than
    four different probabilities in fifty rows are seldom those of a model; a constant one is, and is said elsewhere.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.io.roles import doubts_of
    >>> doubts_of(np.tile([1, 2], 30), kc.Categorical(np.full((60, 3), 1 / 3)))
    ('no row has label 0, though 20 are expected: do the labels count from 1 (--one-based)?',)
    """
    probs = np.asarray(predictions.probabilities, dtype=np.float64)
    if len(probs) < _ROWS:
        return ()
    found = []
    numbers = y.dtype.kind in "iuf" and predictions.classes is None and probs.shape[1] > 2
    if numbers and not np.any(y == 0) and probs[:, 0].sum() > _EXPECTED:
        found.append(
            f"no row has label 0, though {probs[:, 0].sum():.0f} are expected: do the labels count from 1 "
            "(--one-based)?"
        )
    values = np.unique(probs[:, -1])
    if 1 < len(values) <= _FEW and not np.all((values == 0) | (values == 1)):
        found.append(
            f"the predictions have only {len(values)} different values ({', '.join(f'{v:g}' for v in values)}): are "
            "these predicted labels?"
        )
    return tuple(found)


_UNITS = (
    ("c celsius degc", "f fahrenheit degf", "k kelvin"),
    ("ms mps", "kmh kph", "mph", "kt kts knots"),
    ("mm", "cm", "m", "km", "in inch inches", "ft feet"),
    ("w", "kw", "mw", "gw"),
    ("kwh", "mwh", "gwh"),
    ("pa", "hpa mb mbar", "kpa"),
    ("eur", "usd", "gbp", "chf"),
    ("s sec seconds", "min minutes", "h hours", "days"),
)


def other_units(targets: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Ask whether a prediction has the unit of its outcome, where their names end in two units of one kind.

    Examples
    --------
    >>> from kernelcal.io.roles import other_units
    >>> other_units(["obs_C"], ["mean_F"])
    ('obs_C and mean_F are called after two units (c, f): are they in one? Write both in the same unit',)
    >>> other_units(["obs_C"], ["mean_C"]), other_units(["y"], ["mean_F"])
    ((), ())
    """
    for target in targets:
        for column in columns:
            for units in _UNITS:
                mine, its = (_unit(name, units) for name in (target, column))
                if mine and its and mine[0] != its[0]:
                    return (
                        f"{target} and {column} are called after two units ({mine[1]}, {its[1]}): are they in one? "
                        "Write both in the same unit",
                    )
    return ()


def _unit(name: str, units: Sequence[str]) -> tuple[int, str] | None:
    """Which of some units is the last word of a name."""
    last = plain(name).split("_")[-1]
    return next(((k, last) for k, words in enumerate(units) if last in words.split()), None)


_NATS = 10.0  # by which another scale must explain the outcomes better
_SCALES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "logits": lambda x: 1 / (1 + np.exp(-x)),
    "log-probabilities": np.exp,
    "percent": lambda x: x / 100,
    "out-of-ten": lambda x: x / 10,
}
_TWINS = {"logits": "log-probabilities", "percent": "out-of-ten"}
_TWINS |= {other: scale for scale, other in _TWINS.items()}


def other_scale(x: np.ndarray, y: np.ndarray, scale: str) -> tuple[str, ...]:
    """Ask whether one column has the other of two scales that its numbers fit, where that explains outcomes far better.

    Numbers that are all at most 0 may be logits or log-probabilities, numbers from 0 to 10 percentages or on a scale to
    ten. Scales are compared by the log score over all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.io.roles import other_scale
    >>> other_scale(np.full(60, 5.0), np.tile([0, 1], 30), "percent")
    ('as numbers out-of-ten they explain the outcomes better, by 49.8 nats: is --kind out-of-ten meant?',)
    """
    other = _TWINS.get(scale)
    fits = np.all(x <= 0) if scale in ("logits", "log-probabilities") else np.all((x >= 0) & (x <= 10))
    if other is None or not fits or not len(x):
        return ()
    mine, its = (_log_likelihood(_SCALES[name](x), y) for name in (scale, other))
    if its - mine < _NATS:
        return ()
    return (f"as numbers {other} they explain the outcomes better, by {its - mine:.3g} nats: is --kind {other} meant?",)


def _log_likelihood(p: np.ndarray, y: np.ndarray) -> float:
    with np.errstate(divide="ignore"):
        return float(np.sum(np.where(y == 1, np.log(np.maximum(p, 1e-12)), np.log(np.maximum(1 - p, 1e-12)))))
