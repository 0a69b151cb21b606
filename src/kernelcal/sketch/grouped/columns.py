"""Which group a row belongs to, decided before the pass: names, ranges of numbers, and what is pooled."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.explanation import cuts_of, number_of_text, ranges_in_words

__all__ = ["MOST_GROUPS", "POOLED", "GroupColumn", "GroupedCase", "checked_pool", "refuse_many"]


MOST_GROUPS = 50  # of a column: each holds sums of its own
POOLED = "all others"
_NAMED = 3


@dataclass(frozen=True, eq=False)
class GroupedCase(Case):
    """A case with the groups of its rows.

    Attributes
    ----------
    groups : mapping of str to sequence
        Value of every row, by column.
    """

    groups: Mapping[str, Sequence[Any]] | None = None

    @classmethod
    def with_groups(cls, case: Case, groups: Mapping[str, Sequence[Any]]) -> Self:
        """Return the rows of a case with their groups."""
        return cls(case.targets, case.predictions, case.weights, case.numbers, case.given, case.rows, groups)

    def __getitem__(self, rows: Any) -> Self:
        """Return some of the rows, with their groups."""
        taken = {name: np.asarray(values, dtype=object)[rows].tolist() for name, values in (self.groups or {}).items()}
        return replace(super().__getitem__(rows), groups=taken)


@dataclass(frozen=True)
class GroupColumn:
    """A column whose values are groups of rows, the same for all parts of the rows.

    Attributes
    ----------
    name : str
        The column.
    cuts : tuple of float, or None
        Where ranges of numbers begin, all but the lowest; None of values that are names.
    names : tuple of str, or None
        Groups that are told apart, all others being pooled; None where every value is a group, at most 50.

    Examples
    --------
    >>> from kernelcal.sketch import GroupColumn
    >>> GroupColumn("age", cuts=(40.0, 65.0)).groups_of([17, 40, 81])
    ['below 40', '40 to below 65', '65 and above']
    >>> GroupColumn("ward", names=("east", "west")).groups_of(["east", "attic"])
    ['east', 'all others']
    """

    name: str
    cuts: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a column of groups is called by its name, a text, got {self.name!r:.80}")
        cuts: Any = self.cuts
        names: Any = self.names
        numbers = isinstance(cuts, tuple) and all(isinstance(x, Real) and math.isfinite(x) for x in cuts)
        if cuts is not None and not (numbers and all(low < high for low, high in pairwise(cuts))):
            raise InputError(f"cuts must be a tuple of ascending numbers, such as (40.0, 65.0), got {cuts!r:.80}")
        if names is not None and not (isinstance(names, tuple) and all(isinstance(name, str) for name in names)):
            raise InputError(f"names must be a tuple of texts, such as ('east', 'west'), got {names!r:.80}")

    @classmethod
    def of(cls, name: str, values: Sequence[Any], pool: int | None) -> Self:
        """Decide by some of the rows: measured numbers are cut at their quartiles, names beyond the pool are rare."""
        made = cls(name, cuts_of(values))
        found = Counter(made.groups_of(values))
        if pool is None:
            refuse_many(name, found)
            return made
        kept = sorted(found, key=lambda group: (-found[group], group))[:pool]
        return cls(name, made.cuts, tuple(sorted(kept)))

    def groups_of(self, values: Sequence[Any]) -> list[str]:
        """Name of the group of every row; a missing value is in no group, and is refused."""
        named = {value: self._named(value) for value in set(values)}
        return [named[value] for value in values]

    def _named(self, value: Any) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise InputError(
                f"groups: a value of column {self.name!r} is missing: give such rows a name of their own, for example "
                "'unknown'"
            )
        if self.cuts is not None:
            number = number_of_text(value) if isinstance(value, str) else value
            if not isinstance(number, str | bool):
                ranges = ranges_in_words(self.cuts)
                return ranges[int(np.searchsorted(self.cuts, number, side="right"))]
        text = str(value)
        return text if self.names is None or text in self.names else POOLED

    @property
    def order(self) -> list[str]:
        """Ranges from the lowest; of names nothing."""
        return [] if self.cuts is None else ranges_in_words(self.cuts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the column."""
        found = []
        if self.cuts:
            at = ", ".join(f"{cut:.8g}" for cut in self.cuts)
            found.append(f"{self.name} was cut at {at}, the quartiles of the rows that were looked at first")
        if self.names is not None:
            found.append(
                f"{self.name}: the {len(self.names)} values that are most frequent in the rows that were looked at "
                f"first are groups, and '{POOLED}' is one"
            )
        return tuple(found)

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {name: list(x) if isinstance(x, tuple) else x for name, x in vars(self).items()}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the column that was written."""
        cuts, names = plain["cuts"], plain["names"]
        kept = None if names is None else tuple(map(str, names))
        return cls(str(plain["name"]), None if cuts is None else tuple(map(float, cuts)), kept)


def refuse_many(name: str, groups: Any, most: int = MOST_GROUPS) -> None:
    """Refuse more groups than may be held."""
    if len(groups) > most:
        some = ", ".join(repr(group) for group in list(groups)[:_NAMED])
        why = "" if most == MOST_GROUPS else ", as many as the memory that was said allows"
        raise InputError(
            f"groups: column {name!r} has more than {most} groups in one pass{why}, such as {some}, and each holds "
            f"sums of its own: keep some and pool the others, pool_groups=20 (--pool-groups 20), or name a column "
            "whose values many rows share"
        )


def checked_pool(pool: Any) -> int | None:
    """How many groups of a column are kept, the others pooled; None where none are."""
    if pool is None:
        return None
    if isinstance(pool, bool) or not isinstance(pool, int | np.integer) or not 1 <= pool < MOST_GROUPS:
        raise InputError(f"pool_groups must be a whole number from 1 to {MOST_GROUPS - 1}, got {pool!r}")
    return int(pool)
