"""Cross-fitted calibration error: what a recalibration that was fitted on other rows would gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.binning import checked_choice, checked_count
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.measures.cited.events import EventMeasure, EventPart
from kernelcal.statistics import Estimate

__all__ = ["CrossFittedError"]


_TINY = 1e-300  # in place of no weight


class CrossFittedPart(EventPart):
    """Folds that are dealt in the order of the predictions, and the fits that each of them is judged by."""

    def __init__(self, p: np.ndarray, weights: np.ndarray | None, folds: int, loss: str, fit: str) -> None:
        super().__init__(p, weights)
        self.enough = len(p) >= 2 * folds
        order = np.lexsort((np.arange(len(p)), p))
        self.fold = np.empty(len(p), dtype=np.int64)
        self.fold[order] = np.arange(len(p)) % folds
        self.folds, self.loss, self.fit = folds, loss, fit
        self.sets = [self._set(order, k) for k in range(folds)] if self.enough else []

    def _set(self, order: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows to fit on in the order of their predictions, the first of each distinct one, and rows to judge."""
        train = order[self.fold[order] != k]
        return train, np.flatnonzero(np.append(True, np.diff(self.p[train]) > 0)), np.flatnonzero(self.fold == k)

    def values(self, events: np.ndarray) -> np.ndarray:
        """Errors for events of shape (B, n), shape (B,)."""
        return np.array([self.w @ self.gains(one) if self.enough else np.nan for one in events])

    def influences(self, events: np.ndarray) -> np.ndarray | None:
        """Gains less their mean: the fits are taken as they are."""
        if not self.enough:
            return None
        gains = self.gains(events)
        return np.asarray(gains - self.w @ gains)

    def gains(self, events: np.ndarray) -> np.ndarray:
        """What the fits gain in every row, for events of shape (n,)."""
        fitted, residual = self.fitted(events), events - self.p
        if self.loss == "l1":
            return np.asarray(np.sign(fitted - self.p) * residual)
        return np.asarray(residual**2 - (events - fitted) ** 2)

    def fitted(self, events: np.ndarray) -> np.ndarray:
        """Recalibrated prediction of every row, by the fit without its fold, for events of shape (n,)."""
        from scipy.optimize import isotonic_regression  # not needed for the rest, and slow to import

        found = np.empty(len(self.p))
        for train, first, held in self.sets:
            weight = np.maximum(np.add.reduceat(self.w[train], first), _TINY)
            frequency = np.add.reduceat(self.w[train] * events[train], first) / weight
            if self.fit == "isotonic":
                values = isotonic_regression(frequency, weights=weight).x
                found[held] = np.interp(self.p[held], self.p[train][first], values)
            else:
                found[held] = weight @ frequency / weight.sum()
        return found


@dataclass(frozen=True, kw_only=True)
class CrossFittedError(EventMeasure):
    """Cross-fitted calibration error: the loss that a recalibration saves on rows that it was not fitted on.

    A calibration error is the largest gain of a proper loss over functions g of the prediction, so that the gain of a
    g that was fitted on other rows is a lower bound on average, whatever g is. ``l1``: ``mean_i sign(g(p_i) - p_i)
    (y_i - p_i)``, a lower bound of ``E|E[Y | p] - p|``. ``brier``: ``mean_i (y_i - p_i)^2 - (y_i - g(p_i))^2``, of
    ``E(E[Y | p] - p)^2``. Plug-in errors are too large by the noise of the outcomes; these are not.

    Parameters
    ----------
    question : str or Lens, optional
        As for `ECE`, of one event a row.
    folds : int
        Number of parts; each is judged by the fit on the others. Rows are dealt in the order of their predictions, so
        that nothing is random; equal ones in the order of the rows.
    loss : {"l1", "brier"}
        The loss, and with it the error that is bounded.
    fit : {"isotonic", "constant"}
        How g is fitted: isotonic regression, linear between the predictions that it was fitted on, or the overall
        frequency.

    Raises
    ------
    InputError
        For options that are none, for fewer than two rows a fold, and data that cannot be used.

    Notes
    -----
    For one event all L_p norms are one. The value may be negative, is 0 on average for a calibrated model (``brier``:
    less, by what the fits are off), and is not clipped. The interval is that of a mean, with the fits taken as they
    are. Cost: as many isotonic regressions as folds, O(n), for each set of outcomes.

    References
    ----------
    Berta, Bach, Jordan (2025), Rethinking probabilistic calibration via variational estimates.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.measures.cited import CrossFittedError
    >>> p = np.random.default_rng(0).uniform(size=2000)
    >>> y = np.random.default_rng(1).uniform(size=2000) < p**2  # E|p^2 - p| = 1/6
    >>> round(float(CrossFittedError()(y, p)), 4)
    0.1675
    """

    name: ClassVar[str] = "cross-fitted calibration error"

    folds: int = 5
    loss: str = "l1"
    fit: str = "isotonic"

    def __post_init__(self) -> None:
        if checked_count(self.folds, "folds", "5") < 2:
            raise InputError(
                f"folds must be at least 2, got {self.folds}: a fit is judged on rows that it has not seen"
            )
        checked_choice(self.loss, "loss", ("l1", "brier"))
        checked_choice(self.fit, "fit", ("isotonic", "constant"))

    def estimated(self, case: Case) -> Estimate:
        """Estimate from what was checked already; groups of so few rows that there is no value are left without."""
        if len(case) < 2 * self.folds:
            raise InputError(
                f"a cross-fitted error of {self.folds} folds needs at least {2 * self.folds} rows, got {len(case)}: "
                "take fewer folds"
            )
        return super().estimated(case)

    def part(self, p: np.ndarray, weights: np.ndarray | None) -> CrossFittedPart:
        """Prepare one event a row."""
        return CrossFittedPart(p, weights, self.folds, self.loss, self.fit)
