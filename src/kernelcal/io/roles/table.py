"""A table whose columns are looked for: which of them are free, what they are called, and what they hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import Choice, ReadOptions, key_columns
from kernelcal.io.roles import vocabulary as words
from kernelcal.io.sources import Source

__all__ = ["Found", "NamedColumns", "choice", "join"]


_PERCENT = re.compile(r"\d+(?:[.,]\d+)?\s*%")
_LOOKED_AT = 65_536  # rows by which it is told what a column holds
Found = tuple[dict[str, Any], list[Choice]]  # options, and why they are these


@dataclass
class NamedColumns:
    """Columns that are free, and what their values are."""

    source: Source
    options: ReadOptions
    labels: Callable[[], set[str]] | None
    kinds: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = [self.options.weights, self.options.predicted_label, self.options.classes]
        named += [condition.partition("=")[0].strip() for condition in self.options.where or ()]
        taken = {name for name in [*named, *key_columns(self.source, self.options)] if name}
        self.free = [name for name in self.source.names if name not in taken]
        self.plain = {name: words.without_percent(name) for name in self.free}
        self.leaf = {name: words.leaf(name) for name in self.free}

    def called(self, tiers: Sequence[frozenset[str]], but: Iterable[str] = ()) -> list[str]:
        """Columns of the first tier that has any, by their names, else by the last of names in names."""
        for names in (self.plain, self.leaf):
            for tier in tiers:
                found = [name for name in self.free if names[name] in tier and name not in but]
                if found:
                    return found
        return []

    def one(self, tiers: Sequence[frozenset[str]], but: Iterable[str] = ()) -> str | None:
        """The one column of the first tier that has any."""
        found = self.called(tiers, but)
        return found[0] if len(found) == 1 else None

    def kind(self, name: str) -> str:
        """What a column holds: array, text, binary, whole, fractions (in [0, 1]), real, or none of these."""
        if name not in self.kinds:
            self.kinds[name] = self._kind(name)
        return self.kinds[name]

    def _kind(self, name: str) -> str:
        if self.source.axes(name) > 1:
            return "array"
        try:
            values = self.source.first(name, _LOOKED_AT)
        except InputError:
            return "none"
        if values.dtype.kind in "OUS":
            there = [v for v in values.tolist() if v is not None]
            if there and all(isinstance(v, str) and _PERCENT.fullmatch(v.strip()) for v in there):
                return "fractions"
            return "binary" if there and all(isinstance(v, bool) for v in there) else "text"
        if values.dtype.kind == "b":
            return "binary"
        if values.dtype.kind not in "iuf":
            return "none"
        there = values[np.isfinite(values)]
        if self.options.drop_target is not None:
            there = there[np.array([f"{v:g}" != self.options.drop_target for v in there.tolist()], dtype=bool)]
        if np.all((there == 0) | (there == 1)):
            return "binary"
        if np.all(there == np.round(there)):
            return "whole"
        return "fractions" if np.all((there >= 0) & (there <= 1)) else "real"

    def alike(self, one: str, other: str) -> bool:
        """Tell whether two columns that are no arrays have values in common, and others not in the same rows."""
        if "array" in (self.kind(one), self.kind(other)):
            return False
        first, second = (self.source.first(name, _LOOKED_AT).tolist() for name in (one, other))
        return first != second and len(set(first) & set(second)) > 0

    def numbers(self, names: Sequence[str]) -> np.ndarray | None:
        """Columns side by side in one pass; None where some hold no numbers."""
        if any(self.source.axes(name) > 1 for name in names):
            return None
        try:
            return self.source.numbers(names)
        except InputError:
            return None

    def different(self, name: str) -> set[str]:
        """Different texts in the first rows of a column."""
        return {value for value in self.source.first(name, _LOOKED_AT).tolist() if isinstance(value, str)}

    def texts(self, target: str) -> set[str]:
        """Different text labels of the target."""
        if self.labels is not None:
            return self.labels()
        return {value for value in self.source.values(target).tolist() if isinstance(value, str)}


def join(names: Sequence[str]) -> str:
    """Names as an option takes them."""
    return ",".join(names)


def choice(role: str, columns: str | Sequence[str], why: str) -> Choice:
    """What is chosen, and why."""
    return Choice(role, (columns,) if isinstance(columns, str) else tuple(columns), why)
