"""T-Cal: debiased binned errors at many scales, each in units of its spread under calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.binning import UniformBins, checked_count
from kernelcal.measures.cited.events import EventMeasure, EventPart

__all__ = ["TCal"]


class ScalesPart(EventPart):
    """Bins of every scale; sums over pairs of rows of one bin, over their standard deviation under calibration."""

    def __init__(self, p: np.ndarray, weights: np.ndarray | None, scales: tuple[int, ...], standardised: bool) -> None:
        super().__init__(p, weights)
        self.scales, self.standardised = scales, standardised
        self.bins = [UniformBins(m, closed="left").assign(p[:, None], weights) for m in scales]
        self.mass = [np.bincount(bins.index, self.w, bins.size) for bins in self.bins]
        self.units = [self._spread(k) if standardised else 1.0 for k in range(len(scales))]

    def _spread(self, k: int) -> float:
        """Standard deviation under calibration: ``2 sum_b sum_{i != j} w_i^2 w_j^2 v_i v_j / w_b^2``, its square."""
        index, mass = self.bins[k].index, self.mass[k]
        v = self.w**2 * self.p * (1 - self.p)
        sums, own = (np.bincount(index, x, len(mass)) for x in (v, v**2))
        used = mass > 0
        variance = 2 * float((np.maximum(sums[used] ** 2 - own[used], 0) / mass[used] ** 2).sum())
        return math.sqrt(variance)

    def by_scale(self, events: np.ndarray) -> np.ndarray:
        """Debiased errors of every scale, shape (B, scales)."""
        r = self.residuals(events)
        draws, found = len(r), []
        for bins, mass, unit in zip(self.bins, self.mass, self.units, strict=True):
            cells = (bins.index + bins.size * np.arange(draws)[:, None]).ravel()
            whole, own = (np.bincount(cells, x.ravel(), draws * bins.size).reshape(draws, bins.size) for x in (r, r**2))
            used = mass > 0
            error = ((whole[:, used] ** 2 - own[:, used]) / mass[used]).sum(axis=1)
            found.append(error / unit if unit > 1e-12 else np.zeros(draws))  # no bin holds two rows: nothing to say
        return np.stack(found, axis=1)

    def values(self, events: np.ndarray) -> np.ndarray:
        """Largest over the scales for events of shape (B, n), shape (B,)."""
        return np.asarray(self.by_scale(events).max(axis=1))

    def told(self, events: np.ndarray) -> dict[str, Any]:
        """The scale at which it is largest."""
        if len(self.scales) == 1:
            return {}
        return {"bins": f"{self.scales[int(self.by_scale(events[None])[0].argmax())]} of {list(self.scales)}"}


@dataclass(frozen=True, kw_only=True)
class TCal(EventMeasure):
    """T-Cal: the debiased l2 error of equal-width bins, the largest over numbers of bins 2, 4, 8, ...

    ``T_m = sum_b (|sum r|^2 - sum r^2) / (n n_b)`` over m bins with residuals ``r = y - p``: pairs of different rows
    alone, 0 on average for a calibrated model. The value is ``max_m T_m / s_m`` with the standard deviation s_m of
    T_m under calibration, which the predictions determine. Fine bins see errors that change quickly, coarse ones small
    errors that do not.

    Parameters
    ----------
    question : str or Lens, optional
        As for `ECE`, of one event a row.
    bins : int, optional
        One number of bins: the value is then T_m itself, a squared error. Default: all powers of two from 2 up to
        ``2 n / log2(n)``, beyond which few bins hold two rows; the authors go on.

    Raises
    ------
    InputError
        For a number that is none, and data that cannot be used.

    Notes
    -----
    The authors compare each T_m with its own threshold, corrected for their number by Bonferroni; here all are ranked
    together in the same draws, which is exact and loses nothing to the correction. T_m is `ECE` with
    ``distance="squared", estimator="corrected"``, which asks about all classes at once too. Cost: O(n log n).

    References
    ----------
    Lee, Huang, Hassani, Dobriban (2023), T-Cal: an optimal test for the calibration of predictive models.

    Examples
    --------
    >>> from kernelcal.measures.cited import TCal
    >>> y, p = [0, 1, 1, 1], [0.1, 0.3, 0.6, 0.8]  # 2 bins: 2 (-.1) .7 / (4 * 2) + 2 (.4) .2 / (4 * 2)
    >>> round(float(TCal(bins=2)(y, p)), 6)
    0.0025
    """

    name: ClassVar[str] = "T-Cal"
    no_interval: ClassVar[str] = "it is a test, in units of its spread under calibration, and no size of an error"

    bins: int | None = None

    def __post_init__(self) -> None:
        if self.bins is not None:
            checked_count(self.bins, "bins", "TCal(bins=16), or None for all powers of two")

    def part(self, p: np.ndarray, weights: np.ndarray | None) -> ScalesPart:
        """Prepare one event a row."""
        if self.bins is not None:
            return ScalesPart(p, weights, (self.bins,), False)
        most = max(2.0, 2 * len(p) / math.log2(max(len(p), 4)))
        return ScalesPart(p, weights, tuple(2**k for k in range(1, int(math.log2(most)) + 1)), True)
