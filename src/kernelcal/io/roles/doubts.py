"""What looks as if it had been read wrongly, as questions: labels that count from 1, few different predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["doubts_of", "other_scale"]


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
