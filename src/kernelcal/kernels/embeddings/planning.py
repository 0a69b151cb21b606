"""From a target kernel and predictions to the embedding that computes their expectations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelcal.errors import InputError, NoClosedFormError
from kernelcal.kernels.base import Kernel, Scaled, Sum
from kernelcal.kernels.embeddings import (
    gaussian,  # noqa: F401  they register their closed forms
    laplacian,  # noqa: F401
)
from kernelcal.kernels.embeddings.atoms import OverDraws
from kernelcal.kernels.embeddings.base import Cross, Embedding, refuse_metric
from kernelcal.kernels.embeddings.closed_forms import (
    MEAN,
    ClosedForm,
    OfMeans,
    OfSpectrum,
    cross_of,
    families_with,
    kernels_with,
    mean_of,
)
from kernelcal.kernels.embeddings.finite import OverClasses, over_counts
from kernelcal.kernels.embeddings.integrators import Integrator
from kernelcal.kernels.embeddings.structure import (
    OfSum,
    OverComponents,
    OverCoordinates,
    Times,
    components,
    merged,
    normal_coordinate,
)
from kernelcal.kernels.profiles import Stationary
from kernelcal.kernels.simple import PIT, Coordinatewise, Linear
from kernelcal.kernels.spectral import Spectral
from kernelcal.predictions import ClassPredictions, DiagonalNormal, IsotropicNormal, Mixture, RealPredictions, Samples

__all__ = ["MEAN", "cross_of", "mean_of", "plan"]  # MEAN with the closed forms that the files imported here register


def plan(kernel: Kernel, predictions: Any, integrator: Integrator | None = None) -> Embedding:
    """Choose how the expectations ``E k(Z, y)`` and ``E k(Z, Z')`` of a target kernel are computed.

    Four steps, always in this order:

    1. the structure of the kernel: sums, factors, products over coordinates, the linear and spectral kernels;
    2. the structure of the predictions: components of mixtures, draws of samples, classes, counts;
    3. the table of closed forms, by the exact types of kernel and family;
    4. the integrator, if one is given.

    Parameters
    ----------
    kernel : Kernel
        Target kernel, its lengthscale a number.
    predictions : Predictions
        The plan serves this batch, its rows, and other batches of its family.
    integrator : Integrator, optional
        `GaussHermite`, `GaussLegendre` or `MonteCarlo`, for what steps 1 to 3 do not find. It never replaces a closed
        form, and nothing else is ever approximated.

    Returns
    -------
    Embedding
        With ``mean(p, y)`` and ``cross(p, q)`` for batches whose arrays have leading axes that broadcast. Printed, it
        says what is computed how.

    Raises
    ------
    NoClosedFormError
        If no step finds a way; it lists the closed forms that exist and the ways out.
    InputError
        If the kernel is none between targets, or the integrator does not suit the predictions.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import plan
    >>> predictions = kc.predictions.Mixture([0.3, 0.7], [kc.Normal([0.0], 1.0), kc.Normal([2.0], 0.5)])
    >>> print(plan(kc.Gaussian(1.0) + 0.5 * kc.Linear(), predictions))
    sum of
      mixture: means over 2 components, crosses over all 4 pairs of them
        closed form: Gaussian(lengthscale=1.0, metric=Euclidean()) under Normal
      0.5 times
        linear kernel: inner products of means and targets, for every family
    """
    if not isinstance(kernel, Kernel):
        raise InputError(f"the target kernel must be a kernel such as kernelcal.Gaussian(1.0), got {kernel!r}")
    if isinstance(predictions, ClassPredictions):
        return OverClasses(kernel, 0, predictions.n_classes)
    if not isinstance(predictions, RealPredictions):
        raise InputError(f"{type(predictions).__name__} has no expectations of kernels: use a family for numbers")
    if integrator is not None and not isinstance(integrator, Integrator):
        raise InputError(f"integrator must be one of kernelcal.kernels such as MonteCarlo(), got {integrator!r}")
    kernel.map_leaves(_checked_leaf)
    return _planned(merged(kernel, len(predictions.event_shape)), [predictions], integrator)


def _planned(kernel: Kernel, batches: Sequence[RealPredictions], integrator: Integrator | None) -> Embedding:
    """Plan for batches of one family: one, or the components of a mixture."""
    found = _by_kernel(kernel, batches, integrator) or _by_predictions(kernel, batches, integrator)
    family = type(batches[0])
    if found is None and (type(kernel), family) in MEAN:
        found = ClosedForm(kernel, family)
    if found is None and integrator is not None:
        found = integrator.embedding(kernel, batches[0])
    if found is None:
        raise _no_closed_form(kernel, family)
    return found


def _by_kernel(kernel: Kernel, batches: Sequence[Any], integrator: Integrator | None) -> Embedding | None:
    """Step 1."""
    if isinstance(kernel, Sum):
        return OfSum(_planned(kernel.left, batches, integrator), _planned(kernel.right, batches, integrator))
    if isinstance(kernel, Scaled):
        return Times(kernel.factor, _planned(kernel.kernel, batches, integrator))
    if isinstance(kernel, Spectral):
        return OfSpectrum(kernel, len(batches[0].event_shape))
    if isinstance(kernel, Linear):
        for batch in batches:
            batch.refuse_without_mean("the linear kernel")
        return OfMeans(batches[0].event_shape != ())
    if isinstance(kernel, Coordinatewise) and isinstance(batches[0], DiagonalNormal | IsotropicNormal):
        inside = _planned(kernel.kernel, [normal_coordinate(batches[0], 0)], integrator)
        return OverCoordinates(inside, type(batches[0]).__name__)
    return None


def _by_predictions(kernel: Kernel, batches: Sequence[Any], integrator: Integrator | None) -> Embedding | None:
    """Step 2."""
    first = batches[0]
    if isinstance(first, Mixture):
        return _of_mixture(kernel, first, integrator)
    if isinstance(first, Samples):
        return OverDraws(kernel, len(first.event_shape))
    if first.counts:
        return over_counts(kernel, batches)
    return None


def _of_mixture(kernel: Kernel, mixture: Mixture, integrator: Integrator | None) -> OverComponents:
    by_family: dict[type, list[Any]] = {}
    for _, component in components(mixture):
        by_family.setdefault(type(component), []).append(component)
    parts = {family: _planned(kernel, batches, integrator) for family, batches in by_family.items()}
    crosses = {(a, b): _crossing(kernel, a, parts[a], b, parts[b]) for a in parts for b in parts}
    return OverComponents(sum(map(len, by_family.values())), parts, crosses)


def _crossing(kernel: Kernel, left: type, of_left: Embedding, right: type, of_right: Embedding) -> Cross:
    """How a pair of components is computed; what is missing is found before anything is computed."""
    if left is right:
        return of_left.cross
    found, opposite = of_left.crossing(of_right), of_right.crossing(of_left)
    if found is not None:
        return found
    if opposite is not None:
        return lambda p, q: opposite(q, p)
    raise NoClosedFormError(
        f"{kernel} has closed forms for {left.__name__} and for {right.__name__}, but not for a pair of both, which a "
        f"mixture of them needs: {_WAYS_OUT}"
    )


_WAYS_OUT = (
    "pass an integrator (kernelcal.kernels.GaussHermite() for normal predictions, GaussLegendre() where there are "
    "quantiles, MonteCarlo() for everything that can be drawn from), use draws as kernelcal.predictions.Samples, or "
    "the target kernel kernelcal.kernels.Spectral(kernel), which needs the characteristic function only"
)


def _no_closed_form(kernel: Kernel, family: type) -> NoClosedFormError:
    name = type(kernel).__name__
    kernels = ", ".join([*kernels_with(family), "Linear"])
    families = ", ".join([*families_with(type(kernel)), "Samples", "counts", "mixtures of these"])
    return NoClosedFormError(
        f"E k(Z, y) of {kernel} under {family.__name__} has no closed form. {family.__name__} has some for {kernels}; "
        f"{name} has some for {families}. Ways out: {_WAYS_OUT}"
    )


def _checked_leaf(leaf: Kernel) -> Kernel:
    if isinstance(leaf, PIT):
        raise InputError(
            f"{leaf} compares the places of outcomes in their predicted distributions and has no expectation between "
            "targets: use it as target_kernel, by itself"
        )
    if isinstance(leaf, Stationary):
        refuse_metric(leaf.metric)
        leaf.scale  # noqa: B018  raises for a lengthscale that is not resolved
    return leaf
