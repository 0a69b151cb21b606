"""Ranks and PIT values from the columns of a file: which columns, how many draws, and from which number ranks count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io import Source
from kernelcal.ranks.posteriors import ranks_of_draws
from kernelcal.ranks.table import RankTable

__all__ = ["RanksRead", "read_ranks"]


_RANK = re.compile(r"(sbc[_. ]?)?ranks?([_. \[(].*)?|.*[_. ]rank", re.IGNORECASE)
_PIT = re.compile(r"(pit|pit[_. ]?values?|u|cdf)([_. \[(].*)?|.*[_. ](pit|cdf)", re.IGNORECASE)
_SIZE = ("draws_per_rank", "max_rank", "n_draws", "num_draws", "num_posterior_samples", "l")
_VARIABLE = ("variable", "parameter", "param", "quantity")
_SIMULATION = ("sim_id", "simulation", "sim", "dataset", "iteration", "id")
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class RanksRead:
    r"""What was read.

    Attributes
    ----------
    table : RankTable
        Ranks or PIT values.
    sentence : str
        How the file was understood.
    clusters : numpy.ndarray or None
        Labels of clusters.
    joint : tuple of str
        Columns that are pre-ranks of all parameters.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kernelcal.io import open_source
    >>> from kernelcal.ranks import read_ranks
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ranks.csv"
    ...     _ = path.write_text("\n".join(["rank_mu", "0", "3", "1"]))
    ...     found = read_ranks(open_source([path]), draws_per_rank=3)
    >>> found.table.names, found.clusters
    (('mu',), None)
    """

    table: RankTable
    sentence: str
    clusters: np.ndarray | None = None
    joint: tuple[str, ...] = ()


def read_ranks(
    source: Source,
    *,
    ranks: str | None = None,
    pit: str | None = None,
    draws_per_rank: int | None = None,
    first: int | None = None,
    clusters: str | None = None,
    rng: Any = 0,
) -> RanksRead:
    r"""Read ranks or PIT values, and ask where the file does not tell.

    Parameters
    ----------
    source : Source
        An opened file, `io.open_source`.
    ranks, pit : str, optional
        Columns a,b,c or a glob such as ``'rank_*'``. Default: columns called so. A table with a column of parameters
        beside one of ranks has one line a parameter and simulation.
    draws_per_rank : int, optional
        Number L of draws; default: a column that says it, such as ``max_rank``.
    first : {0, 1}, optional
        Rank below all draws; default: what the ranks allow.
    clusters : str, optional
        Column of what simulations share.
    rng : int
        Seed of equal values and reference points, where the file holds arrays ``theta`` and ``samples``, true values of
        shape (n, d) and draws of shape (n, S, d): their ranks are taken, as by `posterior_test`.

    Raises
    ------
    InputError
        With what is to be said.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kernelcal.io import open_source
    >>> from kernelcal.ranks import read_ranks
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ranks.csv"
    ...     _ = path.write_text("\n".join(["rank_mu", "0", "3", "1"]))
    ...     found = read_ranks(open_source([path]), draws_per_rank=3)
    >>> found.table.values[:, 0], found.table.draws_per_rank
    (array([0., 3., 1.]), 3)
    """
    if ranks is None and pit is None and {"theta", "samples"} <= set(source.names):
        return _of_draws(source, clusters, rng)
    names, of_pit = _columns(source, ranks, pit)
    variable = _one_of(source, _VARIABLE)
    long = variable is not None and len(names) == 1
    labels = _labels(source, clusters)
    if long and labels is not None:
        raise InputError(f"{source.path}: clusters are for tables with one line a simulation, this has one a parameter")
    values, titles = _by_variable(source, names[0], str(variable)) if long else (source.numbers(names), _titles(names))
    if values.size == 0:
        raise InputError(f"{source.path}: there are no rows, only names: one row a simulation is expected")
    if np.isnan(values).any():
        row, k = (int(x) for x in np.argwhere(np.isnan(values))[0])
        raise InputError(f"{source.path}: the value of {titles[k]} in row {row} is missing: leave such rows out")
    said = f"{source.path}: {len(values):,} simulations, {'PIT values' if of_pit else 'ranks'} of {', '.join(titles)}"
    found = labels
    if of_pit:
        if draws_per_rank is not None:
            raise InputError(f"{source.path}: PIT values have no draws per rank: leave --draws-per-rank out")
        return RanksRead(RankTable.of_pit(values, titles), said, found)
    if (values != np.floor(values)).any():
        value = values[values != np.floor(values)][0]
        raise InputError(
            f"{source.path}: {value:g} is no rank, expected whole numbers: numbers from 0 to 1 are PIT values, --pit "
            "NAMES; ranks over L are multiplied by L first"
        )
    size = _size(source, values) if draws_per_rank is None else draws_per_rank
    begin = _first(source, values, size) if first is None else first
    table = RankTable.of_ranks(values, size, titles, begin)
    return RanksRead(table, f"{said} among {size:,} draws, counted from {begin}", found)


def _of_draws(source: Source, clusters: str | None, rng: Any) -> RanksRead:
    """Ranks of true values among draws."""
    theta, samples = source.array("theta"), source.array("samples")
    table, joint, _ = ranks_of_draws(theta, samples, rng=rng)
    own = len(table.names) - len(joint)
    said = f"{source.path}: {len(table):,} simulations, theta of {own} numbers, {table.draws_per_rank:,} draws of each"
    return RanksRead(table, said, _labels(source, clusters), joint)


def _columns(source: Source, ranks: str | None, pit: str | None) -> tuple[list[str], bool]:
    if ranks is not None and pit is not None:
        raise InputError("say --ranks or --pit, not both: they are tested apart")
    if ranks is not None or pit is not None:
        return _listed(source, str(ranks if pit is None else pit)), ranks is None
    of_ranks = [name for name in source.names if _RANK.fullmatch(name) and name.lower() not in _SIZE]
    of_pit = [name for name in source.names if _PIT.fullmatch(name)]
    if of_ranks and of_pit:
        raise InputError(
            f"{source.path}: {', '.join(of_ranks)} look like ranks and {', '.join(of_pit)} like PIT values: say which "
            "are meant, --ranks NAMES or --pit NAMES"
        )
    if not of_ranks and not of_pit:
        raise InputError(
            f"{source.path}: no column is called rank... or pit...: say which are meant, --ranks NAMES or --pit NAMES "
            f"(columns: {_shown(source)})"
        )
    return of_ranks or of_pit, not of_ranks


def _listed(source: Source, text: str) -> list[str]:
    """Names a,b,c or those of a glob."""
    if any(sign in text for sign in "*?["):
        found = [name for name in source.names if fnmatchcase(name, text)] or [x for x in [text] if x in source.names]
    else:
        found = [name.strip() for name in text.split(",") if name.strip()]
    for name in found or [text]:
        _known(source, name)
    return found


def _texts(source: Source, name: str) -> np.ndarray:
    """Every cell of a column as text."""
    _known(source, name)
    cells = source.cells([name])[0]
    return np.array(cells.texts)[cells.numbers]


def _labels(source: Source, clusters: str | None) -> np.ndarray | None:
    """Labels of clusters: a cell without one says nothing."""
    labels = None if clusters is None else _texts(source, clusters)
    nothing = [] if labels is None else [row for row, text in enumerate(labels) if not text.strip()]
    if nothing:
        raise InputError(
            f"{source.path}: --clusters {clusters}: row {nothing[0]} says nothing ({len(nothing):,} such rows): fill "
            "it in, a label of its own if a row stands alone, or leave the row out"
        )
    return labels


def _known(source: Source, name: str) -> None:
    if name not in source.names:
        raise InputError(f"{source.path}: there is no column {name!r}: {_shown(source)}")


def _shown(source: Source) -> str:
    return ", ".join(source.names[:_SHOWN]) + (", ..." if len(source.names) > _SHOWN else "")


def _titles(names: Sequence[str]) -> list[str]:
    """Names of parameters: what columns are called less the word rank or pit."""
    short = [
        re.sub(r"^(sbc[_. ]?)?(ranks?|pit)[_. ]|[_. ](rank|pit)$", "", name, flags=re.IGNORECASE) for name in names
    ]
    return short if len(set(short)) == len(names) else [*names]


def _one_of(source: Source, known: Sequence[str]) -> str | None:
    return next((name for name in source.names if name.lower() in known), None)


def _by_variable(source: Source, name: str, variable: str) -> tuple[np.ndarray, list[str]]:
    """One line a parameter and simulation: simulations in the order of their column, or of the lines."""
    values, labels = source.numbers([name])[:, 0], _texts(source, variable)
    titles = list(dict.fromkeys(labels.tolist()))
    which = _one_of(source, _SIMULATION)
    keys = None if which is None else _texts(source, which)
    columns = []
    for title in titles:
        rows = np.flatnonzero(labels == title)
        columns.append(values[rows if keys is None else rows[np.argsort(keys[rows], kind="stable")]])
    counts = {title: len(column) for title, column in zip(titles, columns, strict=True)}
    if len(set(counts.values())) > 1:
        raise InputError(f"{source.path}: parameters have different numbers of ranks: {counts}: leave some out")
    return np.stack(columns, axis=1), titles


def _size(source: Source, values: np.ndarray) -> int:
    name = _one_of(source, _SIZE)
    if name is not None:
        sizes = np.unique(source.numbers([name]))
        if len(sizes) == 1 and sizes[0] == np.floor(sizes[0]) and sizes[0] >= 1:
            return int(sizes[0])
        raise InputError(
            f"{source.path}: column {name} says how many draws a rank is among, one whole number for all rows, got "
            f"{', '.join(f'{size:g}' for size in sizes[:3])}: test such rows apart, or say --draws-per-rank L"
        )
    least, most = values.min(), values.max()
    raise InputError(
        f"{source.path}: how many draws is a rank among? Ranks go from {least:g} to {most:g}, and the largest may not "
        f"have occurred: say --draws-per-rank L, such as {max(int(most) - int(least >= 1), 1)}"
    )


def _first(source: Source, values: np.ndarray, size: int) -> int:
    low, high = values.min(), values.max()
    if low < 1 or (high > size + 1):
        return 0  # the check of the table tells what is wrong, if anything is
    if high > size:
        return 1
    raise InputError(
        f"{source.path}: do ranks count from 0 or from 1? They go from {low:g} to {high:g}, and both 0 to {size} and 1 "
        f"to {size + 1} may be meant: say --first-rank 0 or --first-rank 1"
    )
