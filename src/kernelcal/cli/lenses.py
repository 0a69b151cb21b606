"""Lenses as the command line names them."""

from __future__ import annotations

from typing import Any

from kernelcal.errors import InputError
from kernelcal.lenses import LENSES
from kernelcal.predictions import RealPredictions

__all__ = ["lens_of"]


def lens_of(text: str | None, predictions: Any) -> Any:
    """Lens from its name, in which top-K and class:NAME stand for top-5 and class:cat; None where none is named."""
    if text is None:
        return None
    if isinstance(predictions, RealPredictions):
        raise InputError(
            "--lens asks a simpler question about classes, but these are predictions of numbers: leave it out"
        )
    if text.startswith("top-") and text[4:].isdecimal():
        return LENSES["top-K"](int(text[4:]))
    if text.startswith("class:"):
        names = {str(predictions.class_name(k)): predictions.class_name(k) for k in range(predictions.n_classes)}
        return LENSES["class:NAME"](names.get(text[6:], text[6:]))
    if text in LENSES and text != "top-K":
        return LENSES.made(text)
    raise InputError(f"unknown lens {text!r}: {', '.join(LENSES)}")
