"""Joint kernel calibration error: the SKCE with the prediction kernel of the CKCE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from kernelcal.kernels import Kernel
from kernelcal.predictions import Predictions
from kernelcal.statistics.conditional.kernel import linear_and_gaussian, two_columns
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.pairwise import SKCE, PreparedPairMean

__all__ = ["JKCE", "jkce"]


@dataclass(frozen=True, kw_only=True)
class JKCE(SKCE):
    """Joint kernel calibration error: the `SKCE` with the kernels of the `CKCE`, to be compared with it.

    Parameters
    ----------
    prediction_kernel : Kernel, optional
        Default ``p.q + exp(-|p - q|^2 / (2 gamma^2))``, gamma the median Euclidean distance, as for `CKCE`.
    target_kernel, estimator, block_size, superdiagonals, engine, integrator
        As for `SKCE`.

    Notes
    -----
    A `Bernoulli` is taken as the two probabilities (1 - p, p). Predictions that are made often count more: under a
    shift of the predictions the value changes, and that of the `CKCE` hardly.

    References
    ----------
    Moskvichev and Sejdinovic (2025), eq. 11.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import JKCE
    >>> round(float(JKCE(prediction_kernel=kc.kernels.Linear())([0, 1], [[0.8, 0.2], [0.3, 0.7]])), 6)
    -0.0456

    >>> from kernelcal.statistics import jkce
    >>> y, p = [0, 1, 1], [[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]
    >>> float(jkce(y, p)) == float(jkce(y, p, prediction_kernel=kc.kernels.Linear() + kc.Gaussian()))
    True
    """

    label: ClassVar[str] = "JKCE"

    prediction_kernel: Kernel | None = None  # type: ignore[assignment]

    def kernel_of(self, predictions: Predictions) -> Kernel:
        """Prediction kernel as given, or linear plus Gaussian."""
        if self.prediction_kernel is not None:
            return self.prediction_kernel
        return linear_and_gaussian(predictions, self.target_kernel_of(predictions), self.integrator)

    def prepare(self, predictions: Predictions, weights: np.ndarray | None = None) -> PreparedPairMean:
        """Resolve lengthscales and make the engine ready."""
        return super().prepare(two_columns(predictions), weights)

    def resolved(self, predictions: Predictions) -> Self:
        """Fix the lengthscales of both kernels."""
        return super().resolved(two_columns(predictions))


jkce = function_of(JKCE)
