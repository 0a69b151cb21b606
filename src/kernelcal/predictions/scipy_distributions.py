"""Distributions of scipy.stats, frozen or of the new kind, told by their names: scipy.stats is not imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelcal.predictions.base import Predictions
from kernelcal.predictions.mixture import Mixture
from kernelcal.predictions.parameters import Parameters, Reading

__all__ = ["scipy_parameters"]

Find = Callable[[str, str], tuple[type[Predictions], Reading] | None]
_FROZEN = "_frozen"


def scipy_parameters(x: Any, find: Find) -> Parameters | None:
    """Parameters of a distribution, None if its type is not known; `find` knows families by library and name."""
    kind = type(x).__name__
    if kind in ("rv_continuous_frozen", "rv_discrete_frozen"):
        return _frozen(x, find)
    if kind == "Mixture":
        return _mixture(x, find)
    if kind == "ShiftedScaledDistribution":
        inner = scipy_parameters(getattr(x, "_dist", None), find)
        return None if inner is None else inner.moved(x.loc, x.scale, str(getattr(x, "_dist", "the distribution")))
    # classes such as Normal, those of `make_distribution`, whose name their text begins with, and frozen vectors
    name = str(x).split("(")[0] if kind == "CustomDistribution" else kind.removesuffix(_FROZEN)
    found = find("scipy", name)
    return None if found is None else found[1].parameters(found[0], found[1].values(x), None)


def _frozen(x: Any, find: Find) -> Parameters | None:
    """Shape parameters by their names, then location and scale."""
    found = find("scipy", x.dist.name) if type(x.dist).__module__.startswith("scipy.stats") else None
    if found is None:
        return None
    family, reading = found
    names = [*(name.strip() for name in (x.dist.shapes or "").split(",") if name.strip()), "loc", "scale"]
    given = {"loc": 0.0, "scale": 1.0, **dict(zip(names, x.args, strict=False)), **x.kwds}
    standard = reading.parameters(family, tuple(given[name] for name in reading.arguments), None)
    return standard.moved(given["loc"], given["scale"], x.dist.name)


def _mixture(x: Any, find: Find) -> Parameters | None:
    parts = [scipy_parameters(component, find) for component in x.components]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None

    def family(weights: Any) -> Predictions:
        components: Any = tuple(part.batch() for part in known)
        return Mixture(weights, components)

    return Parameters(family, (x.weights,), (1,), ())
