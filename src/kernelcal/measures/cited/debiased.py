"""Binned errors from which the noise of the outcomes is subtracted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.binning import Binning, EqualMassBins, checked_choice
from kernelcal.measures.cited.events import EventMeasure, EventPart

__all__ = ["DebiasedECE"]


class DebiasedPart(EventPart):
    """Bins of one event: shares of the weight, mean predictions, and how many rows a bin counts like."""

    def __init__(self, p: np.ndarray, weights: np.ndarray | None, binning: Binning, norm: str) -> None:
        super().__init__(p, weights)
        bins = binning.assign(p[:, None], weights)
        self.index, self.size, self.norm = bins.index, bins.size, norm
        self.mass = np.bincount(self.index, self.w, self.size)
        self.used = np.flatnonzero(self.mass)
        self.mean = np.bincount(self.index, self.w * p, self.size)[self.used] / self.mass[self.used]
        self.alike = np.bincount(self.index, self.w**2, self.size)[self.used] / self.mass[self.used] ** 2  # 1 / n_b

    def values(self, events: np.ndarray) -> np.ndarray:
        """Errors for events of shape (B, n), shape (B,)."""
        draws = len(events)
        cells = (self.index + self.size * np.arange(draws)[:, None]).ravel()
        share = np.bincount(cells, (events * self.w).ravel(), draws * self.size).reshape(draws, self.size)
        share = np.clip(share[:, self.used] / self.mass[self.used], 0, 1)
        gap, mass, noise = share - self.mean, self.mass[self.used], share * (1 - share)
        if self.norm == "l1":
            size = np.abs(gap)
            return np.asarray((mass * (2 * size - _folded(size, np.sqrt(noise * self.alike)))).sum(axis=1))
        several = self.alike < 1 - 1e-12  # one row alone says nothing of its noise, and counts nothing
        noise = np.divide(noise * self.alike, 1 - self.alike, out=np.zeros_like(noise), where=several)
        if not several.any():
            return np.full(draws, np.nan)  # not a single bin tells
        square = (mass * np.where(several, gap**2 - noise, 0.0)).sum(axis=1)
        return np.asarray(np.sign(square) * np.sqrt(np.abs(square)))

    def noise(self, events: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Plug-in error of residuals times factors, which is a seminorm of them; the debiased error is none."""
        return self._plain(self.residuals(events) * factors)

    def apart(self, events: np.ndarray) -> float:
        """How much the plug-in error is above the debiased one."""
        plain = float(self._plain(self.residuals(events[None]))[0])
        return plain - float(self.values(events[None])[0])

    def _plain(self, residuals: np.ndarray) -> np.ndarray:
        """Plug-in error of weighted residuals of shape (B, n), shape (B,)."""
        draws, mass = len(residuals), self.mass[self.used]
        cells = (self.index + self.size * np.arange(draws)[:, None]).ravel()
        sums = np.bincount(cells, residuals.ravel(), draws * self.size).reshape(draws, self.size)[:, self.used]
        return np.abs(sums).sum(axis=1) if self.norm == "l1" else np.sqrt((sums**2 / mass).sum(axis=1))


def _folded(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """``E|N(mean, spread^2)|``, for means that are not negative."""
    from scipy.special import ndtr

    ratio = np.divide(mean, spread, out=np.full_like(mean, np.inf), where=spread > 0)
    with np.errstate(over="ignore"):
        density = np.exp(-(np.minimum(ratio, 1e3) ** 2) / 2) * np.sqrt(2 / np.pi)
    return np.asarray(spread * density + mean * (1 - 2 * ndtr(-ratio)))


@dataclass(frozen=True, kw_only=True)
class DebiasedECE(EventMeasure):
    """Debiased ECE: the l2 error of bins of equal mass, without the noise of their frequencies.

    ``sum_b (n_b / n) ((mean p - frequency)^2 - f_b (1 - f_b) / (n_b - 1))`` with the frequency f_b; the value is its
    root, with the sign of what is under it: a value below 0 says that the gaps are smaller than their noise. Packages
    show 0 there. Not defined where no bin holds two rows.

    Parameters
    ----------
    question : str or Lens, optional
        As for `ECE`, of one event a row; ``class-wise`` is the mean over classes of roots.
    bins : int or Binning
        A number stands for `EqualMassBins`.
    norm : {"l2", "l1"}
        ``l1``: twice the plug-in error less its mean when frequencies are normal around those observed, which
        reduces the bias and does not remove it.

    Raises
    ------
    InputError
        For options that are none, and data that cannot be used.

    Notes
    -----
    `ECE` with ``estimator="corrected"`` subtracts ``sum (p - y)^2`` instead, and is 0 on average for calibrated
    models; this one estimates the squared error of the bins without bias whether they are calibrated or not. Of the
    l1 norm the published code draws 1,000 times what is a closed form: the mean of a folded normal. With case weights
    1 / n_b is ``sum w^2 / (sum w)^2`` in the bin. The interval is one of the error of these bins, not of finer ones.
    Cost: O(n).

    References
    ----------
    Kumar, Liang, Ma (2019), Verified uncertainty calibration; Broecker (2012); Ferro, Fricker (2012); Roelofs, Cain,
    Shlens, Mozer (2022), Mitigating bias in calibration error estimation.

    Examples
    --------
    >>> from kernelcal.measures.cited import DebiasedECE
    >>> y, p = [0, 0, 1, 0, 1, 1, 1, 1], [0.1, 0.1, 0.1, 0.1, 0.9, 0.9, 0.9, 0.9]
    >>> round(float(DebiasedECE(bins=2)(y, p)), 6)  # (.15^2 - .1875 / 3 + .1^2) / 2 is negative
    -0.122474
    """

    name: ClassVar[str] = "debiased ECE"

    bins: int | Binning = 15
    norm: str = "l2"

    def __post_init__(self) -> None:
        checked_choice(self.norm, "norm", ("l2", "l1"))
        _ = self._binning  # checks the number

    @property
    def _binning(self) -> Binning:
        return self.bins if isinstance(self.bins, Binning) else EqualMassBins(self.bins)

    def part(self, p: np.ndarray, weights: np.ndarray | None) -> DebiasedPart:
        """Prepare one event a row."""
        return DebiasedPart(p, weights, self._binning, self.norm)
