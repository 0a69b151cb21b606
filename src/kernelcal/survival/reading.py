"""Tables of survival: which columns hold times, events and predictions, and from there to checked data."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.explanation import columns_of_text
from kernelcal.io import Source, open_source
from kernelcal.predictions import families
from kernelcal.survival.curves import SurvivalCurves
from kernelcal.survival.data import Survival

__all__ = ["SurvivalColumns", "SurvivalTable", "read_survival"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TIME = _names(
    "time duration durations survival_time survtime followup follow_up followup_time futime time_to_event tte "
    "observed_time os_time event_time lifetime"
)
_EVENT = _names("event event_observed observed_event event_indicator status died death dead deceased fustat delta")
_CENSORED = _names("censored is_censored cens censor")
_CENSORING_TIME = _names("censoring_time censor_time administrative_censoring max_followup max_follow_up")
_CURVES = _names("s surv survival survival_probability prob_survival p_survival survival_prob")
_RISKS = _names("risk risks event_risk incidence cif")
_NUMBERED = re.compile(r"(.*?)[_.\-\s@(]*(\d+(?:\.\d+)?)\)?")
_NOTHING = {"", "nan", "na", "n/a", "null"}
_YES = {"1", "true", "yes", "event", "dead", "died", "death", "deceased", "observed"}
_NO = {"0", "false", "no", "censored", "alive", "living", "none", "lost"}


@dataclass(frozen=True, kw_only=True)
class SurvivalColumns:
    """Names of the columns, as far as they were said; the others are found by their usual names.

    Attributes
    ----------
    duration, event, censored, censoring_time : str, optional
        Columns of the observed times; of whether the event was seen, or ``NAME=VALUE`` with the value that says so; of
        whether it was not; of the times at which rows would have been censored at the latest.
    survival, risk : str, optional
        Columns a,b,c or a glob of survival probabilities, or of risks, whose names end in the times.
    times : str, optional
        These times, where the names do not say them.
    family, parameters : str, optional
        A family and the columns of its parameters in their order.
    weights, clusters, groups : str, optional
        Columns of case weights, of labels of dependent rows, and columns a,b of groups.

    Examples
    --------
    >>> from kernelcal.survival import SurvivalColumns
    >>> SurvivalColumns(duration="months", event="died").duration
    'months'
    """

    duration: str | None = None
    event: str | None = None
    censored: str | None = None
    censoring_time: str | None = None
    survival: str | None = None
    risk: str | None = None
    times: str | None = None
    family: str | None = None
    parameters: str | None = None
    weights: str | None = None
    clusters: str | None = None
    groups: str | None = None


@dataclass(frozen=True, eq=False)
class SurvivalTable:
    """Checked data, a sentence that says what was read, and columns of groups."""

    data: Survival
    description: str
    groups: dict[str, list[Any]] | None = None


def read_survival(path: str | Path, columns: SurvivalColumns | None = None) -> SurvivalTable:
    r"""Read times, events and predictions of one file of any kind that is read.

    Parameters
    ----------
    path : path
        A table with a row a subject.
    columns : SurvivalColumns, optional
        What is known of it.

    Raises
    ------
    InputError
        With the column and the remedy.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kernelcal.survival import read_survival
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cohort.csv"
    ...     _ = path.write_text("time,event,S_6,S_12\n4,1,0.7,0.5\n13,0,0.9,0.8\n")
    ...     table = read_survival(path)
    >>> table.description.rpartition(": ")[2]
    '2 rows; times time; events event; survival at 6, 12'
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"read_survival reads one file: pass its path, got {path!r:.60}")
    said, source = columns or SurvivalColumns(), open_source([Path(path)])
    duration = _one(source, said.duration, _TIME, "duration", "the observed times")
    event, event_name = _events(source, said)
    known = _one(source, said.censoring_time, _CENSORING_TIME, "censoring-time", "", needed=False)
    law, words = _law(source, said)
    data = Survival(
        law,
        source.numbers([duration])[:, 0],
        event,
        None if known is None else source.numbers([known])[:, 0],
        None if said.weights is None else source.numbers([_known(source, said.weights)])[:, 0],
        None if said.clusters is None else _clusters(source, _known(source, said.clusters)),
    )
    more = "" if known is None else f"; censored at {known} at the latest"
    more += "" if said.weights is None else f"; weights {said.weights}"
    more += "" if said.clusters is None else f"; {int(data.clusters.max()) + 1:,} clusters of {said.clusters}"  # type: ignore[union-attr]
    groups = None
    if said.groups is not None:
        names = [_known(source, part.strip()) for part in said.groups.split(",")]
        cells = source.cells(names)
        texts = {name: [own.texts[k] for k in own.numbers] for name, own in zip(names, cells, strict=True)}
        groups = columns_of_text(texts)
    return SurvivalTable(
        data, f"read {path}: {len(data):,} rows; times {duration}; {event_name}; {words}{more}", groups
    )


