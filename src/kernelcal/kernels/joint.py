"""Kernels on predictions and targets together that are no single product: sums of products, as a list of terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel, Product, Scaled, Sum, positive
from kernelcal.kernels.metrics import Euclidean, Metric
from kernelcal.kernels.profiles import Gaussian, InverseMultiquadric, RationalQuadratic
from kernelcal.kernels.simple import FiniteKernel

__all__ = ["Constant", "OnTargets", "Term", "joint_mixture", "on_targets", "terms_of"]


@dataclass(frozen=True)
class Constant(Kernel):
    """The kernel that is 1 between all predictions: rows are compared by their residuals alone.

    The SKCE is then the squared mean residual, the calibration of all rows taken together.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kernel = kc.kernels.Constant()
    >>> round(float(kc.skce([1, 1, 0], [0.5, 0.9, 0.1], prediction_kernel=kernel, estimator="biased")), 6)
    0.055556
    """

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of the pairs: ``exp(-0 d^2)``, in the library of the predictions."""
        return pairs.ops.shift(pairs.ops.scale(pairs.equal(), 0.0), 1.0)

    def bound(self) -> float:
        """Return 1."""
        return 1.0

    def positive_definite(self, points: Any) -> bool:
        """Always."""
        return True


@dataclass(frozen=True)
class OnTargets(Kernel):
    r"""A kernel between targets as a factor inside ``prediction_kernel``, for kernels that are no single product.

    A kernel on predictions and targets together is written with ``+`` and ``*``, and taken apart into terms
    ``sum_t k_t(P, P') l_t(y, y')``. A factor between targets is an `OnTargets` or a `FiniteKernel`; a term that has
    none takes the target kernel of the statistic (its ``target_kernel``, or the default).

    Parameters
    ----------
    kernel : Kernel
        Kernel between targets, such as ``Gaussian(1.0)``. The lengthscale ``"median"`` is that of targets.

    Raises
    ------
    InputError
        If `kernel` is no kernel, and where it would have to compare predictions.

    Notes
    -----
    Sums of products of positive definite kernels are positive definite. With matrices on m classes,
    ``sum_t k_t A_t`` is the matrix-valued kernel of the supplement. Cost: that of every term. Null laws of the SKCE and
    intervals serve them; upper ends allow for surprises as those of numbers, by noise.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), supplement, eq. D.7; (2021), Definition 2 and App. E.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> y, p = [0, 2, 1], [[0.8, 0.1, 0.1], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]]
    >>> near = kc.FiniteKernel([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]])
    >>> both = kc.skce(y, p, prediction_kernel=kc.Laplacian(0.3) * near + kc.Gaussian(0.5))
    >>> one = kc.skce(y, p, prediction_kernel=kc.Laplacian(0.3), target_kernel=near)
    >>> other = kc.skce(y, p, prediction_kernel=kc.Gaussian(0.5))
    >>> bool(np.isclose(float(both), float(one) + float(other)))
    True
    """

    joint = True

    kernel: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel) or isinstance(self.kernel, OnTargets):
            raise InputError(f"OnTargets needs a kernel between targets such as Gaussian(1.0), got {self.kernel!r}")

    def __str__(self) -> str:
        return f"OnTargets({self.kernel})"

    def evaluate(self, pairs: Any) -> Array:
        """Refused: it compares targets."""
        raise InputError(
            f"{self} compares targets: it is a factor in the prediction_kernel of SKCE and KCCSD, which alone take "
            "kernels on predictions and targets together; elsewhere pass it as target_kernel"
        )

    def bound(self) -> float:
        """Bound of the kernel inside."""
        return self.kernel.bound()

    def positive_definite(self, points: Any) -> bool:
        """As the kernel inside, between targets."""
        return self.kernel.positive_definite(points)


@dataclass(frozen=True)
class Term:
    """One product ``k(P, P') l(y, y')``; None in the place of l is the target kernel of the statistic."""

    kernel: Kernel
    target: Kernel | None


def on_targets(kernel: Kernel, function: Callable[[Kernel], Kernel]) -> Kernel:
    """Rebuild a joint kernel with a function applied to its kernels between targets."""
    return kernel.map_leaves(lambda k: OnTargets(function(k.kernel)) if isinstance(k, OnTargets) else k)


def terms_of(kernel: Kernel) -> tuple[Term, ...]:
    """Take a kernel on predictions and targets apart into a sum of products, equal factors between targets together.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import OnTargets, terms_of
    >>> kernel = (kc.Laplacian(1.0) + kc.Gaussian(2.0)) * OnTargets(kc.Dirac()) + kc.Gaussian(3.0)
    >>> [(str(term.kernel)[:8], term.target) for term in terms_of(kernel)]
    [('Laplacia', Dirac()), ('Gaussian', None)]
    """
    gathered: list[tuple[Kernel, Kernel | None]] = []
    for found, target in _expanded(kernel):
        mine = Constant() if found is None else found
        same = next((k for k, (_, other) in enumerate(gathered) if _same(target, other)), None)
        if same is None:
            gathered.append((mine, target))
        else:
            gathered[same] = (gathered[same][0] + mine, target)
    return tuple(Term(*pair) for pair in gathered)


_Factors = tuple[Kernel | None, Kernel | None]


