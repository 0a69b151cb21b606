"""Which columns are the targets and which the predictions: as asked, or by names that leave no doubt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.sources import Source

__all__ = [
    "CROSSING",
    "KINDS",
    "OUTCOMES",
    "Choice",
    "ReadOptions",
    "asked_columns",
    "checked_options",
    "choose_predictions",
    "choose_target",
    "flag",
    "has_usual_predictions",
    "known",
    "listed",
    "missing_words",
    "usual_column",
    "was_said",
]


KINDS = ("probabilities", "logits", "log-probabilities", "percent", "out-of-ten", "top-label")
CROSSING = ("raise", "sort")
_AS_THEY_ARE = ("drop_target", "interval", "resolution", "horizon", "truth")


@dataclass(frozen=True)
class ReadOptions:
    """What the user said about the file; see the command line's help.

    Examples
    --------
    >>> from kernelcal.io import ReadOptions
    >>> ReadOptions(target="died", kind="percent").kind
    'percent'
    """

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
    abstained: str | None = None
    mean: str | None = None
    std: str | None = None
    variance: str | None = None
    samples: str | None = None
    quantiles: str | None = None
    quantile_levels: str | None = None
    interval: float | None = None
    crossing: str = "raise"
    resolution: float = 0.0
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
    given: str | None = None
    clusters: str | None = None
    time: str | None = None
    horizon: str | int | None = None
    series: str | None = None
    unasked: bool = True  # what a table of forecasts knows of its own rows is taken
    missing: str | None = None

    @property
    def of_top_label(self) -> bool:
        """Whether one number a row is the confidence in a predicted label, on whatever scale it is written."""
        return self.kind == "top-label" or self.predicted_label is not None

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """Names of what can be said; how a command takes what a table knows of its own rows is not among them."""
        return tuple(name for name in cls.__dataclass_fields__ if name != "unasked")


def checked_options(columns: Mapping[str, Any]) -> dict[str, Any]:
    """What was said in Python as the command line has it: lists are text with commas, and None was not said."""
    said = {name: _as_typed(name, value) for name, value in columns.items() if value is not None}
    for name, allowed in (("kind", KINDS), ("crossing", CROSSING)):
        if name in said and said[name] not in allowed:
            raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {said[name]!r:.80}")
    return said


def _as_typed(name: str, value: Any) -> Any:
    usual: Any = ReadOptions.__dataclass_fields__[name].default
    if name == "where":
        return [value] if isinstance(value, str) else list(value)
    if isinstance(usual, bool):
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{name} must be True or False, got {value!r:.80}")
        return bool(value)
    if isinstance(value, str) or name in _AS_THEY_ARE:
        return value
    if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes):
        return ",".join(_part(name, part) for part in value)
    return _part(name, value)


def _part(name: str, part: Any) -> str:
    """A name or label of a list as text."""
    if part is None or (isinstance(part, Iterable) and not isinstance(part, str)) or callable(part):
        raise InputError(f"{name} is a text, such as {name}='a', or a list of these, got {part!r:.80}")
    if "," in str(part):
        raise InputError(f"{name}: the name {part!r:.80} has a comma, and names are listed with commas: rename it")
    return str(part)


@dataclass(frozen=True)
class Choice:
    """What some columns are taken for, and why.

    Attributes
    ----------
    role : str
        Option that states it.
    columns : tuple of str
        Columns, or what else the option takes.
    why : str
        The reason, in words.
    """

    role: str
    columns: tuple[str, ...]
    why: str


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


_TARGETS = ("y", "label", "labels", "target", "targets", "y_true", "outcome", "ground_truth", "truth")
OUTCOMES = ("observed", "observation")  # further usual names where numbers are predicted
_PREDICTIONS = ("p", "probability", "probabilities", "prob", "probs", "proba", "predictions", "scores", "y_prob")
_PREDICTION_OPTIONS = (
    "--predictions NAMES (or a glob such as 'p*'); predictions of numbers are named with --mean and --std, --samples "
    "or --quantiles, parameters of a family with --family and --parameters"
)
_NUMBERED = re.compile(r"(?:p|prob|proba|probability|class)[_.]?(\d+)", re.IGNORECASE)


def choose_target(source: Source, asked: str | None, also: Sequence[str] = (), beside: str = "") -> list[str]:
    """Names of the target column, of the one-hot columns, or of the targets of a vector; `also` are usual names.

    What a message asks for besides is said by `beside`.
    """
    if asked:
        return [known(source, name.strip()) for name in asked.split(",")]
    return [usual_column(source, (*_TARGETS, *also), "target", f"--target NAME{beside}")]


def has_usual_predictions(source: Source) -> bool:
    """Tell whether columns are called as class predictions usually are."""
    return len(_numbered(source, source.names)) > 1 or any(name.lower() in _PREDICTIONS for name in source.names)


def asked_columns(source: Source, asked: str, taken: Sequence[str], option: str = "predictions") -> list[str]:
    """Columns of a list of names and globs, in this order; a glob leaves out the columns that are `taken`."""
    there = set(source.names)  # there may be a hundred thousand of them
    rest = [name for name in source.names if name not in taken]
    names = dict.fromkeys(
        name
        for part in map(str.strip, asked.split(","))
        for name in ([part] if part in there else _matching(source, rest, part, option))
    )
    return _not_taken(list(names), taken)


def choose_predictions(
    source: Source, asked: str | None, taken: Sequence[str], text_labels: Callable[[], set[str]]
) -> list[str]:
    """Names of the prediction columns in the order of the file or of the request.

    Columns that are `taken` are used otherwise. Without a request: numbered columns (p0, p1, ...), else one column
    of a usual name, else the columns that are called as the text labels of the target, which are then read.
    """
    if asked:
        return asked_columns(source, asked, taken)
    rest = [name for name in source.names if name not in taken]
    numbered = _numbered(source, rest)
    if len(numbered) > 1:
        return numbered
    if not any(name.lower() in _PREDICTIONS for name in rest):
        labels = text_labels()
        called = [name for name in rest if name in labels]
        if len(called) > 1 and len(called) == len(labels):
            return called
    return _not_taken([usual_column(source, _PREDICTIONS, "predictions", _PREDICTION_OPTIONS)], taken)


def _numbered(source: Source, names: Sequence[str]) -> list[str]:
    return [name for name in names if _NUMBERED.fullmatch(name) and not source.wide(name)]


def _not_taken(names: list[str], taken: Sequence[str]) -> list[str]:
    twice = next((name for name in names if name in taken), None)
    if twice is not None:
        raise InputError(f"column {twice!r} cannot be both predictions and target (or label): name another one")
    return names


def usual_column(source: Source, usual: Sequence[str], what: str, option: str) -> str:
    """Return the one column of a usual name."""
    found = [name for name in source.names if name.lower() in usual]
    if len(found) == 1:
        return found[0]
    why = f"several columns could be the {what}" if found else f"no column has a usual name for the {what}"
    curves = [name for name in source.names if _SURVIVAL.fullmatch(name)]
    more = f" If {curves[0]} and others are survival after some times: kernelcal survival FILE." if curves else ""
    raise InputError(f"{why}: say which with {option}.{more} The columns are {listed(source.names)}")


_SURVIVAL = re.compile(r"(?i:s|surv|survival|survival_probability)[_@. -]?\d+(\.\d+)?")


def _matching(source: Source, rest: Sequence[str], pattern: str, option: str) -> list[str]:
    if not any(mark in pattern for mark in "*?["):
        return [known(source, pattern)]
    found = [name for name in rest if fnmatchcase(name, pattern)]
    if not found:
        raise InputError(f"no column matches {pattern!r}. The columns are {listed(source.names)}")
    _refuse_neighbours(found, pattern, option)
    return found


def _refuse_neighbours(found: Sequence[str], pattern: str, option: str) -> None:
    """Refuse what a glob takes beside a series of numbered columns: pop_1 and pop_2 beside p1 to p50.

    Of draws these are all others, such as m_mean beside m_1 to m_50; of classes those that begin with another word.
    """
    draws = option == "samples"
    start = re.split(r"[*?\[]", pattern)[0]
    own = [name for name in found if re.fullmatch(r"[_.\-\s]?\d.*", name[len(start) :])]
    others = [name for name in found if name not in own and (draws or name[len(start) : len(start) + 1].isalpha())]
    others = others if draws or start[-1:].isalpha() else []
    if not start or "[" in pattern or len(own) < 2 or not others:
        return
    sign = next((s for s in ("_", ".", "-", " ") if own[0].startswith(start + s)), "")
    raise InputError(
        f"{pattern!r} matches {own[0]} to {own[-1]} ({len(own)} columns), and also {listed(others)}: say which are "
        f"meant, {flag(option)} '{start}{sign}[0-9]*' for the numbered ones, or a list a,b,c"
    )


def known(source: Source, name: str) -> str:
    """Return the name of a column that exists."""
    if name not in source.names:
        raise InputError(f"there is no column {name!r}. The columns are {listed(source.names)}")
    return name


def listed(names: Sequence[str]) -> str:
    """First names of a list, and how many there are."""
    if not names:
        return "none at all"
    return ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
