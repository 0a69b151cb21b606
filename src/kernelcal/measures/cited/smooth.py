"""Smooth calibration error: residuals smoothed by a kernel whose width is the error itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcal.errors import InputError
from kernelcal.measures.cited.events import EventMeasure, SeminormPart

__all__ = ["SmoothECE"]


_CELLS = 1024  # of the grid on [0, 1]
_HALVINGS = 10


class SmoothPart(SeminormPart):
    """Residuals on a grid, their cosine transform, and the widths at which they are smoothed."""

    def __init__(self, p: np.ndarray, weights: np.ndarray | None, width: float | None) -> None:
        super().__init__(p, weights)
        place = p * _CELLS
        self.left = np.minimum(place.astype(np.int64), _CELLS - 1)
        self.share = place - self.left
        self.width = width

    def of_residuals(self, residuals: np.ndarray) -> np.ndarray:
        """Errors for weighted residuals of shape (B, n), shape (B,)."""
        waves = self._waves(residuals)
        if self.width is not None:
            return _size(waves, np.full(len(waves), self.width))
        low, high = np.zeros(len(waves)), np.ones(len(waves))
        above, below = _size(waves, low), _size(waves, high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            size = _size(waves, middle)
            wide = size <= middle  # the fixed point lies below
            low, above = np.where(wide, low, middle), np.where(wide, above, size)
            high, below = np.where(wide, middle, high), np.where(wide, size, below)
        # where the line between both ends meets size = width: the error is of second order in the last step, 1 / 1024
        gap_low, gap_high = above - low, high - below
        share = np.divide(gap_low, gap_low + gap_high, out=np.zeros_like(low), where=gap_low + gap_high > 0)
        return np.asarray(low + share * (high - low))

    def _waves(self, residuals: np.ndarray) -> np.ndarray:
        """``c_k = sum_i r_i cos(pi k p_i)`` of residuals split between neighbours on the grid, (B, cells + 1)."""
        from scipy.fft import dct

        draws, size = len(residuals), _CELLS + 1
        index = (self.left + size * np.arange(draws)[:, None]).ravel()
        right = residuals * self.share
        grid: np.ndarray = np.bincount(index, (residuals - right).ravel(), draws * size)
        grid += np.bincount(index + 1, right.ravel(), draws * size)
        grid = grid.reshape(draws, size)
        grid[:, 1:-1] *= 0.5  # the transform counts what lies inside twice
        return np.asarray(dct(grid, type=1, axis=1))


def _size(waves: np.ndarray, width: np.ndarray) -> np.ndarray:
    """``int_0^1 |sum_i r_i K_width(p_i, t)| dt`` with the normal kernel reflected at 0 and 1, shape (B,).

    The reflected kernel is ``1 + 2 sum_k exp(-width^2 pi^2 k^2 / 2) cos(pi k s) cos(pi k t)``.
    """
    from scipy.fft import dct

    k = np.arange(waves.shape[1])
    smoothed = np.abs(dct(waves * np.exp(-((np.pi * width[:, None] * k) ** 2) / 2), type=1, axis=1))
    smoothed[:, [0, -1]] /= 2  # trapezoidal rule
    return np.asarray(smoothed.sum(axis=1) / _CELLS)


@dataclass(frozen=True, kw_only=True)
class SmoothECE(EventMeasure):
    """Smooth ECE, smECE: the mean absolute residual after smoothing by a kernel as wide as the error itself.

    With ``smECE_s = int_0^1 |mean_i (y_i - p_i) K_s(p_i, t)| dt`` for the normal kernel of width s, reflected at 0 and
    1, the value is the one s with ``smECE_s = s``. It has no bins and is Lipschitz in the predictions. Like every
    plug-in error it is positive for calibrated models too.

    Parameters
    ----------
    question : str or Lens, optional
        As for `ECE`, of one event a row.
    width : float, optional
        A fixed width s in (0, 1], for ``smECE_s``; default the fixed point.

    Raises
    ------
    InputError
        For a width outside (0, 1] and data that cannot be used.

    Notes
    -----
    Computed on a grid of 1,024 cells by cosine transforms, ten halvings of the width and one step of the secant: O(n)
    and 22 transforms for each set of outcomes. Equal to the package relplot within 0.001, which is the step of its
    search, but where many predictions lie within 0.0005 of 0 or 1: that package counts them half, since its reflection
    counts the ends of its grid once. The value of a sum of residuals is at most the sum of their values, since
    ``smECE_s`` falls as s grows: that gives the interval.

    References
    ----------
    Blasiok, Nakkiran (2023), Smooth ECE: principled reliability diagrams via kernel smoothing.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.measures.cited import SmoothECE
    >>> p = np.random.default_rng(0).uniform(size=2000)
    >>> y = np.random.default_rng(1).uniform(size=2000) < p**2
    >>> round(float(SmoothECE()(y, p)), 4)
    0.1694
    """

    name: ClassVar[str] = "smooth ECE"

    width: float | None = None

    def __post_init__(self) -> None:
        width = self.width
        if width is not None and (isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width <= 1):
            raise InputError(f"width must lie in (0, 1], such as 0.05, or be left out, got {width!r}")

    def part(self, p: np.ndarray, weights: np.ndarray | None) -> SmoothPart:
        """Prepare one event a row."""
        return SmoothPart(p, weights, self.width)
