"""In plain words, in which direction predictions are wrong."""

from __future__ import annotations

import numpy as np

from kernelcal.inference.result import Member
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.runs import SIGNIFICANCE
from kernelcal.statistics.class_signals import PreparedClassSignals
from kernelcal.statistics.number_signals import PreparedNumberSignals

__all__ = ["Signals", "directions", "impossible_note", "impossible_rows"]

Signals = PreparedClassSignals | PreparedNumberSignals


def directions(signals: Signals, targets: np.ndarray, members: tuple[Member, ...], fired: str) -> tuple[str, ...]:
    """Sentences for the directed members that speak against calibration, the fired one first.

    A direction must be beyond what calibrated outcomes do, and beyond the spread of the observed rows: outcomes that
    spread too wide alone make sums vary more than those of calibrated ones. If none is both, the strongest is named.
    """
    pvalues = {member.name: member.pvalue for member in members}
    found = [name for name in signals.directed if pvalues.get(name, 1.0) <= SIGNIFICANCE]
    ordered = sorted(found, key=lambda name: (name != fired, pvalues[name]))
    if ordered:
        named = [name for name in ordered if signals.clear(name, targets)] or ordered[:1]
        return tuple(dict.fromkeys(signals.sentence(name, targets) for name in named))
    return (signals.shape if fired == "PIT" and isinstance(signals, PreparedNumberSignals) else signals.aimless,)


def impossible_rows(predictions: Predictions, targets: np.ndarray) -> np.ndarray:
    """Rows whose target the prediction had ruled out."""
    return np.flatnonzero(predictions.impossible(targets))


def impossible_note(predictions: Predictions, targets: np.ndarray, rows: np.ndarray, counted: bool) -> str:
    """Sentence that names the first of these rows."""
    row = int(rows[0])
    more = f" (and {len(rows) - 1:,} more rows)" if len(rows) > 1 else ""
    unseen = "" if counted else "; this p-value does not count it, that of the default test does"
    if isinstance(predictions, ClassPredictions):
        return (
            f"row {row}: the label {predictions.class_name(targets[row])} had a predicted probability of exactly "
            f"0{more}. Such a label is proof against calibration; if small probabilities were rounded to 0 on the way "
            f"here, keep more digits{unseen}"
        )
    return (
        f"row {row}: the prediction had ruled out the target {targets[row]:g}{more}. Such a target is proof against "
        f"calibration{unseen}"
    )
