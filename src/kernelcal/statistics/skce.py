"""Squared kernel calibration error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from kernelcal.kernels import Integrator, Kernel, Laplacian
from kernelcal.predictions import Predictions
from kernelcal.residuals import Residual, residual_of, target_kernel_of
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.pair_means import PairMean
from kernelcal.statistics.target_notes import target_notes

__all__ = ["SKCE", "skce"]


@dataclass(frozen=True, kw_only=True)
class SKCE(PairMean):
    """Squared kernel calibration error, the mean of ``h_ij = k_P(P_i, P_j) <r_i, r_j>`` over pairs of rows.

    Zero for a calibrated model and, with a characteristic kernel, only for one. Its root has the unit of a
    probability.

    Parameters
    ----------
    prediction_kernel : Kernel
        k_P. Default `Laplacian` at the median Euclidean distance of the predictions.
    target_kernel : Kernel, optional
        k_Y between targets. Default: `Dirac` between class labels; `Gaussian` between numbers and vectors, at the
        median predicted standard deviation, where the family itself has a closed form (normal laws), else its finite
        spectrum (`kernels.Spectral`), which costs less than sums over components, draws or counts.
        ``lengthscale="median"`` of a kernel between numbers means that standard deviation: targets are not looked at.
    estimator : {"unbiased", "biased", "block", "incomplete"}
        ``unbiased``: mean over i < j; may be negative, and is not clipped. ``biased``: mean over all i, j,
        the diagonal included; never negative. ``block``: mean of the unbiased values inside consecutive blocks
        of `block_size` rows; an incomplete last block is dropped. ``incomplete``: mean over the pairs of rows that are
        at most `superdiagonals` places apart.
    block_size : int, optional
        Rows a block, at least 2; 2 is the linear-time estimator. Only for ``block``.
    superdiagonals : int, optional
        Diagonals of the matrix h above the main one, R. Only for ``incomplete``.
    engine : Engine, optional
        How pairs are summed: `ExactPairs` (default), or the approximate `Nystrom` and `RandomFourier`.
    integrator : Integrator, optional
        `kernels.GaussHermite`, `kernels.GaussLegendre` or `kernels.MonteCarlo`, for expectations of the target kernel
        without a closed form.

    Raises
    ------
    InputError
        For options that do not fit together, and for data that cannot be used.

    Notes
    -----
    Case weights w replace the mean over pairs by the mean with weights ``w_i w_j``.

    Cost of exact pairs: O(n^2 m) time and O(n m) memory; of blocks: O(n B m); of R
    superdiagonals: O(n R m). PyTorch and JAX predictions keep
    their gradient. Assumes that rows are independent given the predictions.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Table 1; Widmann, Lindsten, Zachariah (2021), Lemmas 1 and 2.

    Examples
    --------
    >>> import kernelcal as kc
    >>> statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3), estimator="biased")
    >>> round(float(statistic([0, 1, 1], [0.2, 0.7, 0.4])), 6)
    0.1059

    >>> kc.skce([1, 2], [[0.1, 0.8, 0.1], [0.2, 0.5, 0.3]], prediction_kernel=kc.Laplacian(1.0))
    SKCE
    ----
    SKCE               -0.103179
    estimator          unbiased
    rows               2
    prediction kernel  Laplacian(lengthscale=1.0, metric=Euclidean())
    target kernel      Dirac()
    engine             exact pairs
    """

    label: ClassVar[str] = "SKCE"
    settings: ClassVar[tuple[str, ...]] = ("integrator",)

    prediction_kernel: Kernel = field(default_factory=Laplacian)
    integrator: Integrator | None = None

    @property
    def resident(self) -> bool:
        """Whether values are made where the predictions lie: those of all pairs."""
        return self.estimator in ("unbiased", "biased")

    def kernel_of(self, predictions: Predictions) -> Kernel:
        """Prediction kernel as given."""
        return self.prediction_kernel

    def target_kernel_of(self, predictions: Predictions) -> Kernel:
        """Target kernel as given or by the kind of predictions."""
        return target_kernel_of(self.target_kernel, predictions)

    def residual_of(self, predictions: Predictions, target_kernel: Kernel, weights: np.ndarray | None) -> Residual:
        """Feature of the target minus its expectation under the prediction."""
        return residual_of(predictions, target_kernel, weights, self.integrator)

    def notes_of(self, predictions: Predictions) -> tuple[str, ...]:
        """Sentences on expectations that are not those of the law itself."""
        return target_notes(predictions, self.integrator)


skce = function_of(SKCE)
