"""What is wrong with class labels, and what was probably meant."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.errors import InputError

__all__ = ["refuse_fractions", "refuse_out_of_range", "some", "which_is_which"]


def which_is_which(found: list[str], m: int) -> str:
    """Ask for the order of text labels, with the labels that were found as the example."""
    if m == 2 and len(found) > 2:
        return (
            f"the targets are text with more than two values ({some(found)}), but there is one probability a row: "
            "pass whether the class in question happened, y == label, or a column for every class"
        )
    order = "(negative, positive)" if m == 2 else "in the order of the columns"
    example = (
        found if len(found) == m <= 6 and max(map(len, found)) <= 20 else ["no", "yes"] if m == 2 else ["a", "b", "..."]
    )
    return (
        f"the targets are text ({some(found)}): say which class is which, {order}, for example classes={example} "
        f"(command line: --classes {','.join(example)})"
    )


def refuse_fractions(y: np.ndarray, allowed: str) -> None:
    """Labels are whole numbers: nothing is rounded."""
    wrong = y != np.round(y) if y.dtype.kind == "f" else np.zeros(0, dtype=bool)  # inf is out of range instead
    if not wrong.any():
        return
    row, count = int(np.argmax(wrong)), int(wrong.sum())
    cause = (
        "were the arguments swapped? The order is (y, predictions)"
        if count > len(y) / 2
        else f"nothing is rounded. If such rows (draws, unclear outcomes: {count} of {len(y)}) are to be left out, "
        f"drop them from targets and predictions together (command line: --drop-target {y[row]:g})"
    )
    raise InputError(f"the targets must be {allowed}; row {row} is {y[row]:g}: {cause}")


def refuse_out_of_range(labels: np.ndarray, m: int, allowed: str) -> None:
    """Labels lie between 0 and m - 1; say which other numbering they look like."""
    labels = labels.astype(np.int64) if labels.dtype.kind == "b" else labels
    if len(labels) == 0 or (labels.min() >= 0 and labels.max() < m):
        return
    if labels.min() >= 1 and labels.max() == m:
        raise InputError(
            f"label {m} but columns 0..{m - 1}: the labels look one-based. Say so: "
            f"classes=range(1, {m + 1}) (command line: --one-based)"
        )
    if m == 2 and set(np.unique(labels).tolist()) == {-1, 1}:
        raise InputError("the labels are -1 and 1: say so with classes=(-1, 1) (command line: --classes=-1,1)")
    row = int(np.argmax((labels < 0) | (labels >= m)))
    hint = (
        "; if the prediction is the probability that the top label is right, pass the hit (label == predicted "
        "label) as the target (command line: --kind top-label)"
        if m == 2
        else "; are columns missing?"
    )
    raise InputError(f"the targets must be {allowed}; row {row} is {labels[row]:.15g}{hint}")


def some(names: Any) -> str:
    """The first names, shortened, and how many there are."""
    names = [text if len(text) <= 30 else f"{text[:27]}..." for text in map(repr, names)]
    return ", ".join(names[:6]) + (f", ... ({len(names)} in all)" if len(names) > 6 else "")
