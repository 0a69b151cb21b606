"""Cumulative differences: sums of residuals in the order of the predictions, and over intervals of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.measures.cited.events import EventMeasure, SeminormPart

__all__ = ["CutoffError", "KSError", "KuiperError"]


class CumulativePart(SeminormPart):
    """Rows in the order of their predictions, and where each distinct prediction ends."""

    def __init__(self, p: np.ndarray, weights: np.ndarray | None, kind: str) -> None:
        super().__init__(p, weights)
        self.order = np.argsort(p, kind="stable")
        ordered = p[self.order]
        self.ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        self.distinct, self.kind = ordered[self.ends], kind

    def path(self, residuals: np.ndarray) -> np.ndarray:
        """Sums of weighted residuals up to each distinct prediction, from 0 on: shape (B, distinct + 1)."""
        sums = np.cumsum(residuals[:, self.order], axis=1)[:, self.ends]
        return np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)

    def of_residuals(self, residuals: np.ndarray) -> np.ndarray:
        """Errors for weighted residuals of shape (B, n), shape (B,)."""
        path = self.path(residuals)
        return np.asarray(np.abs(path).max(axis=1) if self.kind == "largest" else np.ptp(path, axis=1))

    def told(self, events: np.ndarray) -> dict[str, Any]:
        """The interval of predictions over which residuals sum to the value, and its sign."""
        path = self.path(self.residuals(events[None]))[0]
        ends = (0, int(np.abs(path).argmax())) if self.kind == "largest" else (int(path.argmin()), int(path.argmax()))
        first, last = sorted(ends)
        if first == last:
            return {}
        more = "more" if path[last] > path[first] else "fewer"
        low, high = self.distinct[first], self.distinct[last - 1]
        return {"where": f"{more} events than predicted at predictions from {low:.4g} to {high:.4g}"}


@dataclass(frozen=True, kw_only=True)
class KSError(EventMeasure):
    """Kolmogorov-Smirnov calibration error, ECCE-MAD: the largest sum of residuals in the order of the predictions.

    ``max_k |C_k|`` with ``C_k = sum_{i: p_i <= v_k} (y_i - p_i) / n`` for the distinct predictions ``v_1 < v_2 < ...``.
    No bins, no widths; like every plug-in error it is positive for calibrated models too.

    Parameters
    ----------
    question : str or Lens, optional
        As for `ECE`, of one event a row. The top-label question gives the KS error of Gupta et al.

    Raises
    ------
    InputError
        For data that cannot be used.

    Notes
    -----
    Rows of equal prediction enter together, so that their order says nothing; the cumulative plots of others break
    ties at random. Case weights w replace 1 / n by w_i / sum w. Cost: one sort, then O(n) for each set of outcomes.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu (2022), Metrics of calibration for probabilistic predictions; Gupta et
    al. (2021), Calibration of neural networks using splines.

    Examples
    --------
    >>> from kernelcal.measures.cited import KSError
    >>> round(float(KSError()([0, 1, 0, 0], [0.1, 0.2, 0.6, 0.7])), 6)  # sums -0.1, 0.7, 0.1, -0.6 over 4
    0.175
    """

    name: ClassVar[str] = "KS calibration error"
    kind: ClassVar[str] = "largest"

    def part(self, p: np.ndarray, weights: np.ndarray | None) -> CumulativePart:
        """Prepare one event a row."""
        return CumulativePart(p, weights, self.kind)


@dataclass(frozen=True, kw_only=True)
class KuiperError(KSError):
    """Kuiper calibration error, ECCE-R: the range of the sums of residuals in the order of the predictions.

    ``max_k C_k - min_k C_k`` with ``C_0 = 0`` and the sums of `KSError`. It is at most twice the KS error, and serves
    errors in the middle of the predictions better.

    Parameters
    ----------
    question : str or Lens, optional
        As for `ECE`, of one event a row.

    Raises
    ------
    InputError
        For data that cannot be used.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu (2022), Metrics of calibration for probabilistic predictions.

    Examples
    --------
    >>> from kernelcal.measures.cited import KuiperError
    >>> round(float(KuiperError()([0, 1, 0, 0], [0.1, 0.2, 0.6, 0.7])), 6)
    0.325
    """

    name: ClassVar[str] = "Kuiper calibration error"
    kind: ClassVar[str] = "range"


@dataclass(frozen=True, kw_only=True)
class CutoffError(KuiperError):
    """Cutoff calibration error: the largest sum of residuals over any interval of predictions.

    ``max_I |sum_{i: p_i in I} (y_i - p_i)| / n`` over intervals I. A sum over an interval is a difference of two
    cumulative sums, so that this is the Kuiper calibration error under another name. It bounds what a decision that
    acts on one side of a cutoff loses, for every cutoff and every monotone recalibration; an estimate says which
    interval it was.

    Parameters
    ----------
    question : str or Lens, optional
        As for `ECE`, of one event a row.

    Raises
    ------
    InputError
        For data that cannot be used.

    References
    ----------
    Rossellini, Soloff, Barber, Ren, Willett (2025), Can a calibration metric be both testable and actionable?

    Examples
    --------
    >>> from kernelcal.measures.cited import CutoffError
    >>> found = CutoffError()([0, 1, 0, 0], [0.1, 0.2, 0.6, 0.7])
    >>> round(float(found), 6), found.options["where"]
    (0.325, 'fewer events than predicted at predictions from 0.6 to 0.7')
    """

    name: ClassVar[str] = "cutoff calibration error"
