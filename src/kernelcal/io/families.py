"""From arrays of numbers to predictions, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.rows import count
from kernelcal.predictions import (
    DiagonalNormal,
    MultivariateNormal,
    Normal,
    Quantiles,
    RealPredictions,
    Samples,
)
from kernelcal.predictions.numbers import NO_SPREAD, positive_numbers

__all__ = ["families_in_words", "family"]

_SHOWN = 6  # components in the sentence that says what was read
_ROW = re.compile(r"\brow (\d+)")


def family(form: str, arrays: Mapping[str, Any], crossing: str, row_in_words: Callable[[int], str]) -> RealPredictions:
    """Predictions from arrays with the sample on axis 0; what is refused is said with the row as the file has it."""
    try:
        return _FAMILIES[form](arrays, crossing)
    except InputError as error:
        text = _ROW.sub(lambda found: row_in_words(int(found.group(1))), str(error))
        raise InputError(text.replace('pass crossing="sort"', "say --crossing sort")) from None


def _normal(arrays: Mapping[str, Any], _: str) -> RealPredictions:
    mean, std = arrays["mean"], arrays.get("std")
    if std is None:
        std = np.sqrt(positive_numbers(arrays["variance"], "the variance", ndim=mean.ndim, remedy=NO_SPREAD))
    return Normal(mean, std) if mean.ndim == 1 else DiagonalNormal(mean, std)


def _quantiles(arrays: Mapping[str, Any], crossing: str) -> RealPredictions:
    return Quantiles(arrays["quantiles"], arrays["levels"], crossing=crossing)


_FAMILIES: dict[str, Callable[[Mapping[str, Any], str], RealPredictions]] = {
    "normal": _normal,
    "covariances": lambda arrays, _: MultivariateNormal(arrays["mean"], arrays["cov"]),
    "samples": lambda arrays, _: Samples(arrays["samples"]),
    "quantiles": _quantiles,
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
    start = f"{type(predictions).__name__} from {' and '.join(_role(role, columns[role]) for role in columns)}"
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
