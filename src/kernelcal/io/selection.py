"""Which columns are the targets and which the predictions: as asked, or by names that leave no doubt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from kernelcal.errors import InputError
from kernelcal.io.sources import Source

__all__ = ["choose_predictions", "choose_target", "known", "numbered_from"]

_TARGETS = ("y", "label", "labels", "target", "targets", "y_true", "outcome", "ground_truth", "truth")
_PREDICTIONS = ("p", "probability", "probabilities", "prob", "probs", "proba", "predictions", "scores", "y_prob")
_NUMBERED = re.compile(r"(?:p|prob|proba|probability|class)[_.]?(\d+)", re.IGNORECASE)


def choose_target(source: Source, asked: str | None) -> list[str]:
    """Name of the target column, or of the one-hot columns."""
    if asked:
        return [known(source, name.strip()) for name in asked.split(",")]
    return [_only(source, _TARGETS, "target", "--target NAME")]


def choose_predictions(
    source: Source, asked: str | None, taken: Sequence[str], text_labels: Callable[[], set[str]]
) -> list[str]:
    """Names of the prediction columns in the order of the file or of the request.

    Columns that are `taken` are used otherwise. Without a request: numbered columns (p0, p1, ...), else one column
    of a usual name, else the columns that are called as the text labels of the target, which are then read.
    """
    rest = [name for name in source.names if name not in taken]
    if asked:
        names = list(dict.fromkeys(n for part in asked.split(",") for n in _matching(source, rest, part.strip())))
        return _not_taken(names, taken)
    numbered = [name for name in rest if _NUMBERED.fullmatch(name) and not source.wide(name)]
    if len(numbered) > 1:
        return numbered
    if not any(name.lower() in _PREDICTIONS for name in rest):
        labels = text_labels()
        called = [name for name in rest if name in labels]
        if len(called) > 1 and len(called) == len(labels):
            return called
    return _not_taken(
        [_only(source, _PREDICTIONS, "predictions", "--predictions NAMES (or a glob such as 'p*')")], taken
    )


def _not_taken(names: list[str], taken: Sequence[str]) -> list[str]:
    twice = next((name for name in names if name in taken), None)
    if twice is not None:
        raise InputError(f"column {twice!r} cannot be both predictions and target (or label): name another one")
    return names


def numbered_from(columns: Sequence[str]) -> int | None:
    """Smallest number in the names of numbered columns (p1, p2, ...), None if the names are of another kind."""
    numbers = [_NUMBERED.fullmatch(name) for name in columns]
    return min(int(n.group(1)) for n in numbers if n) if all(numbers) else None


def _only(source: Source, usual: Sequence[str], what: str, option: str) -> str:
    found = [name for name in source.names if name.lower() in usual]
    if len(found) == 1:
        return found[0]
    why = f"several columns could be the {what}" if found else f"no column has a usual name for the {what}"
    raise InputError(f"{why}: say which with {option}. The columns are {_listed(source.names)}")


def _matching(source: Source, rest: Sequence[str], pattern: str) -> list[str]:
    if not any(mark in pattern for mark in "*?["):
        return [known(source, pattern)]
    found = [name for name in rest if fnmatchcase(name, pattern)]
    if not found:
        raise InputError(f"no column matches {pattern!r}. The columns are {_listed(source.names)}")
    return found


def known(source: Source, name: str) -> str:
    """Return the name of a column that exists."""
    if name not in source.names:
        raise InputError(f"there is no column {name!r}. The columns are {_listed(source.names)}")
    return name


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "none at all"
    return ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
