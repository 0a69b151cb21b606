"""Ranks of true values among draws, or PIT values, one column a parameter: what was computed elsewhere, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import as_array, concrete, to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Samples, Uniform, finite_numbers, inside
from kernelcal.randomness import generator_of

__all__ = ["RankTable", "checked_draws_per_rank", "checked_names", "names_in", "places_in_words"]


_ROWS = ("simulation", "sim", "chain", "draw", "sample")  # axes that tell simulations apart
_CELLS = 2**21  # numbers of stand-ins for draws; above, ranks get a random place inside their steps


@dataclass(frozen=True, eq=False)
class RankTable:
    """Ranks from 0 to L of n simulations, or PIT values in [0, 1], one column a parameter.

    Attributes
    ----------
    values : numpy.ndarray of shape (n, K)
        Whole numbers, or PIT values.
    names : tuple of str
        Parameters.
    draws_per_rank : int or None
        Number L of draws; None of PIT values.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.ranks import RankTable
    >>> table = RankTable(np.array([[0], [3], [1]]), ("mu",), draws_per_rank=3)
    >>> len(table), table.what
    (3, 'ranks among 3 draws')
    """

    values: np.ndarray
    names: tuple[str, ...]
    draws_per_rank: int | None

    @classmethod
    def of_ranks(cls, ranks: Any, draws_per_rank: Any, names: Any = None, first: int = 0) -> RankTable:
        """Check ranks that count from `first`, 0 or 1.

        Raises
        ------
        InputError
            For numbers that are no ranks of so many draws, with row and column.
        """
        size = checked_draws_per_rank(draws_per_rank)
        if first not in (0, 1) or isinstance(first, bool):
            raise InputError(f"first must be 0 or 1, the rank of a value below all draws, got {first!r}")
        values = _columns(ranks, "the rank") - first
        named = checked_names(names, values.shape[1])
        wrong = np.argwhere((values < 0) | (values > size) | (values != np.floor(values)))
        if len(wrong):
            row, k = (int(x) for x in wrong[0])
            raise InputError(
                f"the rank of {named[k]} in row {row} is {values[row, k] + first:g}, expected a whole number from "
                f"{first} to {size + first} ({len(wrong):,} such ranks): {_cure(values + first, size, first)}"
            )
        return cls(values, named, size)

    @classmethod
    def of_pit(cls, values: Any, names: Any = None) -> RankTable:
        """Check PIT values."""
        found = _columns(values, "the PIT value")
        named = checked_names(names, found.shape[1])
        wrong = np.argwhere((found < 0) | (found > 1))
        if len(wrong):
            row, k = (int(x) for x in wrong[0])
            raise InputError(
                f"the PIT value of {named[k]} in row {row} is {found[row, k]:g}, expected a number from 0 to 1 "
                f"({len(wrong):,} such values): {_instead(found)}"
            )
        return cls(found, named, None)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def what(self) -> str:
        """What the table holds, in words."""
        if self.draws_per_rank is None:
            return "PIT values"
        return f"ranks among {self.draws_per_rank:,} draws"

    @property
    def joined(self) -> bool:
        """Whether ranks are so many that they get random places inside their steps."""
        size = self.draws_per_rank
        return size is not None and len(self) * (size + 1) > _CELLS

    @cached_property
    def shares(self) -> np.ndarray:
        """Values on (0, 1): PIT values, or the middles of the steps of ranks."""
        size = self.draws_per_rank
        return self.values if size is None else (self.values + 0.5) / (size + 1)

    def case(self, k: int, rng: Any = 0, **rows: Any) -> Case:
        """Return the case whose outcomes are the values of one parameter, and whose predictions are all alike.

        A rank r among L draws is that of the outcome r among draws at 1/2, 3/2, ..., L - 1/2; a PIT value is an outcome
        of the uniform law.
        """
        own, size = self.values[:, k], self.draws_per_rank
        if size is None or self.joined:
            places: Any = 0.0
            if self.joined:  # each parameter has places of its own
                places = inside(generator_of(rng, "places of ranks").random((k + 1, len(self)))[k])
            shares = own if size is None else (own + places) / (size + 1)
            return Case.of(shares, Uniform(np.zeros(len(self)), 1.0), **rows)
        draws = np.broadcast_to(np.arange(size) + 0.5, (len(self), size))
        return Case.of(own, Samples(draws), **rows)


def _columns(x: Any, what: str) -> np.ndarray:
    """Numbers of shape (n, K) from an array, a mapping of names to columns, or a dataset."""
    if hasattr(x, "data_vars"):
        x = dict(zip(*of_dataset(x), strict=True))
    if hasattr(x, "values") and not isinstance(x, np.ndarray):
        x = _side_by_side(x, what) if callable(x.values) else x.values
    array = to_numpy(as_array(x))
    if array.dtype.kind not in "fiubO" or (array.dtype.kind == "O" and array.ndim == 0):
        first = str(array.flat[0])[:40] if array.size else ""
        raise InputError(f"{what} must be a number, one a simulation and parameter, got {first!r}: leave text out")
    found = concrete(finite_numbers(array[:, None] if array.ndim == 1 else array, what, ndim=2))
    if found is None or found.size == 0:
        raise InputError(f"{what} is missing: got the shape {array.shape}, expected (simulations, parameters)")
    return np.asarray(found, dtype=np.float64)


def _side_by_side(columns: Any, what: str) -> np.ndarray:
    """Columns of a mapping, one a parameter."""
    given = {str(name): to_numpy(as_array(column)) for name, column in columns.items()}
    shapes = {name: column.shape for name, column in given.items()}
    if not given or len(set(shapes.values())) > 1 or len(next(iter(shapes.values()))) != 1:
        got = ", ".join(f"{name} {shape}" for name, shape in list(shapes.items())[:6]) or "no column"
        raise InputError(
            f"{what}: a mapping holds one column of shape (simulations,) a parameter, all of one length, got {got}: of "
            "several numbers a parameter make a column each"
        )
    return np.stack(list(given.values()), axis=-1)


def names_in(x: Any, names: Any) -> Any:
    """Names as they were given, else those that columns of a mapping or a dataset have."""
    if names is not None:
        return names
    if hasattr(x, "data_vars"):
        return of_dataset(x)[0]
    return list(x) if hasattr(x, "keys") else None


def of_dataset(x: Any) -> tuple[list[str], list[np.ndarray]]:
    """Names and columns of a dataset of xarray: axes of simulations become one, each place on other axes a column."""
    names, columns = [], []
    for key, variable in x.data_vars.items():
        own = [name for name in variable.dims if str(name) in _ROWS] or list(variable.dims[:1])
        rest = [name for name in variable.dims if name not in own]
        values = np.asarray(variable.transpose(*own, *rest).values)
        flat = values.reshape(int(np.prod(values.shape[: len(own)])), -1)
        names += places_in_words(str(key), values.shape[len(own) :])
        columns += list(flat.T)
    return names, columns


def places_in_words(name: str, shape: tuple[int, ...]) -> list[str]:
    """Names of the numbers of an array: beta[0], beta[1], ...; of a single number the name alone."""
    return [f"{name}[{','.join(map(str, place))}]" if place else name for place in np.ndindex(*shape)]


def checked_names(names: Any, number: int) -> tuple[str, ...]:
    """Names of parameters, as many as columns, each different; default theta[0], theta[1], ..."""
    if names is None:
        return ("theta",) if number == 1 else tuple(f"theta[{k}]" for k in range(number))
    found = (names,) if isinstance(names, str) else tuple(map(str, names)) if isinstance(names, Sequence) else ()
    if len(found) != number or len(set(found)) < number:
        raise InputError(f"names must be {number} different names, one a column, got {names!r:.200}")
    return found


def checked_draws_per_rank(size: Any) -> int:
    """Number of draws that ranks are among."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise InputError(
            f"draws_per_rank must be the number L of draws that every rank is among, a positive whole number, got "
            f"{size!r}: ranks then go from 0 to L"
        )
    return int(size)


def _instead(values: np.ndarray) -> str:
    ranks = "ranks go to rank_test(ranks, draws_per_rank) (command line: --ranks NAMES)"
    return ranks if (values == np.floor(values)).all() else f"{ranks}, and percentages are divided by 100"


def _cure(values: np.ndarray, size: int, first: int) -> str:
    low, high = values.min(), values.max()
    if low < first:
        return (
            f"a rank is the number of draws below the true value, {first} or more: count again, or leave such rows out"
        )
    if (values != np.floor(values)).any():
        return "PIT values go to pit_values_test(values); ranks over L are multiplied by L again"
    if first == 0 and low >= 1 and high == size + 1:
        return "they seem to count from 1: say first=1 (command line: --first-rank 1)"
    return f"they go from {low:g} to {high:g}: say draws_per_rank (command line: --draws-per-rank), the number of draws"
