"""From arrays of numbers to predictions, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.options import ReadOptions
from kernelcal.io.rows import count
from kernelcal.predictions import (
    DiagonalNormal,
    MultivariateNormal,
    Normal,
    Predictions,
    Quantiles,
    RealPredictions,
    Samples,
)
from kernelcal.predictions.base import families
from kernelcal.predictions.numbers import NO_SPREAD, positive_numbers

__all__ = ["families_in_words", "family", "family_of_name"]

_SHOWN = 6  # components in the sentence that says what was read
_ROW = re.compile(r"\brow (\d+)")


def family(
    form: str, arrays: Mapping[str, Any], options: ReadOptions, row_in_words: Callable[[int], str]
) -> RealPredictions:
    """Predictions from arrays with the sample on axis 0; what is refused is said with the row as the file has it."""
    try:
        return _FAMILIES[form](arrays, options)
    except InputError as error:
        text = _ROW.sub(lambda found: row_in_words(int(found.group(1))), str(error))
        raise InputError(text.replace('pass crossing="sort"', "say --crossing sort")) from None


def family_of_name(name: str) -> type[Predictions]:
    """Family whose parameters a file holds as columns, by its name on the command line."""
    known = {_command_name(kind): kind for kind in families(own=True) if kind.given_by}
    found = {key.replace("-", ""): kind for key, kind in known.items()}.get(
        name.lower().replace("-", "").replace("_", "")
    )
    if found is None:
        raise InputError(f"--family is one of {', '.join(sorted(known))}, got {name!r}")
    return found


def _command_name(kind: type[Predictions]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def _parametric(arrays: Mapping[str, Any], options: ReadOptions) -> Any:
    kind: Any = family_of_name(str(options.family))
    return kind(*(arrays[name] for name in kind.given_by))


def _normal(arrays: Mapping[str, Any], _: ReadOptions) -> RealPredictions:
    mean, std = arrays["mean"], arrays.get("std")
    if std is None:
        std = np.sqrt(positive_numbers(arrays["variance"], "the variance", ndim=mean.ndim, remedy=NO_SPREAD))
    return Normal(mean, std) if mean.ndim == 1 else DiagonalNormal(mean, std)


def _quantiles(arrays: Mapping[str, Any], options: ReadOptions) -> RealPredictions:
    return Quantiles(arrays["quantiles"], arrays["levels"], crossing=options.crossing)


_FAMILIES: dict[str, Callable[[Mapping[str, Any], ReadOptions], RealPredictions]] = {
    "normal": _normal,
    "covariances": lambda arrays, _: MultivariateNormal(arrays["mean"], arrays["cov"]),
    "samples": lambda arrays, _: Samples(arrays["samples"]),
    "quantiles": _quantiles,
    "parameters": _parametric,
}


def families_in_words(
    predictions: RealPredictions, columns: Mapping[str, Sequence[str]], targets: Sequence[str]
) -> str:
    """Say the family, and from which columns it was made."""
    if isinstance(predictions, Samples):
        numbers = f" of {count(predictions.dimension, 'number')}" if predictions.event_shape else ""
        return f"{count(predictions.size, 'draw')}{numbers} a row{_shown(columns['samples'])}"
    if isinstance(predictions, Quantiles):
        return _quantiles_in_words(predictions) + _shown(columns["quantiles"])
    roles = [_role(role, columns[role]) for role in columns]
    start = f"{type(predictions).__name__} from {' and '.join(filter(None, [', '.join(roles[:-1]), roles[-1]]))}"
    if len(targets) < 2:
        return start
    pairs = [f"{target} ({', '.join(of)})" for target, *of in zip(targets, *columns.values(), strict=False)]
    return f"{start}: {', '.join(pairs[:_SHOWN])}{', ...' if len(pairs) > _SHOWN else ''}"


def _role(role: str, columns: Sequence[str]) -> str:
    words = "the root of variance" if role == "variance" else role
    return words if len(columns) > 1 or columns[0] == role else f"{words} {columns[0]}"


def _quantiles_in_words(predictions: Quantiles) -> str:
    levels, equal = predictions.levels, np.diff(np.asarray(predictions.values), axis=1) == 0
    rows = int(equal.any(axis=1).sum())
    flat = f", {count(rows)} with equal neighbouring quantiles" if rows else ""
    return f"{len(levels)} quantiles from {levels[0]:g} to {levels[-1]:g}{flat}"


def _shown(columns: Sequence[str]) -> str:
    if not columns:
        return ""
    return f" ({columns[0]})" if len(columns) == 1 else f" ({columns[0]} to {columns[-1]})"
