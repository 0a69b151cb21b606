"""Lenses by their names on the command line."""

from __future__ import annotations

from typing import Any

from kernelcal.errors import InputError
from kernelcal.lenses import ClassWise, OneClass, TopK, TopLabel
from kernelcal.predictions import RealPredictions

__all__ = ["lens_of"]


def lens_of(text: str | None, predictions: Any) -> Any:
    """Lens from its name: top-label, top-5, class:cat, class-wise, class-wise-joint."""
    if text is not None and isinstance(predictions, RealPredictions):
        raise InputError(
            "--lens asks a simpler question about classes, but these are predictions of numbers: leave it out"
        )
    whole = {"top-label": TopLabel(), "class-wise": ClassWise(), "class-wise-joint": ClassWise(joint="full")}
    if text is None or text in whole:
        return whole.get(text) if text else None
    if text.startswith("top-") and text[4:].isdecimal():
        return TopK(int(text[4:]))
    if text.startswith("class:"):
        names = {str(predictions.class_name(k)): predictions.class_name(k) for k in range(predictions.n_classes)}
        return OneClass(names.get(text[6:], text[6:]))
    raise InputError(f"unknown lens {text!r}: top-label, top-K such as top-5, class:NAME, class-wise, class-wise-joint")
