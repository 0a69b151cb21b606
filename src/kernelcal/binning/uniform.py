"""Bins of equal width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.binning.base import Binning, Bins, checked_choice, checked_count
from kernelcal.binning.cells import grid

__all__ = ["UniformBins"]


@dataclass(frozen=True)
class UniformBins(Binning):
    """Bins of equal width on [0, 1], for every component.

    Bin k = 1, ..., B of a probability p is ``ceil(B p)``, and 1 for p = 0: bins are closed on the right, and 0 and 1
    lie in the first and the last one. Several components form a product grid, whose cells are the bins.

    Parameters
    ----------
    bins : int
        Number B of bins of each component.
    closed : {"right", "left"}
        ``left``: bin ``floor(B p) + 1``, and B for p = 1.

    Raises
    ------
    InputError
        If `bins` is not a whole number above 0.

    See Also
    --------
    EdgeBins : bins with given edges.

    Notes
    -----
    ``B p`` is computed in the precision of the predictions and not corrected: a value that is meant to lie on an edge
    falls where this product says, as in CalibrationErrors.jl. Cost: O(n d).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> kc.UniformBins(10).assign(np.array([[0.0], [0.1], [0.45], [1.0]])).index
    array([0, 0, 4, 9])
    >>> kc.UniformBins(2).assign(np.array([[0.4, 0.1, 0.5], [0.3, 0.7, 0.0], [0.5, 0.3, 0.2]])).size
    2
    """

    bins: int = 15
    closed: str = "right"

    def __post_init__(self) -> None:
        checked_count(self.bins, "bins", "UniformBins(15)")
        checked_choice(self.closed, "closed", ("right", "left"))

    def assign(self, p: np.ndarray, weights: np.ndarray | None = None) -> Bins:
        """Bins of predictions of shape (n, d)."""
        scaled = p * p.dtype.type(self.bins)
        if self.closed == "right":
            np.ceil(scaled, out=scaled)
            np.maximum(scaled, 1, out=scaled)  # 0 joins the first bin
            scaled -= 1
        else:
            np.floor(scaled, out=scaled)
            np.minimum(scaled, self.bins - 1, out=scaled)  # 1 joins the last one
        edges = np.arange(self.bins + 1) / self.bins
        return grid(scaled.astype(np.min_scalar_type(self.bins)), edges[:-1], edges[1:])

    def __str__(self) -> str:
        return f"{self.bins} equal-width bins" + (", closed on the left" if self.closed == "left" else "")
