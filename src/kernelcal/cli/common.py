"""What the commands share: a bar on standard error, and engines and lenses from their names."""

from __future__ import annotations

import argparse
import glob
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kernelcal.errors import InputError
from kernelcal.files import is_many
from kernelcal.inference import STATISTICS
from kernelcal.lenses import LENSES
from kernelcal.pairs import ENGINES, Engine
from kernelcal.predictions import RealPredictions

__all__ = [
    "DIGITS",
    "bar",
    "check_lens",
    "engine_of",
    "lens_of",
    "refuse_beside_state",
    "spread_out",
    "whole_number",
    "with_engine",
]


_BAR = 30
_OF_PAGES = ("command", "files", "state", "output", "title", "said")


@contextmanager
def bar(what: str = "draws") -> Iterator[Callable[[int, int], None] | None]:
    """Show progress where somebody looks; it is wiped when the work is done, has stopped early or has failed."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    try:
        yield partial(_show, what)
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _show(what: str, done: int, total: int) -> None:
    filled = _BAR * done // total
    print(f"\r[{'#' * filled}{'.' * (_BAR - filled)}] {done:,}/{total:,} {what}", end="", file=sys.stderr, flush=True)


def engine_of(name: str | None, features: int | None) -> Engine | None:
    """Return the engine of a name, with a number of features; None where none is named."""
    if features is None:
        return None if name is None else ENGINES.made(name)
    if name is None or name == "pairs":
        raise InputError(
            f"--features {features} needs an engine that has features: say --engine nystrom or --engine fourier"
        )
    return ENGINES[name](features)


def with_engine(name: str, engine: Engine | None) -> Any:
    """A statistic that sums by an engine; refused for those that sum no pairs."""
    if engine is None:
        return name
    statistic: Any = STATISTICS.made(name)
    if hasattr(statistic, "engine"):
        return replace(statistic, engine=engine)
    raise InputError(f"--engine chooses how pairs are summed, which --statistic {name} does not: leave it out")


DIGITS = 40  # of a whole number: Python itself reads no more than some thousands


def whole_number(text: str, least: int = 0, what: str = "a whole number") -> int:
    """Option that is a whole number, for argparse."""
    if not text.strip().isdecimal() or len(text) > DIGITS or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected {what} from {least}, got {text[:DIGITS]!r}")
    return int(text)


_TOP, _CLASS = "top-K", "class:NAME"  # names that stand for many


def check_lens(text: str | None, *, every: bool) -> None:
    """Refuse what is no name of a lens, before anything is read; of several questions where one must be asked."""
    if text is None or text.startswith("class:") or _top(text) is not None:
        return
    if text not in LENSES or text in (_TOP, _CLASS):
        raise InputError(f"unknown lens {text!r}: {', '.join(LENSES)}, such as top-5 and class:cat")
    if not every and hasattr(LENSES.made(text), "lenses"):
        raise InputError(
            f"--lens {text} asks a question of every class, which kernelcal test answers: this takes one question, "
            "--lens top-label or --lens class:NAME"
        )


def lens_of(text: str | None, predictions: Any) -> Any:
    """Lens from its name, which was checked: top-label, top-5, class:cat, class-wise, class-wise-joint."""
    if text is not None and isinstance(predictions, RealPredictions):
        raise InputError(
            "--lens asks a simpler question about classes, but these are predictions of numbers: leave it out"
        )
    if text is None or not text.startswith("class:"):
        return None if text is None else _top(text) or LENSES.made(text)
    names = {str(predictions.class_name(k)): predictions.class_name(k) for k in range(predictions.n_classes)}
    return LENSES[_CLASS](names.get(text[6:], text[6:]))


def _top(text: str) -> Any:
    return LENSES[_TOP](int(text[4:])) if text.startswith("top-") and text[4:].isdecimal() else None


def spread_out(names: Sequence[Path], suffixes: Sequence[str]) -> list[Path]:
    """Files of names, folders and globs in the order that was given, those of a folder or glob by name.

    Raises
    ------
    InputError
        For a folder or glob without a file of a kind that is read.
    """
    found: list[Path] = []
    for name in names:
        if not is_many(name):
            found.append(name)
            continue
        inside = name.rglob("*") if name.is_dir() else map(Path, glob.glob(str(name), recursive=True))
        files = sorted(p for p in inside if p.is_file() and p.suffix.lower() in suffixes and not _hidden(p, name))
        if not files:
            raise InputError(f"{name}: no file of it is of a kind that is read here: {', '.join(suffixes)}")
        found += files
    return found


def _hidden(path: Path, folder: Path) -> bool:
    """Tell whether a file in a folder is one of those that other programs put there, such as ``_SUCCESS``."""
    parts = path.relative_to(folder).parts if folder.is_dir() else (path.name,)
    return any(part.startswith((".", "_")) for part in parts)


def refuse_beside_state(options: argparse.Namespace, what: str, hold: str, more: Sequence[str] = ()) -> None:
    """Refuse all that a page of a state would not heed: files, and options about rows and tests."""
    if options.files:
        raise InputError(f"--state is a page of {what} alone: leave out the files, or leave out --state")
    for name, value in vars(options).items():
        if name not in (*_OF_PAGES, *more) and value != options.usual(name):
            raise InputError(
                f"--state is a page of {what} alone, which {hold} no rows: leave out --{name.replace('_', '-')}, or "
                "name the files instead of --state"
            )
