"""What looks as if it had been read wrongly, as questions: labels that count from 1, few different predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["doubts"]


_ROWS, _FEW, _EXPECTED = 50, 3, 10.0


def doubts(y: np.ndarray, predictions: Any) -> tuple[str, ...]:
    """Questions about labels and class probabilities that nothing refuses.

    No calibrated model expects ten rows of a class that has none (probability ``exp(-10)`` at most), and fewer than
    four different probabilities in fifty rows are seldom those of a model; a constant one is, and is said elsewhere.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.io.roles import doubts
    >>> doubts(np.tile([1, 2], 30), kc.Categorical(np.full((60, 3), 1 / 3)))
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
            "these predicted labels, or numbers that were rounded?"
        )
    return tuple(found)
