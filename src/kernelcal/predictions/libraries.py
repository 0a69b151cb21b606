"""Distributions of scipy.stats, PyTorch and NumPyro, told by their names and attributes: no library is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions, families, trusted
from kernelcal.predictions.compositions import Mixture
from kernelcal.predictions.foreign import Parameters, Reading

__all__ = ["LIBRARIES", "read_distribution", "stacked"]


_SHARED = ("levels", "tails", "classes", "question", "function", "log_density")  # what a batch says once for all rows


def stacked(batches: Sequence[Predictions]) -> Predictions:
    """Join one-row batches of one family, in the order given; notes are kept once each.

    Raises
    ------
    InputError
        If families, shapes, levels or classes differ, or a batch has other than one row.
    """
    if len({getattr(batch, "logs", None) is None for batch in batches}) > 1:  # some by logits, others by probabilities
        batches = [trusted(batch, logs=getattr(batch, "log_probabilities", None)) for batch in batches]
    first, collected = batches[0], [_arrays(batch) for batch in batches]
    for k, batch in enumerate(batches):
        _refuse_different(k, first, batch, collected[0], collected[k])
    columns = iter([namespace(*column).concat(list(column), axis=0) for column in zip(*collected, strict=True)])
    notes = tuple(dict.fromkeys(note for batch in batches for note in batch.notes))
    return trusted(first.map_arrays(lambda _: next(columns)), notes=notes)


def _arrays(batch: Predictions) -> list[Array]:
    """The arrays of a batch in the order in which it maps them."""
    found: list[Array] = []

    def collect(x: Array) -> Array:
        found.append(x)
        return x

    batch.map_arrays(collect)
    return found


def _refuse_different(k: int, first: Predictions, batch: Predictions, ours: list[Array], theirs: list[Array]) -> None:
    if type(batch) is not type(first):
        raise InputError(
            f"predictions of one family are stacked: element 0 is {type(first).__name__} and element {k} is "
            f"{type(batch).__name__}: evaluate the families apart, or turn all of them into Samples"
        )
    if len(batch) != 1:
        raise InputError(
            f"single predictions are stacked, and element {k} has {len(batch)} rows: pass one batch with all rows, or "
            "kernelcal.predictions.Mixture(None, batches) if the batches are components"
        )
    shapes = [[tuple(x.shape) for x in arrays] for arrays in (ours, theirs)]
    if shapes[0] != shapes[1] or not _says_the_same(first, batch):
        raise InputError(
            f"element {k} cannot be stacked with element 0: {type(batch).__name__} of other shapes, levels or classes "
            f"(arrays of shapes {shapes[1]}, before {shapes[0]})"
        )


def _says_the_same(first: Predictions, batch: Predictions) -> bool:
    pairs = ((getattr(first, name, None), getattr(batch, name, None)) for name in _SHARED)
    return all(np.array_equal(np.asarray(one), np.asarray(other)) for one, other in pairs)


Find = Callable[[str, str], tuple[type[Predictions], Reading] | None]
_FROZEN = "_frozen"


def _scipy_parameters(x: Any, find: Find) -> Parameters | None:
    """Parameters of a distribution, None if its type is not known; `find` knows families by library and name."""
    kind = type(x).__name__
    if kind in ("rv_continuous_frozen", "rv_discrete_frozen"):
        return _frozen(x, find)
    if kind == "Mixture":
        return _mixture(x, find)
    if kind == "ShiftedScaledDistribution":
        inner = _scipy_parameters(getattr(x, "_dist", None), find)
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
    parts = [_scipy_parameters(component, find) for component in x.components]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None

    def family(weights: Any) -> Predictions:
        components: Any = tuple(part.batch() for part in known)
        return Mixture(weights, components)

    return Parameters(family, (x.weights,), (1,), ())


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
        found = _scipy_parameters(x, _known)
    elif library and type(x).__name__ in _STRUCTURES:
        found = _STRUCTURES[type(x).__name__](x)
    else:
        known = _known(library, _name_of(x))
        found = None if known is None else known[1].parameters(known[0], known[1].values(x), tuple(x.batch_shape))
    if found is None:
        raise _unknown(x)
    return found


def _name_of(x: Any) -> str:
    """Name of its class; PyTorch has one for probabilities and logits: with logits it is named as NumPyro does."""
    name, given = type(x).__name__, getattr(x, "_param", None)
    by_logits = given is not None and given is vars(x).get("logits") and name in ("Bernoulli", "Categorical")
    if by_logits:
        return f"{name}Logits"
    without = name in ("BernoulliLogits", "CategoricalLogits") and not hasattr(x, "logits")
    return name.removesuffix("Logits") if without else name


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


def _mixture_of_libraries(x: Any) -> Parameters:
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
    "MixtureSameFamily": _mixture_of_libraries,
    "MixtureGeneral": _mixture_of_libraries,
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
