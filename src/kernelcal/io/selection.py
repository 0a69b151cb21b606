"""Which columns are the targets and which the predictions: as asked, or by names that leave no doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from kernelcal.errors import InputError
from kernelcal.io.sources import Source

__all__ = ["choose_predictions", "choose_target"]

_TARGETS = ("y", "label", "labels", "target", "targets", "y_true", "outcome", "ground_truth", "truth")
_PREDICTIONS = ("p", "probability", "probabilities", "prob", "probs", "proba", "predictions", "scores", "y_prob")
_NUMBERED = re.compile(r"(p|prob|proba|probability|class)[_.]?\d+", re.IGNORECASE)


def choose_target(source: Source, asked: str | None) -> list[str]:
    """Name of the target column, or of the one-hot columns."""
    if asked:
        return [_known(source, name.strip()) for name in asked.split(",")]
    return [_only(source, _TARGETS, "target", "--target NAME")]


def choose_predictions(source: Source, asked: str | None, targets: Sequence[str]) -> list[str]:
    """Names of the prediction columns in the order of the file or of the request."""
    rest = [name for name in source.names if name not in targets]
    if asked:
        return list(dict.fromkeys(n for part in asked.split(",") for n in _matching(source, rest, part.strip())))
    numbered = [name for name in rest if _NUMBERED.fullmatch(name) and not source.wide(name)]
    if len(numbered) > 1:
        return numbered
    return [_only(source, _PREDICTIONS, "predictions", "--predictions NAMES (or a glob such as 'p*')")]


def _only(source: Source, usual: Sequence[str], what: str, option: str) -> str:
    found = [name for name in source.names if name.lower() in usual]
    if len(found) == 1:
        return found[0]
    why = f"several columns could be the {what}" if found else f"no column has a usual name for the {what}"
    raise InputError(f"{why}: say which with {option}. The columns are {_listed(source.names)}")


def _matching(source: Source, rest: Sequence[str], pattern: str) -> list[str]:
    if not any(mark in pattern for mark in "*?["):
        return [_known(source, pattern)]
    found = [name for name in rest if fnmatchcase(name, pattern)]
    if not found:
        raise InputError(f"no column matches {pattern!r}. The columns are {_listed(source.names)}")
    return found


def _known(source: Source, name: str) -> str:
    if name not in source.names:
        raise InputError(f"there is no column {name!r}. The columns are {_listed(source.names)}")
    return name


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
