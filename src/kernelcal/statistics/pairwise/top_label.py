"""Maximum mean calibration error: the kernel calibration error of the top label."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from kernelcal.arrays import Array, namespace
from kernelcal.cases import Case, refuse_numbers
from kernelcal.errors import InputError
from kernelcal.kernels import FiniteKernel, Kernel, Laplacian
from kernelcal.lenses import TopLabel
from kernelcal.pairs import Engine, ExactPairs
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics.base import Estimate, Prepared, Statistic
from kernelcal.statistics.derived import Through
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.pairwise.pair_means import SKCE

__all__ = ["MMCE", "mmce"]


# the residual of a hit is t - c itself: half of the identity, where two columns would count it twice
_ONE_COLUMN = FiniteKernel(np.eye(2) / 2)


@dataclass(frozen=True, kw_only=True)
class MMCE(Statistic):
    """Maximum mean calibration error.

    ``MMCE^2 = mean of (t_i - c_i) (t_j - c_j) k(c_i, c_j)`` with the confidence ``c_i = max_k p_ik`` and the hit t_i:
    the SKCE of the top label, without the factor 2 of two classes. The value is the root, in units of probability.

    Parameters
    ----------
    prediction_kernel : Kernel
        Kernel between confidences; default `Laplacian` with lengthscale 0.4, as in Kumar et al.
    estimator : {"biased", "unbiased"}
        Mean over all pairs, the diagonal included, or over i != j; the root of a negative unbiased value is 0.
    engine : Engine
        How pairs are summed.

    Raises
    ------
    InputError
        For data that cannot be used.

    Notes
    -----
    Cost: O(n^2). It sees the top label alone. The root has no derivative at 0; to train, minimise
    ``float(mmce) ** 2``, that is the SKCE of ``TopLabel()(y, p)``.

    References
    ----------
    Kumar, Sarawagi, Jain (2018); Widmann, Lindsten, Zachariah (2019), Example I.1.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.mmce([0, 1], [[0.7, 0.3], [0.6, 0.4]])), 6)
    0.205932

    >>> y, p = [0, 1, 0], [[0.7, 0.3], [0.6, 0.4], [0.2, 0.8]]
    >>> float(kc.mmce(y, p, estimator="unbiased")) > float(kc.mmce(y, p)) > 0
    False
    """

    prediction_kernel: Kernel = field(default_factory=lambda: Laplacian(0.4))
    estimator: str = "biased"
    engine: Engine = field(default_factory=ExactPairs)

    def __post_init__(self) -> None:
        if isinstance(self.estimator, str) and self.estimator == "block":
            raise InputError("estimator must be 'biased' or 'unbiased' for MMCE; for blocks use SKCE with TopLabel()")
        _ = self._skce  # checks the rest

    @property
    def _skce(self) -> SKCE:
        return SKCE(
            prediction_kernel=self.prediction_kernel,
            target_kernel=_ONE_COLUMN,
            estimator=self.estimator,
            engine=self.engine,
        )

    def estimated(self, case: Case) -> Estimate:
        """Estimate, with its gradient."""
        asked = case.of_classes().predictions.question == "top label"
        squared = self._skce.estimated(case if asked else case.through(TopLabel()))
        options = {"prediction_kernel": squared.options["prediction_kernel"], "question": "top label"}
        return replace(squared, value=_root(squared.value), name="MMCE", options=options)

    def prepare(self, predictions: ClassPredictions, weights: np.ndarray | None = None) -> Prepared:
        """See the predictions through the top-label lens."""
        refuse_numbers(predictions, "MMCE")
        if predictions.question == "top label":
            return _Rooted(self._skce.prepare(predictions, weights))
        return _Rooted(Through(self._skce, (TopLabel(),)).prepare(predictions, weights))


class _Rooted(Prepared):
    def __init__(self, squared: Prepared) -> None:
        self.squared, self.names = squared, ("MMCE",)
        self.engine, self.notes, self.bytes_per_draw = squared.engine, squared.notes, squared.bytes_per_draw

    def values(self, labels: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(self.squared.values(labels), 0))


def _root(value: Array) -> Array:
    if isinstance(value, float | np.generic | np.ndarray):
        return np.sqrt(np.maximum(value, 0))
    xp = namespace(value)
    return xp.sqrt(xp.where(value > 0, value, 0 * value))


mmce = function_of(MMCE)