def _known(source: Source, name: str) -> str:
    if name not in source.names:
        raise InputError(f"{source.path}: there is no column {name!r}; the columns are {', '.join(source.names[:20])}")
    return name


def _one(
    source: Source, said: str | None, usual: frozenset[str], option: str, what: str, *, needed: bool = True
) -> Any:
    """The column that was said, or the only one with a usual name."""
    if said is not None:
        return _known(source, said)
    found = [name for name in source.names if _plain(name) in usual]
    if len(found) == 1:
        return found[0]
    if not needed and not found:
        return None
    raise InputError(
        f"{source.path}: which column holds {what or 'them'}? "
        + (f"{' and '.join(found)} could: say" if found else "None has a usual name: say")
        + f" --{option} NAME. The columns are {', '.join(source.names[:20])}"
    )


def _plain(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip()).lower()


def _events(source: Source, said: SurvivalColumns) -> tuple[np.ndarray, str]:
    """Whether events were seen, and how that was read."""
    if said.event is not None and said.censored is not None:
        raise InputError("--event and --censored say the same: leave one of them out")
    usual = [name for name in source.names if _plain(name) in _CENSORED]
    if said.censored is not None or (said.event is None and len(usual) == 1 and not _has_event(source)):
        name = said.censored or usual[0]
        return ~_yes_or_no(source, _known(source, name), None), f"events where {name} is not"
    if said.event is not None and said.event not in source.names and "=" in said.event:
        name, _, value = said.event.partition("=")
        return _yes_or_no(source, _known(source, name), value), f"events where {said.event}"
    name = _one(source, said.event, _EVENT, "event", "whether the event was seen")
    return _yes_or_no(source, name, None), f"events {name}"


def _has_event(source: Source) -> bool:
    return any(_plain(name) in _EVENT for name in source.names)


def _yes_or_no(source: Source, name: str, value: str | None) -> np.ndarray:
    cells = source.cells([name])[0]
    texts = [text.strip().lower() for text in cells.texts]
    empty = [k for k, text in enumerate(texts) if text in _NOTHING]
    if value is None and empty:
        row = int(np.argmax(np.isin(cells.numbers, empty)))
        raise InputError(
            f"{source.path}: row {row}, column {name}: whether the event was seen is missing "
            f"({int(np.isin(cells.numbers, empty).sum()):,} such rows): leave the row out if it is not known; if such "
            f"cells mean that it was not seen, say --event {name}=VALUE, the value of those in which it was"
        )
    if value is not None:
        if value.strip().lower() not in texts:
            raise InputError(f"{source.path}: no row has {name}={value}: the column holds {', '.join(texts[:10])}")
        return np.array([text == value.strip().lower() for text in texts])[cells.numbers]
    short = [text.removesuffix(".0") for text in texts]
    if not set(short) <= _YES | _NO:
        raise InputError(
            f"{source.path}: which values of {name} say that the event was seen? It holds "
            f"{', '.join(cells.texts[:6])}: "
            f"say --event {name}=VALUE"
        )
    return np.array([text in _YES for text in short])[cells.numbers]


def _clusters(source: Source, name: str) -> np.ndarray:
    """Labels; cells without one are missing, which no cluster is."""
    cells = source.cells([name])[0]
    texts = np.array([None if text.strip().lower() in _NOTHING else text for text in cells.texts], dtype=object)
    return np.asarray(texts[cells.numbers])


def _law(source: Source, said: SurvivalColumns) -> tuple[Any, str]:
    """Predictions, and what they are in words."""
    other = {"--survival": said.survival, "--risk": said.risk, "--times": said.times}
    beside = [option for option, value in other.items() if value is not None]
    if said.family is not None and beside:
        raise InputError(f"--family says what the predictions are, and so does {beside[0]}: leave one of them out")
    if said.family is None and said.parameters is not None:
        raise InputError(f"--parameters {said.parameters} are those of a family: say which, such as --family weibull")
    if said.family is not None:
        return _of_family(source, said)
    if "times" in source.names and "survival" in source.names and source.axes("survival") == 2:
        times = source.array("times")
        return SurvivalCurves(times, source.array("survival")), f"survival at {len(times)} times"
    names, risks = _numbered(source, said)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{source.path}: column {twice} is named twice among the predictions: once is enough")
    at_times = dict(zip(names, _times(names, said), strict=True))
    ordered = sorted(names, key=lambda name: at_times[name])
    table, grid = source.numbers(ordered), np.array([at_times[name] for name in ordered])
    _refuse_missing(source, ordered, table)
    what = "risks" if risks else "survival"
    if risks:
        _refuse_risks(source, ordered, table)
    at = ", ".join(f"{t:g}" for t in grid) if len(grid) < 6 else f"{grid[0]:g} to {grid[-1]:g}, {len(grid)} columns"
    return SurvivalCurves(grid, 1 - table if risks else table), f"{what} at {at}"


