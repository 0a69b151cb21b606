"""What the user said about a file."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KINDS", "ReadOptions"]

KINDS = ("probabilities", "logits", "log-probabilities", "percent", "top-label")


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
