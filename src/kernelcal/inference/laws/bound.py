"""Distribution-free bounds of the p-value: true for every n and every law of the predictions, and very loose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from kernelcal.errors import InputError
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem, one_member, prepared_pairs
from kernelcal.kernels import Kernel, Linear, has_leaf
from kernelcal.predictions import Predictions, RealPredictions

__all__ = ["Bound", "bound_pvalue"]


@dataclass(frozen=True)
class Bound(NullLaw):
    """Distribution-free bound of the p-value of the SKCE.

    With a bound B of ``|h_ij|``, which is ``sup |k_P|`` times the largest squared distance between two class features
    (2 for the Dirac kernel), and a value t:

    - biased: ``exp(-1/2 max(0, sqrt(n t / B) - 1)^2)``;
    - unbiased and block: ``exp(-N t^2 / (2 B^2))`` for t > 0, and 1 for t <= 0, with ``N = floor(n/b) floor(b/2)``
      independent pairs for blocks of b rows (b = n for the unbiased estimator).

    Notes
    -----
    Holds at every n, also when predictions are random. It is a bound: the level is kept, the power is small. Cost:
    that of the estimate. The printed lemma allows t < 0 with p < 1; the inequality holds for t > 0 only.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Lemma 2, and appendix H.
    """

    label: ClassVar[str] = "distribution-free bound"
    name: ClassVar[str] = "bound"
    estimators: ClassVar[tuple[str, ...]] = ("unbiased", "biased", "block")
    asymptotic: ClassVar[bool] = False

    def test(self, problem: Problem) -> Outcome:
        """Bound the p-value."""
        prepared = prepared_pairs(problem)
        value = float(prepared.values(problem.case.targets[None])[0, 0])
        statistic = prepared.statistic
        bound = _kernel_bound(prepared.kernels[0], problem.case.predictions) * prepared.residual.bound()
        block = statistic.block_size or prepared.n
        pvalue = bound_pvalue(value, prepared.n, bound, None if statistic.estimator == "biased" else block)
        return one_member(prepared, value, pvalue, math.nan)


def _kernel_bound(kernel: Kernel, predictions: Predictions) -> float:
    """Bound of the prediction kernel; an inner product of means and standard deviations has none."""
    if isinstance(predictions, RealPredictions) and has_leaf(kernel, Linear):
        raise InputError("null='bound' needs a bounded prediction kernel, and Linear() has no bound for numbers")
    return kernel.bound()


def bound_pvalue(value: float, n: int, bound: float, block: int | None) -> float:
    """Bound of the p-value; `block` None means the biased estimator."""
    if value <= 0 or bound == 0:
        return 1.0
    if block is None:
        return math.exp(-0.5 * max(0.0, math.sqrt(n * value / bound) - 1) ** 2)
    pairs = n // block * (block // 2)
    return math.exp(-pairs * value**2 / (2 * bound**2))