def _expanded(kernel: Kernel) -> list[_Factors]:
    """Products of a kernel multiplied out: a factor between predictions and one between targets, None for neither."""
    if isinstance(kernel, OnTargets):
        return [(None, kernel.kernel)]
    if isinstance(kernel, FiniteKernel):
        return [(None, kernel)]
    if not kernel.joint:
        return [(kernel, None)]
    if isinstance(kernel, Sum):
        return [*_expanded(kernel.left), *_expanded(kernel.right)]
    if isinstance(kernel, Scaled):
        return [(Scaled(kernel.factor, k or Constant()), target) for k, target in _expanded(kernel.kernel)]
    if isinstance(kernel, Product):
        right = _expanded(kernel.right)
        return [(_times(k, k2), _times(t, t2)) for k, t in _expanded(kernel.left) for k2, t2 in right]
    raise InputError(f"{kernel} cannot be taken apart into products: write it with + and *")


def _times(left: Kernel | None, right: Kernel | None) -> Kernel | None:
    return left if right is None else right if left is None else left * right


def _same(left: Kernel | None, right: Kernel | None) -> bool:
    if isinstance(left, FiniteKernel) and isinstance(right, FiniteKernel):
        return np.array_equal(left.matrix, right.matrix)
    return left == right


def joint_mixture(
    profile: RationalQuadratic | InverseMultiquadric, target_lengthscale: float, terms: int = 12
) -> Kernel:
    r"""Profile of one distance over predictions and targets, ``phi(sqrt(d_P(P, P')^2 + r^2 |y - y'|^2))``.

    It is no product: how near two predictions must be depends on how near the targets are. Rational quadratic and
    inverse multiquadric profiles are mixtures of Gaussians, ``(1 + u)^-a = int_0^oo g_a(t) e^(-t u) dt`` with the gamma
    density g_a, and a Gaussian of such a distance is a product. So the kernel is taken as a finite sum of products, at
    equal steps of log t: itself a kernel, whatever the number of terms.

    Parameters
    ----------
    profile : RationalQuadratic or InverseMultiquadric
        phi with its metric between predictions and its lengthscale l, a number.
    target_lengthscale : float
        Lengthscale of the targets, l / r.
    terms : int
        Number of products, from 2 to 64.

    Returns
    -------
    Kernel
        To be passed as ``prediction_kernel``.

    Raises
    ------
    InputError
        For another profile, or a lengthscale that is no number.

    Notes
    -----
    The sum agrees with phi, over all distances, to 5e-4 of its largest value with 12 terms and to 1e-6 with 32 for an
    exponent of -1, and to 2e-3 and 2e-5 for -1/2. Cost: that of so many SKCE. Gaussians between numbers have closed
    forms under normal laws.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Definition 2 and App. E, for kernels that are no tensor product.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kernel = kc.kernels.joint_mixture(kc.RationalQuadratic(1.0), target_lengthscale=2.0)
    >>> y, predictions = [0.1, 1.2, 0.4], kc.Normal([0.0, 1.0, 0.5], [1.0, 2.0, 1.0])
    >>> estimate = kc.skce(y, predictions, prediction_kernel=kernel)
    """
    if not isinstance(profile, RationalQuadratic | InverseMultiquadric):
        raise InputError(
            f"joint_mixture needs RationalQuadratic or InverseMultiquadric, mixtures of Gaussians, got {profile!r}: "
            "write other kernels as sums of products with OnTargets"
        )
    positive("target_lengthscale", target_lengthscale)
    if not isinstance(terms, int) or not 2 <= terms <= 64:
        raise InputError(f"terms must be a whole number from 2 to 64, got {terms!r}")
    if isinstance(profile, RationalQuadratic):
        alpha, square, amplitude = profile.alpha, 2 * profile.alpha, 1.0
    else:
        alpha, square, amplitude = -profile.beta, profile.offset**2, profile.amplitude
    scale, metric = profile.scale, profile.metric
    nodes, weights = _gamma_rule(terms, alpha)
    pairs = zip(nodes, weights, strict=True)
    products = [_product(amplitude * w, t, square, scale, target_lengthscale, metric) for t, w in pairs]
    return reduce(lambda left, right: left + right, products)


def _product(weight: float, t: float, square: float, scale: float, target: float, metric: Metric) -> Kernel:
    """``w exp(-t d^2 / (s l^2)) exp(-t |y - y'|^2 / (s l_y^2))``: Gaussians of lengthscale ``l sqrt(s / (2 t))``."""
    stretch = float(np.sqrt(square / (2 * t)))
    on_targets = OnTargets(Gaussian(target * stretch, metric=Euclidean()))
    return float(weight) * (Gaussian(scale * stretch, metric=metric) * on_targets)


def _gamma_rule(terms: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the gamma density of shape alpha: equal steps of log t, ``w ~ t^alpha e^-t``.

    The transform has algebraic tails, for which Gauss-Laguerre nodes are far too large; equal steps of log t reach them
    and err exponentially little. The step and the largest node were chosen for the least error over all distances.
    """
    size = terms * alpha
    nodes = np.exp(np.log(size) - 1 - 3.2 / np.sqrt(size) * np.arange(terms))
    weights = nodes**alpha * np.exp(-nodes)
    return nodes, weights / weights.sum()
