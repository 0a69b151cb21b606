"""Probabilities of categories in a long table, one line a category, gathered to one row a prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from kernelcal.errors import InputError, naming_rows
from kernelcal.io.columns import (
    ReadOptions,
    Units,
    count,
    dependents_of_units,
    given_of_units,
    groups_of_units,
    kept_given,
    kept_groups,
    kept_keys,
    keys_of_units,
    listed,
    rows_to_keep,
)
from kernelcal.io.sources import Cells, Source, is_number, missing
from kernelcal.io.table import Data, LongLines, with_dependents
from kernelcal.io.truth import Outcomes
from kernelcal.predictions import as_predictions

__all__ = ["between_thresholds", "of_categories", "pivot_categories"]


def pivot_categories(
    values: np.ndarray, keys: Cells, lines: np.ndarray, units: Units
) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Probabilities of shape (n, m), names of the m categories in the order of their first line, and that of a line."""
    numbers, texts = keys.numbers[lines], keys.texts
    used = list(dict.fromkeys(numbers.tolist()))
    names = [texts[number] for number in used]
    without = next((name for name in names if missing(name)), None)
    if without is not None:
        raise InputError("some lines with probabilities of categories have no category: leave these lines out")
    place = np.full(len(texts), -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    cells = units.of_line * len(names) + place[numbers]
    counts = np.bincount(cells, minlength=len(units) * len(names)).reshape(len(units), len(names))
    wrong = np.argwhere(counts != 1)
    if len(wrong):
        unit, category = (int(k) for k in wrong[0])
        raise InputError(
            f"category {names[category]} occurs {counts[unit, category]} times in the prediction "
            f"{units.in_words(unit)} ({len(np.unique(wrong[:, 0]))} such predictions): every prediction has one line a "
            "category; name the columns that tell predictions apart, --unit a,b,c, or evaluate predictions of the same "
            "categories together, --where column=value"
        )
    probs = np.empty(counts.shape)
    probs.ravel()[cells] = values
    return probs, names, place[numbers]


def between_thresholds(
    below: np.ndarray, names: Sequence[str], category: np.ndarray, y: np.ndarray, units: Units
) -> tuple[np.ndarray, list[str], np.ndarray, np.ndarray]:
    """Probabilities of the intervals between thresholds, their names, which of them ends at a line, and that of y.

    They are made from the probabilities of being at most each threshold; y are numbers, or texts of these, or of names.
    """
    wrong = next((name for name in names if not is_number(name)), None)
    if wrong is not None:
        raise InputError(f"{wrong!r} is no threshold of a distribution function: numbers are expected")
    order = np.argsort([float(name) for name in names])
    below, texts = below[:, order], [names[k] for k in order]
    probs = np.diff(below, axis=1, prepend=0.0, append=1.0)
    falls = np.argwhere(probs < -_ROUNDING)
    if len(falls):
        raise InputError(
            f"the distribution function of the prediction {units.in_words(int(falls[0, 0]))} falls, or exceeds 1 "
            f"({len(np.unique(falls[:, 0]))} such predictions): correct these rows"
        )
    called = [f"to {texts[0]}", *(f"{a} to {b}" for a, b in pairwise(texts)), f"above {texts[-1]}"]
    if y.dtype.kind == "O":
        if set(y) <= {*called, None}:
            return np.maximum(probs, 0), called, np.argsort(order)[category], y
        y = np.array([float(v) if is_number(v) else np.nan for v in y])
    place = np.searchsorted(np.array([float(text) for text in texts]), y, side="left")
    found = np.array([None if np.isnan(v) else called[k] for v, k in zip(y, place, strict=True)], dtype=object)
    return np.maximum(probs, 0), called, np.argsort(order)[category], found


_ROUNDING = 1e-6


def of_categories(
    source: Source,
    options: ReadOptions,
    units: Units,
    probs: np.ndarray,
    names: Sequence[str],
    found: Outcomes,
    weights: np.ndarray | None,
    lines: LongLines,
    said: str,
    together: Callable[[np.ndarray], str],
) -> Data:
    """Predictions of classes, and the category that came true of every one that the truth file has."""
    there = np.array([value is not None for value in found.y], dtype=bool)
    left = f"; {count(int((~there).sum()))} without outcome left out" if not there.all() else ""
    dependents = dependents_of_units(units, options)
    others = [probs, weights, None if dependents is None else dependents.holes]
    kept, dropped = rows_to_keep(found.y, [array for array in others if array is not None], there, options)
    rows = np.flatnonzero(kept)
    if not len(rows):
        raise InputError(f"no rows are left{said}{left}")

    def in_file(row: int) -> str:
        return units.in_words(int(rows[row]))

    with naming_rows(in_file):
        predictions = as_predictions(probs[rows], classes=list(names), normalize=options.normalize)
    read = f"{source.path}{f' with outcomes of {found.joined}' if found.joined else ''}"
    end = f"; dropped {', '.join(dropped)}" if dropped else ""
    number = count(len(lines.numbers), "line")
    start = (
        f"read {read}: {count(len(rows))}, one a combination of {listed(units.names)}, from {number}; "
        f"target {found.name}; {len(names)} categories: {listed(names)}"
    )
    data = Data(
        found.y[rows],
        predictions,
        f"{together(rows)}{said}{left}{end}",
        None if weights is None else weights[rows],
        kept_keys(keys_of_units(units, options), rows),
        kept_groups(groups_of_units(units, options), rows),
        None,
        kept_given(given_of_units(units, options), rows),
        lines=lines.kept(rows),
    )
    return with_dependents(data, start, dependents, rows, units.in_words)
