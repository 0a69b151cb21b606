"""Maximum mean discrepancy: distance of the mean embeddings of predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kernelcal.arrays import Array, take_rows
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.embeddings import plan
from kernelcal.kernels.metrics import PairwiseMetric, above_rounding

__all__ = ["MMD"]


@dataclass(frozen=True)
class MMD(PairwiseMetric):
    """Maximum mean discrepancy ``|m_P - m_P'|``, ``m_P = E k(Z, .)``: the distance of mean embeddings.

    ``d^2 = E k(Z_1, Z_2) + E k(Z'_1, Z'_2) - 2 E k(Z, Z')``, without unit, at most the root of 2 k(y, y). It serves
    every family whose expectations are known (`kernelcal.kernels.embeddings.plan`) and, unlike `MixtureWasserstein`, is
    Hilbertian for all of them.

    Parameters
    ----------
    kernel : Kernel
        Target kernel k, with a number as lengthscale: differences of predictions below it are smoothed away.
    integrator : optional
        How expectations without a closed form are computed, as for embeddings.

    Raises
    ------
    InputError
        For a kernel whose lengthscale is not a number, and for a family without expectations.

    Notes
    -----
    Cost: one ``cross`` of the embedding a pair. Where predictions are alike, d^2 is a difference of nearly equal
    numbers: distances below about 1e-7 are 0. Gradients flow.

    References
    ----------
    Gretton et al. (2012), Lemma 6; Glaser, Widmann, Lindsten, Gretton (2023), Sec. 4.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels.divergences.mmd import MMD
    >>> predictions = kc.Normal([0.0, 3.0], [1.0, 1.0])
    >>> round(kc.median_lengthscale(predictions, metric=MMD(kc.Gaussian(1.0))), 6)
    0.947128
    """

    kernel: Kernel
    integrator: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"kernel must be a target kernel such as kernelcal.Gaussian(1.0), got {self.kernel!r}")
        self.kernel.map_leaves(_refuse_median)

    def prepare(self, predictions: Any) -> _Embedded:
        """Choose the plan, and compute ``|m_P|^2`` of every prediction."""
        embedding = plan(self.kernel, predictions, self.integrator)
        return _Embedded(embedding, predictions, embedding.cross(predictions, predictions))

    def squared_distances(self, p: _Embedded, q: _Embedded) -> Array:
        """Squared distances, leading axes broadcast."""
        norms = p.norms + q.norms
        return above_rounding(norms - 2 * p.embedding.cross(p.predictions, q.predictions), norms)

    def largest_exponent(self, predictions: Any) -> float:
        """2 for a positive definite target kernel."""
        return 2.0 if self.kernel.positive_definite(predictions) else 0.0

    def why_not(self, predictions: Any) -> str:
        """Reason and alternative, for a target kernel that is not positive definite."""
        if self.hilbertian(predictions):
            return ""
        return f"the target kernel {self.kernel} of MMD is not known to be positive definite: use Gaussian(lengthscale)"


@dataclass(frozen=True, eq=False)
class _Embedded:
    """Predictions with the squared norms of their mean embeddings."""

    embedding: Any
    predictions: Any
    norms: Array

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, index: Any) -> _Embedded:
        return replace(self, predictions=self.predictions[index], norms=take_rows(self.norms, index))

    def map_arrays(self, function: Callable[[Array], Array]) -> _Embedded:
        return replace(self, predictions=self.predictions.map_arrays(function), norms=function(self.norms))


def _refuse_median(kernel: Kernel) -> Kernel:
    if isinstance(getattr(kernel, "lengthscale", None), str):
        raise InputError(
            f"MMD needs a number as lengthscale of its target kernel, got {kernel}: pass MMD(Gaussian(1.0)), or let "
            "kernelcal.kernels.resolve_target(kernel, predictions) put the median predicted standard deviation there"
        )
    return kernel
