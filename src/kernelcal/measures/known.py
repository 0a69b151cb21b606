"""Measures by name: one table serves `measure`, the command line, messages and documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kernelcal.errors import InputError
from kernelcal.measures.base import Measure
from kernelcal.registry import Registry

__all__ = ["FIELDS", "MEASURES", "asked_measures", "forget_measure", "register_measure", "serving"]


MEASURES: Registry[Callable[[], Measure]] = Registry("measures", "a field, or a kernelcal.measures.Measure")
FIELDS: dict[str, list[str]] = {}


def register_measure(name: str, make: Callable[[], Measure], *, summary: str, field: str) -> None:
    """Give a measure a name, by which `measure` and the command line find it.

    Parameters
    ----------
    name : str
        Short and without spaces or commas, such as ``slope``.
    make : callable
        Makes the measure with its usual settings: its class, or a function without arguments.
    summary : str
        What it is, in some words.
    field : str
        Who uses it, such as ``clinical``: a name for all measures of one field.

    Raises
    ------
    InputError
        If the name is taken, or is no word.
    """
    if not isinstance(name, str) or "," in name or " " in name or name in FIELDS:
        raise InputError(f"the name of a measure must be a word such as 'slope', and no field, got {name!r}")
    if field in MEASURES:
        raise InputError(f"field {field!r} is the name of a measure: choose another one")
    MEASURES.register(name, make, summary=summary, serves=make().serves)
    FIELDS.setdefault(field, []).append(name)


def forget_measure(name: str) -> None:
    """Take a name back."""
    MEASURES.forget(name)
    for field, names in list(FIELDS.items()):
        if name in names:
            names.remove(name)
            if not names:
                del FIELDS[field]


def serving(predictions: Any) -> tuple[str, ...]:
    """Names of the measures that such predictions have.

    Examples
    --------
    >>> import kernelcal as kc
    >>> "slope" in kc.measures.serving(kc.Bernoulli([0.2, 0.7]))
    True
    """
    return tuple(name for name in MEASURES if MEASURES.made(name).takes(predictions))


def asked_measures(asked: Any) -> tuple[Measure, ...] | None:
    """Measures of names, of fields, or as they are; None for those of the predictions, which are not known yet."""
    if asked is None:
        return None
    parts: Iterable[Any] = [asked] if isinstance(asked, Measure) else asked
    if isinstance(asked, str):
        parts = [part.strip() for part in asked.split(",") if part.strip()]
    try:
        parts = list(parts)
    except TypeError:
        parts = []
    if not parts:
        raise InputError(f"measures must name one or more, such as 'slope' or ['slope', 'auroc'], got {asked!r}")
    found: list[Measure] = []
    for part in parts:
        found += [part] if isinstance(part, Measure) else [MEASURES.made(name) for name in _names(part)]
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"measures names {twice!r} twice: once is enough")
    return tuple(found)


def _names(part: Any) -> list[str]:
    """One name, or all of a field."""
    if isinstance(part, str) and part in FIELDS:
        return FIELDS[part]
    if not isinstance(part, str) or part not in MEASURES:
        fields = ", ".join(map(repr, FIELDS))
        known = ", ".join(map(repr, MEASURES))
        raise InputError(
            f"measures: {part!r} is none of {known}, no field ({fields}) and no kernelcal.measures.Measure"
        )
    return [part]
