"""The default family for quantile forecasts: what every level claims, overall and where forecasts are alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.cases import Case
from kernelcal.kernels import Stationary, kernel_between
from kernelcal.predictions import Quantiles
from kernelcal.randomness import generator_of
from kernelcal.statistics import Merge, Prepared
from kernelcal.statistics.signals import CellScores, PreparedQuantileSignals, skewed

__all__ = ["QUANTILE_FACTORS", "PreparedQuantileKernels", "law_of_cells", "quantile_merge"]


QUANTILE_FACTORS = (0.25, 1.0)  # multiples of the median distance between forecasts
_LANDMARKS = 64


class PreparedQuantileKernels(Prepared):
    """Cell scores summed over forecasts that are alike: about landmark rows, at several lengthscales.

    ``sum_j sum_f ((sum_i k_ij f_i)+)^2 / sum_i k_ij^2 var f_i`` over the landmarks j and the numbers f of `CellScores`
    (high, low, narrow, wide), each less its mean. Kernel values must not be negative: then nothing decreases in a
    claim. Landmarks are rows chosen by a fixed seed from their number alone.

    Notes
    -----
    Told as normal quantiles of a gamma law of the same mean and variance under the claims (`skewed`). Cost of a draw:
    ``4 n J`` multiplications for each lengthscale, J = 64 landmarks.
    """

    by_cells = True

    def __init__(
        self,
        base: Stationary,
        factors: Sequence[float],
        predictions: Quantiles,
        scores: CellScores,
        weights: np.ndarray | None,
        notes: tuple[str, ...] = (),
    ) -> None:
        n = len(predictions)
        rows = np.arange(n)
        if n > _LANDMARKS:
            rows = np.sort(generator_of(0, "landmarks of quantile forecasts").choice(n, _LANDMARKS, replace=False))
        self.notes, self.engine = notes, f"cells between quantiles, {len(rows)} landmark rows"
        scales = [base.scale * factor for factor in factors]
        self.names = tuple(f"kernel at {scale:.3g}" for scale in scales)
        alike = [np.asarray(kernel_between(base.with_lengthscale(s), predictions, predictions[rows])) for s in scales]
        self._sum_over(alike, scores, weights)

    def _sum_over(self, alike: Sequence[np.ndarray], scores: CellScores, weights: np.ndarray | None) -> None:
        """Make sums over landmarks ready, for kernel values of shape (n, J), those of every name."""
        n = len(alike[0])
        own = np.ones(n) if weights is None else weights
        self.scores, self.bytes_per_draw = scores, 40 * n
        self.columns = np.concatenate([np.maximum(k, 0.0) * own[:, None] for k in alike], axis=1)
        spreads = np.sqrt(scores.variances(self.columns**2))
        self.spreads = np.where(spreads > 0, spreads, 1.0)
        self.moments = [self._moments(k) for k in range(len(alike))]

    def values(self, targets: np.ndarray) -> np.ndarray:
        """One value for each lengthscale of outcomes or codes of shape (B, n): shape (B, lengthscales)."""
        forms = self.scores.forms(self.scores.codes(targets), self.columns) / self.spreads[:, None]
        squares = (np.maximum(forms, 0.0) ** 2).sum(axis=0)
        sums = squares.reshape(len(squares), len(self.names), -1).sum(axis=2)
        return np.stack([skewed(sums[:, k], *self.moments[k]) for k in range(len(self.names))], axis=1)

    def _moments(self, k: int) -> tuple[float, float]:
        """Mean and variance of one sum under the claims, if the forms are jointly normal."""
        part = slice(k * self.columns.shape[1] // len(self.names), (k + 1) * self.columns.shape[1] // len(self.names))
        w, number = self.columns[:, part], self.scores.number
        covariance = np.broadcast_to(self.scores.covariance, (len(w), number, number))
        products = [[(w * covariance[:, f, g, None]).T @ w for g in range(number)] for f in range(number)]
        joint = np.block(products)
        spreads = np.sqrt(np.maximum(np.diagonal(joint), 0.0))
        varying = spreads > 0
        r = joint[np.ix_(varying, varying)] / np.outer(spreads[varying], spreads[varying])
        return 0.5 * int(varying.sum()), float(_covariance_of_positive_squares(np.clip(r, -1.0, 1.0)).sum())


def _covariance_of_positive_squares(r: np.ndarray) -> np.ndarray:
    """Covariance of (X+)^2 and (Y+)^2 for standard normal X and Y with correlation r."""
    both = (1 + 2 * r * r) * (np.pi / 2 + np.arcsin(r)) + 3 * r * np.sqrt(1 - r * r)
    return np.asarray(both / (2 * np.pi) - 0.25)


def law_of_cells(case: Case) -> str:
    """Name of the law of redrawn cells: outcomes that equal quantiles make it conservative."""
    ties = case.predictions.cells.has_ties(case.targets)
    return f"exact, {'conservative with ties, ' * ties}cells redrawn from the claimed shares"


def quantile_merge(signals: PreparedQuantileSignals, kernels: PreparedQuantileKernels) -> Merge:
    """Groups of the signals, and the kernels as one more."""
    assert signals.merge is not None  # for the type checker: signals are grouped
    first = len(signals.names)
    more = tuple(range(first, first + len(kernels.names)))
    groups = (*signals.merge.groups[:3], more, *signals.merge.groups[3:])
    return Merge(groups, standardised=True)
