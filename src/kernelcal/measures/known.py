"""Measures by name: one table serves `measure`, the command line, messages and documents."""

from __future__ import annotations

import inspect
import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kernelcal.errors import InputError
from kernelcal.measures.base import Measure
from kernelcal.registry import Registry

__all__ = ["FIELDS", "MEASURES", "asked_measures", "forget_measure", "register_measure", "served", "serving"]


MEASURES: Registry[Callable[[], Measure]] = Registry("measures", "a field, or a kernelcal.measures.Measure")
FIELDS: dict[str, list[str]] = {}
_OUTSIDE = re.compile(r",(?![^(]*\))")  # commas that are not between brackets
_SETTINGS = re.compile(r"([\w-]+)\((.*)\)")


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

    Examples
    --------
    >>> from kernelcal.measures import Brier, register_measure
    >>> register_measure("brier", Brier, summary="mean squared error", field="clinical")
    Traceback (most recent call last):
        ...
    kernelcal.errors.InputError: measures 'brier' is taken ...
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


def served(measures: Sequence[Measure], predictions: Any) -> tuple[Measure, ...]:
    """Leave out what the predictions do not have of fields that were asked for as a whole."""
    fields = ([MEASURES.made(name) for name in names] for names in FIELDS.values())
    whole = [one for field in fields if all(one in measures for one in field) for one in field]
    kept = tuple(one for one in measures if one.takes(predictions) or one not in whole)
    return kept or tuple(measures)  # nothing serves: the first is refused, with the remedy


def asked_measures(asked: Any) -> tuple[Measure, ...] | None:
    """Measures of names, of fields, or as they are; None for those of the predictions, which are not known yet."""
    if asked is None:
        return None
    parts: Iterable[Any] = [asked] if isinstance(asked, Measure) else asked
    if isinstance(asked, str):
        parts = [part.strip() for part in _OUTSIDE.split(asked) if part.strip()]
    try:
        parts = list(parts)
    except TypeError:
        parts = []
    if not parts:
        raise InputError(f"measures must name one or more, such as 'slope' or ['slope', 'auroc'], got {asked!r}")
    found: list[Measure] = []
    for part in parts:
        found += [part] if isinstance(part, Measure) else _made(part)
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"measures names {twice!r} twice: once is enough")
    return tuple(found)


def _made(part: Any) -> list[Measure]:
    """Measures of a name, with settings of its own if there are any, or of a field."""
    settings = _SETTINGS.fullmatch(part) if isinstance(part, str) else None
    if settings is None:
        return [MEASURES.made(name) for name in _names(part)]
    name = settings[1]
    if name not in MEASURES:
        _names(name)  # which refuses it, if it is no field either
        raise InputError(
            f"measures: {part!r} has settings, and {name!r} is a field, the name of {', '.join(FIELDS[name])}: write "
            "settings behind the measure they belong to, as in coverage(level=0.5)"
        )
    try:
        given = {}
        for one in filter(str.strip, settings[2].split(",")):
            key, _, value = one.partition("=")
            given[key.strip()] = _read(value.strip())
        return [MEASURES[name](**given)]
    except TypeError:
        raise InputError(
            f"measures: {part!r} has settings that {name!r} does not take: write them as in coverage(level=0.5), "
            f"names and numbers; {MEASURES[name].__name__} has {', '.join(_settings(MEASURES[name])) or 'none'}"
        ) from None


def _read(text: str) -> Any:
    """A number or another literal; other words stay text."""
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _settings(make: Any) -> list[str]:
    return list(inspect.signature(make).parameters)


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
