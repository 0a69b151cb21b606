"""Distributions of PyTorch and NumPyro, told by their names and attributes: no library is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelcal.arrays import namespace
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions
from kernelcal.predictions.bernoulli import Bernoulli
from kernelcal.predictions.categorical import Categorical
from kernelcal.predictions.diagonal_normal import DiagonalNormal
from kernelcal.predictions.laplace import Laplace
from kernelcal.predictions.mixture import Mixture
from kernelcal.predictions.multivariate_normal import MultivariateNormal
from kernelcal.predictions.negative_binomial import NegativeBinomial
from kernelcal.predictions.normal import Normal
from kernelcal.predictions.parameters import Parameters
from kernelcal.predictions.poisson import Poisson
from kernelcal.predictions.scipy_distributions import SCIPY, scipy_parameters

__all__ = ["is_distribution", "read_distribution"]

Reader = Callable[[Any], Parameters]
_NAMES = (
    "Normal",
    "Laplace",
    "MultivariateNormal",
    "Independent(Normal)",
    "Poisson",
    "NegativeBinomial",
    "Bernoulli",
    "Categorical",
    "MixtureSameFamily",
    "MixtureGeneral",
)
_MODULES = ("scipy.stats", "torch.distributions", "numpyro.distributions")


def is_distribution(x: Any) -> bool:
    """Tell whether `x` is a distribution of a library that is read, or of a class that inherits from one."""
    from_library = any(cls.__module__.startswith(_MODULES) for cls in type(x).__mro__)
    return from_library and any(hasattr(type(x), name) for name in ("log_prob", "logpdf", "logcdf"))


def read_distribution(x: Any) -> Predictions:
    """Turn a distribution into predictions: the axis of its batch holds the rows, a single one is one row.

    Raises
    ------
    InputError
        For a type that is not known, with a list of those that are.
    """
    return _parameters(x).batch()


def _parameters(x: Any) -> Parameters:
    if type(x).__module__.startswith("scipy.stats"):
        found = scipy_parameters(x)
    else:
        reader = _READERS.get(type(x).__name__) if type(x).__module__.startswith(_MODULES) else None
        found = reader(x) if reader else None
    if found is None:
        raise _unknown(x)
    return found


def _attributes(family: Callable[..., Predictions], **axes: int) -> Reader:
    """Reader of a family whose parameters are attributes, with the number of axes of one row of each."""

    def read(x: Any) -> Parameters:
        arrays = tuple(getattr(x, name) for name in axes)
        return Parameters(family, arrays, tuple(axes.values()), tuple(x.batch_shape))

    return read


def _negative_binomial(x: Any) -> Parameters:
    """PyTorch counts successes before `total_count` failures; NumPyro has a gamma distributed rate."""
    if hasattr(x, "concentration"):
        mean, dispersion = x.concentration / x.rate, x.concentration
    else:
        mean, dispersion = x.total_count * x.probs / (1 - x.probs), x.total_count
    return Parameters(NegativeBinomial, (mean, dispersion), (0, 0), tuple(x.batch_shape))


def _independent(x: Any) -> Parameters:
    """The last axes of a batch become those of an event: one axis of normal distributions makes vectors."""
    base = _parameters(x.base_dist)
    base = base.broadcast(base.batch_shape)
    if x.reinterpreted_batch_ndims == 0:
        return base
    if base.family is not Normal or x.reinterpreted_batch_ndims != 1:
        raise InputError(
            f"Independent({type(x.base_dist).__name__}) with {x.reinterpreted_batch_ndims} axes cannot be read: "
            "vectors of independent components are read of Normal with one axis; else draw from it and pass the draws"
        )
    return Parameters(DiagonalNormal, base.arrays, (1, 1), base.batch_shape[:-1])


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


_READERS: dict[str, Reader] = {
    "Normal": _attributes(Normal, loc=0, scale=0),
    "Laplace": _attributes(Laplace, loc=0, scale=0),
    "MultivariateNormal": _attributes(MultivariateNormal, loc=1, covariance_matrix=2),
    "Poisson": _attributes(Poisson, rate=0),
    **dict.fromkeys(("Bernoulli", "BernoulliProbs", "BernoulliLogits"), _attributes(Bernoulli, probs=0)),
    **dict.fromkeys(("Categorical", "CategoricalProbs", "CategoricalLogits"), _attributes(Categorical, probs=1)),
    **dict.fromkeys(
        ("NegativeBinomial", "NegativeBinomialProbs", "NegativeBinomialLogits", "NegativeBinomial2", "GammaPoisson"),
        _negative_binomial,
    ),
    "Independent": _independent,
    "ExpandedDistribution": _expanded,
    **dict.fromkeys(("MixtureSameFamily", "MixtureGeneral"), _mixture),
}


def _unknown(x: Any) -> InputError:
    if hasattr(x, "freeze"):
        return InputError(f"scipy.stats.{x.name} has no parameters: pass it with them, such as {x.name}(loc, scale)")
    name = x.dist.name if hasattr(x, "dist") else type(x).__name__
    return InputError(
        f"cannot read the distribution {name} of {type(x).__module__}. These are read: scipy.stats {', '.join(SCIPY)}; "
        f"torch.distributions and numpyro.distributions {', '.join(_NAMES)}. For others pass draws, "
        "kernelcal.as_predictions(draws, sample_axis=0)"
    )
