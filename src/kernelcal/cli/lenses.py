"""Lenses by their names on the command line."""

from __future__ import annotations

from typing import Any

from kernelcal.cases import refuse_lens
from kernelcal.errors import InputError
from kernelcal.lenses import ClassWise, OneClass, TopK, TopLabel
from kernelcal.predictions import RealPredictions

__all__ = ["check_lens", "lens_of"]


_WHOLE = {"top-label": TopLabel(), "class-wise": ClassWise(), "class-wise-joint": ClassWise(joint="full")}


def check_lens(text: str | None, *, every: bool) -> None:
    """Refuse what is no name of a lens, before anything is read; of several questions where one must be asked."""
    if text in _WHOLE and not every:
        refuse_lens(_WHOLE[text])
    if text is None or text in _WHOLE or text.startswith("class:") or _top(text) is not None:
        return
    raise InputError(f"unknown lens {text!r}: top-label, top-K such as top-5, class:NAME, class-wise, class-wise-joint")


def lens_of(text: str | None, predictions: Any) -> Any:
    """Lens from its name, which was checked: top-label, top-5, class:cat, class-wise, class-wise-joint."""
    if text is not None and isinstance(predictions, RealPredictions):
        raise InputError(
            "--lens asks a simpler question about classes, but these are predictions of numbers: leave it out"
        )
    if text is None or not text.startswith("class:"):
        return None if text is None else _WHOLE.get(text) or _top(text)
    names = {str(predictions.class_name(k)): predictions.class_name(k) for k in range(predictions.n_classes)}
    return OneClass(names.get(text[6:], text[6:]))


def _top(text: str) -> TopK | None:
    return TopK(int(text[4:])) if text.startswith("top-") and text[4:].isdecimal() else None