def _of_family(source: Source, said: SurvivalColumns) -> tuple[Any, str]:
    wanted = re.sub(r"[_\-]", "", str(said.family)).lower()
    kinds = {kind.__name__.lower(): kind for kind in families(own=True) if kind.given_by}
    if wanted not in kinds:
        raise InputError(f"--family is one of {', '.join(sorted(kinds))}, got {said.family!r}")
    kind: Any = kinds[wanted]
    asked = [part.strip() for part in (said.parameters or ",".join(kind.given_by)).split(",")]
    if len(asked) != len(kind.given_by):
        raise InputError(f"{kind.__name__} has the parameters {', '.join(kind.given_by)}, got {', '.join(asked)}")
    arrays = [_column_or_number(source, name) for name in asked]
    if all(array.ndim == 0 for array in arrays):
        raise InputError(
            f"all parameters of {kind.__name__} are numbers: name a column, {', '.join(source.names[:20])}"
        )
    return kind(*arrays), f"{kind.__name__} of {', '.join(asked)}"


def _column_or_number(source: Source, name: str) -> np.ndarray:
    if name not in source.names:
        try:
            return np.asarray(float(name))
        except ValueError:
            pass
    return source.numbers([_known(source, name)])[:, 0]


def _numbered(source: Source, said: SurvivalColumns) -> tuple[list[str], bool]:
    """Columns of survival probabilities or of risks, and whether they are risks."""
    if said.survival is not None and said.risk is not None:
        raise InputError("--survival and --risk say the same: leave one of them out")
    asked = said.survival or said.risk
    if asked is not None:
        names = [
            name
            for part in map(str.strip, asked.split(","))
            for name in ([part] if part in source.names else [n for n in source.names if fnmatchcase(n, part)])
        ]
        if not names:
            raise InputError(
                f"{source.path}: no column matches {asked}; the columns are {', '.join(source.names[:20])}"
            )
        return names, said.risk is not None
    for stems, risks in ((_CURVES, False), (_RISKS, True)):
        found = [n for n in source.names if (one := _NUMBERED.fullmatch(n.strip())) and _plain(one[1]) in stems]
        if found:
            return found, risks
    raise InputError(
        f"{source.path}: which columns hold the predictions? Say --survival 'S_*' of survival probabilities whose "
        "names end in the times (--risk of risks), or --family weibull --parameters scale,shape. The columns are "
        f"{', '.join(source.names[:20])}"
    )


def _times(names: Sequence[str], said: SurvivalColumns) -> list[float]:
    if said.times is not None:
        try:
            found = [float(part) for part in said.times.split(",")]
        except ValueError:
            raise InputError(
                f"--times names the times of the columns of predictions, such as 1,5,10, got {said.times!r}; the "
                "column of the observed times is --duration"
            ) from None
        if len(found) != len(names):
            raise InputError(f"--times names {len(found)} times, but there are {len(names)} columns of predictions")
        return found
    ends = [_NUMBERED.fullmatch(name.strip()) for name in names]
    if not all(ends):
        raise InputError(f"the names {', '.join(names[:6])} do not end in times: say them, such as --times 1,5")
    return [float(end[2]) for end in ends if end is not None]


def _refuse_missing(source: Source, names: Sequence[str], table: np.ndarray) -> None:
    if np.isnan(table).any():
        row, k = np.argwhere(np.isnan(table))[0]
        raise InputError(f"{source.path}: row {row}, column {names[k]}: a prediction is missing; leave the row out")


def _refuse_risks(source: Source, names: Sequence[str], table: np.ndarray) -> None:
    """Refuse what is no risk in the words of risks: the survival is 1 less them."""
    wrong = ~((table >= 0) & (table <= 1))
    if wrong.any():
        row, k = np.argwhere(wrong)[0]
        raise InputError(
            f"{source.path}: row {row}, column {names[k]} is {table[row, k]:g}, expected a risk from 0 to 1: divide "
            "percentages by 100"
        )
    falling = np.diff(table, axis=1) < -1e-9
    if falling.any():
        row, k = np.argwhere(falling)[0]
        raise InputError(
            f"{source.path}: the risk of row {row} falls from {table[row, k]:g} in {names[k]} to {table[row, k + 1]:g} "
            f"in {names[k + 1]}: of probabilities of living on say --survival"
        )
