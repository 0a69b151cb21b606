"""Distributions of PyTorch and NumPyro, told by their names and attributes: no library is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelcal.arrays import namespace
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions, families
from kernelcal.predictions.mixture import Mixture
from kernelcal.predictions.parameters import Parameters, Reading
from kernelcal.predictions.scipy_distributions import scipy_parameters

__all__ = ["LIBRARIES", "read_distribution"]

LIBRARIES = {"scipy.stats": "scipy", "torch.distributions": "torch", "numpyro.distributions": "numpyro"}


def read_distribution(x: Any) -> Predictions:
    """Turn a distribution into predictions: the axis of its batch holds the rows, a single one is one row.

    Raises
    ------
    InputError
        For a type that is not known, with a list of those that are.
    """
    return _parameters(x).batch()


def _parameters(x: Any) -> Parameters:
    """Parameters of a distribution, by what the families say that they are called."""
    library = next((name for module, name in LIBRARIES.items() if type(x).__module__.startswith(module)), "")
    if library == "scipy":
        found = scipy_parameters(x, _known)
    elif library and type(x).__name__ in _STRUCTURES:
        found = _STRUCTURES[type(x).__name__](x)
    else:
        known = _known(library, type(x).__name__)
        found = None if known is None else known[1].parameters(known[0], known[1].values(x), tuple(x.batch_shape))
    if found is None:
        raise _unknown(x)
    return found


def _known(library: str, name: str) -> tuple[type[Predictions], Reading] | None:
    """The family that a library calls so, and how its parameters are read: of kernelcal first, then of a user."""
    for family in families(own=True):
        for reading in family.__dict__.get("readings", ()):
            if library in reading.libraries and name in reading.names:
                return family, reading
    return None


def _independent(x: Any) -> Parameters:
    """The last axes of a batch become those of an event: one axis of normal distributions makes vectors."""
    base = _parameters(x.base_dist)
    base = base.broadcast(base.batch_shape)
    if x.reinterpreted_batch_ndims == 0:
        return base
    known = _known("torch", f"Independent({getattr(base.family, '__name__', '')})")
    if known is None or x.reinterpreted_batch_ndims != 1:
        raise InputError(
            f"Independent({type(x.base_dist).__name__}) with {x.reinterpreted_batch_ndims} axes cannot be read: "
            "vectors of independent components are read of Normal with one axis; else draw from it and pass the draws"
        )
    return Parameters(known[0], base.arrays, known[1].axes or (), base.batch_shape[:-1])


def _expanded(x: Any) -> Parameters:
    return _parameters(x.base_dist).broadcast(tuple(x.batch_shape))


def _mixture(x: Any) -> Parameters:
    """The last axis of the batch of components, or a list of distributions, holds the components."""
    mixing = x.mixture_distribution if hasattr(x, "mixture_distribution") else x.mixing_distribution
    shape, number = tuple(x.batch_shape), int(mixing.probs.shape[-1])
    if hasattr(x, "component_distributions"):
        parts = [_parameters(d).broadcast(shape) for d in x.component_distributions]
    else:
        together = _parameters(x.component_distribution).broadcast((*shape, number))
        parts = [together.component(k) for k in range(number)]
    sizes = [len(part.arrays) for part in parts]

    def family(weights: Any, *arrays: Any) -> Predictions:
        components: list[Any] = []
        start = 0
        for part, size in zip(parts, sizes, strict=True):
            components.append(part.family(*arrays[start : start + size]))
            start += size
        return Mixture(weights / namespace(weights).sum(weights, axis=-1, keepdims=True), tuple(components))

    arrays = (mixing.probs, *(array for part in parts for array in part.arrays))
    return Parameters(family, arrays, (1, *(axes for part in parts for axes in part.axes)), shape)


def _transformed(x: Any) -> Parameters | None:
    """A distribution that is shifted and scaled."""
    found = _parameters(x.base_dist)
    for transform in x.transforms:
        if type(transform).__name__ != "AffineTransform" or len(getattr(x.base_dist, "event_shape", ())):
            return None
        found = found.moved(transform.loc, transform.scale, type(x.base_dist).__name__)
    return found


_STRUCTURES: dict[str, Callable[[Any], Parameters | None]] = {
    "Independent": _independent,
    "ExpandedDistribution": _expanded,
    "TransformedDistribution": _transformed,
    "MixtureSameFamily": _mixture,
    "MixtureGeneral": _mixture,
}


def _names(*libraries: str) -> str:
    """Names that families are known by in some libraries."""
    known = (r for family in families() for r in family.__dict__.get("readings", ()) if set(libraries) & {*r.libraries})
    return ", ".join(dict.fromkeys(name for reading in known for name in reading.names))


def _unknown(x: Any) -> InputError:
    if hasattr(x, "freeze"):
        return InputError(f"scipy.stats.{x.name} has no parameters: pass it with them, such as {x.name}(loc, scale)")
    name = x.dist.name if hasattr(x, "dist") else type(x).__name__
    return InputError(
        f"cannot read the distribution {name} of {type(x).__module__}. These are read: scipy.stats {_names('scipy')}, "
        f"Mixture; torch.distributions and numpyro.distributions {_names('torch', 'numpyro')}, MixtureSameFamily, "
        "MixtureGeneral. For others pass draws, kernelcal.as_predictions(draws, sample_axis=0)"
    )
