"""What the user said about a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CROSSING", "KINDS", "ReadOptions", "flag", "missing_words", "was_said"]

KINDS = ("probabilities", "logits", "log-probabilities", "percent", "out-of-ten", "top-label")
CROSSING = ("raise", "sort")


@dataclass(frozen=True)
class ReadOptions:
    """What the user said about the file; see the command line's help."""

    target: str | None = None
    predictions: str | None = None
    kind: str = "probabilities"
    predicted_label: str | None = None
    classes: str | None = None
    one_based: bool = False
    normalize: bool = False
    drop_missing: bool = False
    drop_target: str | None = None
    delimiter: str | None = None
    weights: str | None = None
    where: Sequence[str] | None = None
    mean: str | None = None
    std: str | None = None
    variance: str | None = None
    samples: str | None = None
    quantiles: str | None = None
    quantile_levels: str | None = None
    crossing: str = "raise"
    family: str | None = None
    parameters: str | None = None
    long: bool = False
    value: str | None = None
    level: str | None = None
    sample_id: str | None = None
    unit: str | None = None
    truth: Path | None = None
    truth_keys: str | None = None
    row_id: str | None = None
    model_column: str | None = None
    groups: str | None = None
    missing: str | None = None


def missing_words(options: ReadOptions) -> frozenset[str]:
    """Return further words that stand for a missing value, as --missing names them."""
    return frozenset(word.strip() for word in (options.missing or "").split(",") if word.strip())


def was_said(options: ReadOptions, name: str) -> bool:
    """Tell whether an option differs from its default."""
    given: Any = getattr(options, name)
    return bool(given != ReadOptions.__dataclass_fields__[name].default)


def flag(name: str) -> str:
    """Name of an option on the command line."""
    return "--" + name.replace("_", "-")
