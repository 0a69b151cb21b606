"""Distributions of scipy.stats, frozen or of the new kind, told by their names: scipy.stats is not imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions
from kernelcal.predictions.laplace import Laplace
from kernelcal.predictions.mixture import Mixture
from kernelcal.predictions.multivariate_normal import MultivariateNormal
from kernelcal.predictions.negative_binomial import NegativeBinomial
from kernelcal.predictions.normal import Normal
from kernelcal.predictions.parameters import Parameters
from kernelcal.predictions.poisson import Poisson

__all__ = ["SCIPY", "scipy_parameters"]

SCIPY = ("norm", "laplace", "poisson", "nbinom", "multivariate_normal", "Normal", "Mixture")
_FROZEN: dict[str, tuple[Callable[..., Predictions], tuple[str, ...]]] = {
    "norm": (Normal, ("loc", "scale")),
    "laplace": (Laplace, ("loc", "scale")),
    "poisson": (Poisson, ("mu", "loc")),
    "nbinom": (NegativeBinomial.from_probability, ("n", "p", "loc")),
}
_LOCATED: dict[str, Callable[..., Predictions]] = {"Normal": Normal, "StandardNormal": Normal, "Laplace": Laplace}


def scipy_parameters(x: Any) -> Parameters | None:
    """Parameters of a distribution, None if its type is not known."""
    if type(x).__name__ in ("rv_continuous_frozen", "rv_discrete_frozen"):
        return _frozen(x)
    if type(x).__name__ == "multivariate_normal_frozen":
        return Parameters(MultivariateNormal, (x.mean, x.cov), (1, 2), ())
    if type(x).__name__ == "Mixture":
        return _mixture(x)
    if type(x).__name__ == "ShiftedScaledDistribution":
        return _shifted(x)
    return _new_style(x)


def _frozen(x: Any) -> Parameters | None:
    if x.dist.name not in _FROZEN:
        return None
    family, names = _FROZEN[x.dist.name]
    given = {"loc": 0.0, "scale": 1.0, **dict(zip(names, x.args, strict=False)), **x.kwds}
    if "scale" not in names:
        _refuse_shifted(x.dist.name, given["loc"])
        names = names[:-1]
    return _scalars(family, *(given[name] for name in names))


def _refuse_shifted(name: str, loc: Any) -> None:
    if np.any(np.asarray(loc) != 0):
        raise InputError(
            f"{name} with loc={loc} counts from loc, not from 0: subtract loc from the targets and leave it out"
        )


def _new_style(x: Any) -> Parameters | None:
    """Class `Normal`, and classes of `make_distribution`, whose name their text begins with."""
    name = type(x).__name__ if type(x).__name__ != "CustomDistribution" else str(x).split("(")[0]
    if name in _LOCATED:
        return _scalars(_LOCATED[name], getattr(x, "mu", 0.0), getattr(x, "sigma", 1.0))
    if name == "Poisson":
        return _scalars(Poisson, x.mu)
    if name == "NegativeBinomial":
        return _scalars(NegativeBinomial.from_probability, x.n, x.p)
    return None


def _shifted(x: Any) -> Parameters | None:
    """``scale * X + loc`` of a normal or Laplace distribution is one again."""
    inner = scipy_parameters(getattr(x, "_dist", None))
    if inner is None or inner.family not in (Normal, Laplace):
        return None
    center, spread = inner.arrays
    return _scalars(inner.family, x.loc + x.scale * center, np.abs(x.scale) * spread)


def _mixture(x: Any) -> Parameters | None:
    parts = [scipy_parameters(component) for component in x.components]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None

    def family(weights: np.ndarray) -> Predictions:
        components: Any = tuple(part.batch() for part in known)
        return Mixture(weights, components)

    return Parameters(family, (x.weights,), (1,), ())


def _scalars(family: Callable[..., Predictions], *values: Any) -> Parameters:
    arrays = tuple(np.asarray(value, dtype=np.float64) for value in values)
    return Parameters(family, arrays, (0,) * len(arrays), np.broadcast_shapes(*(a.shape for a in arrays)))
