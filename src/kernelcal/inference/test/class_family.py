"""The default family for classes: kernels as one member, standardised and summed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.kernels import Kernel, class_matrix, kernel_between
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics import Prepared
from kernelcal.statistics.pairwise import PreparedPairMean

__all__ = ["SummedKernels", "class_factors"]


_ONE, _SEVERAL = (2**-5, 2**-3, 2**-1), (2**-1, 2.0)
_ROWS = 400  # whose pairs tell the standard deviations: they need not be exact


def class_factors(predictions: ClassPredictions) -> tuple[float, ...]:
    """Multiples of the lengthscale: finer ones for one probability, whose rows lie close, coarser ones for several."""
    return _ONE if predictions.n_classes == 2 else _SEVERAL


class SummedKernels(Prepared):
    """Unbiased SKCE at several lengthscales, each divided by its standard deviation under calibration, and summed.

    One member of a family, where several would have to be paid for: neighbouring lengthscales see much the same.

    Parameters
    ----------
    pairs : PreparedPairMean
        Kernels of class predictions.
    predictions : ClassPredictions
        The same in NumPy.

    Notes
    -----
    Given the predictions the mean of ``K_ij <r_i, r_j>`` over pairs has variance ``2 sum_{i != j} (w_i w_j K_ij)^2
    tr(V_i A V_j A)`` over the squared number of pairs, with the covariance V_i of the label's indicator and the matrix
    A of the target kernel. It is computed from the pairs of at most 400 rows, evenly spread: factors that do not look
    at targets leave the test exact, whatever they are.
    """

    def __init__(self, pairs: PreparedPairMean, predictions: ClassPredictions) -> None:
        self.pairs, self.forms, self.kernels = pairs, pairs.forms, pairs.kernels
        self.engine, self.notes, self.bytes_per_draw = pairs.engine, pairs.notes, pairs.bytes_per_draw
        several = len(pairs.names) > 1
        first, last = (name.removeprefix("kernel at ") for name in (pairs.names[0], pairs.names[-1]))
        self.names = (f"kernels at {first} to {last}",) if several else pairs.names
        self.spreads = _spreads(pairs.kernels, pairs.target_kernel, predictions, pairs.residual.weights)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Sums of standardised values, shape (B, 1); of a single kernel its value."""
        values = self.pairs.values(targets)
        return values if len(self.spreads) == 1 else (values / self.spreads).sum(axis=1, keepdims=True)


def _spreads(
    kernels: Sequence[Kernel], target: Kernel, predictions: ClassPredictions, weights: np.ndarray | None
) -> np.ndarray:
    """Standard deviation of the unbiased SKCE under every kernel, roughly; 1 where nothing can vary."""
    n = len(predictions)
    rows = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(np.intp))
    some = predictions[rows]
    p = np.asarray(some.probabilities, dtype=np.float64)
    w = np.ones(len(rows)) if weights is None else weights[rows] / weights.mean()
    moments = _covariances(p, class_matrix(target, p.shape[1])) * np.outer(w, w) ** 2
    np.fill_diagonal(moments, 0.0)
    pairs = len(rows) * (len(rows) - 1)
    found = [2 * float((np.asarray(kernel_between(k, some, some)) ** 2 * moments).sum()) / pairs for k in kernels]
    spreads = np.sqrt(np.maximum(found, 0.0) / (n * (n - 1)))
    return np.where(spreads > 0, spreads, 1.0)


def _covariances(p: np.ndarray, a: np.ndarray) -> np.ndarray:
    """``tr(V_i A V_j A)`` for ``V_i = diag(p_i) - p_i p_i'``, shape (n, n)."""
    mapped = p @ a
    crossed = p @ (mapped**2).T
    return p @ (a**2) @ p.T - crossed - crossed.T + (mapped @ p.T) ** 2
