"""A sketch that holds the sums of every group of some columns beside those of all rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.explanation import columns_of_text, cuts_of, values_of_groups
from kernelcal.files import archive_bytes, checksum, format_of, read_archive, write_archive
from kernelcal.kernels import Kernel
from kernelcal.predictions import as_predictions
from kernelcal.runs import Run
from kernelcal.sketch.exact import DIGITS
from kernelcal.sketch.findings import SketchResult
from kernelcal.sketch.grouped.columns import MOST_GROUPS, GroupColumn, GroupedCase, checked_pool, refuse_many
from kernelcal.sketch.grouped.findings import SIZES, by_group_of
from kernelcal.sketch.grouped.sizes import NUMBER, size_sums
from kernelcal.sketch.main import Sketch
from kernelcal.sketch.subject import Settings, Subject, refuse_different
from kernelcal.sketch.sums import Arrays, added, check_arrays, sums_of

__all__ = ["GroupedSketch", "empty_like", "load_sketch", "refuse_other_groups"]


_FILE = ("kernelcal groups", 1)  # what files are called, and their version
_MOMENTS = 512  # rows of a matrix of second moments that every group may hold
_OWN = (
    "_columns",
    "_groups",
    "_most",
    "_held",
    "_each",
    "_given",
    "_more",
)  # attributes that sketches without groups do not have
_NONE = "rows of this sketch have groups ({}): give groups= with all of them"

Groups = dict[str, dict[str, Arrays]]


class GroupedSketch(Sketch):
    """A `Sketch` of all rows and of every group of some columns, from which comes the table of groups of `evaluate`.

    Parameters
    ----------
    prediction_kernel, target_kernel
        As for `Sketch`.
    groups : sequence of str or GroupColumn
        Columns whose values are groups, at most 50 a column. `GroupedSketch.like` cuts numbers and pools rare values.
    **options
        As for `Sketch`.

    Raises
    ------
    InputError
        As for `Sketch`, and for more groups than may be held, with the remedy.

    Notes
    -----
    A group has the sums of a `Sketch` of its own rows with their identities: its kernel error, p-value, interval and
    directions are those of that sketch. Second moments, from which the interval comes, are held for each group while
    features times classes are at most 512. One batch of draws serves all groups, by which p-values are corrected for
    the choice among all groups of all columns (`kernelcal.inference.laws.family_wise_pvalues`), exactly at every B and
    n.

    Time: that of a sketch for every column. Memory: that of a sketch for every group of every column.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.sketch import GroupedSketch
    >>> rng = np.random.default_rng(0)
    >>> p, site = rng.uniform(size=2000), np.array(["north", "south"])[np.arange(2000) % 2]
    >>> y = rng.random(2000) < np.where(site == "south", p**2, p)
    >>> sketch = GroupedSketch(kc.Laplacian(0.2), groups=["site"], engine=kc.RandomFourier(64))
    >>> by = sketch.update(y, p, groups={"site": site}).result().by_group
    >>> by.verdict
    '1 of 2 groups is rejected: site south.'
    """

    _columns: tuple[GroupColumn, ...]

    def __init__(
        self, prediction_kernel: Kernel, target_kernel: Kernel | None = None, *, groups: Any, **options: Any
    ) -> None:
        super().__init__(prediction_kernel, target_kernel, **options)
        self._columns = _checked_columns(groups)

    def _begin(self, settings: Settings) -> Self:
        super()._begin(settings)
        self._columns = ()
        self._groups: Groups = {}
        self._most, self._each = MOST_GROUPS, 0
        self._held: dict[str, int] = {}
        self._given: dict[str, np.ndarray] = {}
        self._more: Groups = {}
        return self

    @classmethod
    def like(
        cls,
        predictions: Any,
        prediction_kernel: Kernel | None = None,
        target_kernel: Kernel | None = None,
        *,
        groups: Any = None,
        pool: int | None = None,
        **options: Any,
    ) -> Self:
        """Empty sketch with lengthscales and groups chosen from some rows, which are not added.

        Parameters
        ----------
        predictions, prediction_kernel, target_kernel, **options
            As for `Sketch.like`.
        groups : array of shape (n,), mapping of str to such arrays, or data frame
            Groups of these rows: measured numbers are cut at their quartiles.
        pool : int, optional
            Keep so many values a column, the most frequent ones, and pool all others as one group.

        Returns
        -------
        GroupedSketch
        """
        if groups is None:
            raise InputError("GroupedSketch.like(predictions, groups=...) needs the groups of these rows; else Sketch")
        columns = groups
        if not isinstance(groups, list | tuple) or not all(isinstance(one, GroupColumn) for one in groups):
            values = values_of_groups(groups, len(as_predictions(predictions)))
            columns = [GroupColumn.of(name, column, checked_pool(pool)) for name, column in values.items()]
        return super().like(predictions, prediction_kernel, target_kernel, groups=columns, **options)

    def empty(self) -> Self:
        """Return a sketch of the same settings and columns that has seen no rows."""
        other = super().empty()
        other._columns, other._most = self._columns, self._most
        return other

    @property
    def columns(self) -> tuple[GroupColumn, ...]:
        """Columns of groups."""
        return self._columns

    def look_at(self, case: Case) -> Self:
        """Learn from some rows, which are not added, how many groups there are and what one takes."""
        groups = self.empty().updated(case)._groups
        self._held = {column: len(held) for column, held in groups.items()}
        self._each = max(sum(x.nbytes for x in sums.values()) for held in groups.values() for sums in held.values())
        return self

    @property
    def held_in_words(self) -> str:
        """How many groups of which columns were looked at."""
        number = sum(self._held.values())
        return f"{number} group{'s' * (number != 1)} of {' and '.join(self._held)}"

    def within_bytes(self, spare: float) -> Self:
        """Refuse more groups than those that were looked at and so many more as these bytes hold."""
        more = int(spare / max(self._each * len(self._columns), 1))
        self._most = min(max(self._held.values()) + max(more, 0), MOST_GROUPS)
        return self

    def update(self, y: Any, predictions: Any, *, groups: Any = None, **options: Any) -> Self:
        """Add rows with their groups; nothing is added if any of them is refused.

        Parameters
        ----------
        y, predictions, **options
            As for `Sketch.update`.
        groups : array of shape (n,), mapping of str to such arrays, or data frame
            Groups of these rows, by the columns of the sketch.

        Returns
        -------
        GroupedSketch
            Itself.
        """
        given = {name: options.pop(name) for name in ("classes", "normalize") if name in options}
        return self.updated(Case.of(y, predictions, **given), groups=groups, **options)

    def updated(self, case: Case, *, groups: Any = None, **known: Any) -> Self:
        """Add rows that were checked already, as `update` does; a `GroupedCase` has its groups."""
        if isinstance(case, GroupedCase):
            groups = case.groups if groups is None else groups
            case = Case(case.targets, case.predictions, numbers=case.numbers)
        self._given, self._more = self._labelled(groups, len(case)), {}
        try:
            super().updated(case, **known)
            self._groups = _joined(self._groups, self._more)
        finally:
            self._given, self._more = {}, {}
        return self

    def _labelled(self, groups: Any, n: int) -> dict[str, np.ndarray]:
        """Name of the group of every row, by column; more groups than may be held are refused."""
        names = [column.name for column in self._columns]
        if groups is None:
            raise InputError(_NONE.format(", ".join(names)))
        values = values_of_groups(groups, n)
        if len(self._columns) == 1 and list(values) == ["group"]:
            values = {names[0]: values["group"]}  # an array has no name
        missing = [name for name in names if name not in values]
        if missing:
            raise InputError(f"groups has no column {missing[0]!r}, which this sketch holds groups of: {names}")
        found = {}
        for column in self._columns:
            given = values[column.name]
            if column.cuts is None and cuts_of(given) is not None and column.names is None:
                _refuse_measured(column.name, given)
            found[column.name] = np.array(column.groups_of(given))
            refuse_many(column.name, {*found[column.name].tolist()} | {*self._groups.get(column.name, {})}, self._most)
        return found

    def _sums_of(self, case: Case, placed: Any, numbers: range | np.ndarray, subject: Subject) -> Arrays:
        """Sums of all rows, which are those of all groups of a column, and keep those of the groups."""
        own = _of_groups(subject, self._settings)
        identities = np.asarray(numbers)
        for column, names in self._given.items():
            held = self._more[column] = {}
            for name in dict.fromkeys(names.tolist()):
                rows = np.flatnonzero(names == name)
                some = case[rows]
                found = sums_of(some, placed[rows], _run_of(identities[rows]), self._settings, own)
                held[name] = {**found, SIZES: size_sums(some)}
        if own is not subject:
            return super()._sums_of(case, placed, numbers, subject)
        total: Arrays = {}
        for found in next(iter(self._more.values())).values():
            total = added(total, _without_sizes(found))
        return total

    def merge(self, other: Sketch) -> Self:
        """Add the rows and groups of another sketch of the same settings and columns, as `Sketch.merge` does."""
        if not isinstance(other, GroupedSketch):
            raise InputError(
                f"a sketch of groups is merged with another one, got {type(other).__name__}, which holds no groups: "
                "give the same groups with all parts"
            )
        refuse_different(_plain(self._columns), _plain(other._columns), "the groups of the sketches")
        joined = _joined(self._groups, other._groups)
        for column, groups in joined.items():
            refuse_many(column, groups, self._most)
        super().merge(other)
        self._groups = joined
        return self

    def arrays(self) -> Arrays:
        """Refused: groups of parts have other names, so that arrays of parts do not add up one by one."""
        raise InputError("a sketch of groups does not travel as arrays: send sketch.to_bytes(), or save it")

    def with_arrays(self, arrays: Mapping[str, Any]) -> Self:
        """Refused as `arrays` is."""
        raise InputError("a sketch of groups does not travel as arrays: GroupedSketch.from_bytes, or load it")

    def result(self, confidence_level: float = CONFIDENCE_LEVEL, alpha: float = SIGNIFICANCE) -> SketchResult:
        """Return what the rows seen so far tell, with ``by_group``; as `Sketch.result`."""
        found = super().result(confidence_level, alpha)
        assert self._subject is not None  # for the type checker: it was refused
        run = Run(confidence_level=confidence_level, alpha=alpha)
        own = _of_groups(self._subject, self._settings)
        return replace(found, by_group=by_group_of(self._groups, self._columns, self._settings, own, run))

    def save(self, path: Any) -> None:
        """Write the sketch to an npz file, whole or not at all; no pickles."""
        write_archive(path, _FILE, *self._written())

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        return archive_bytes(_FILE, *self._written())

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        whole = object.__new__(Sketch)
        whole.__dict__.update({name: x for name, x in vars(self).items() if name not in _OWN})
        names = {column: sorted(groups) for column, groups in self._groups.items()}
        head = {"columns": [column.plain() for column in self._columns], "groups": names}
        arrays = {
            f"{c} {k} {name}": x
            for c, (column, groups) in enumerate(names.items())
            for k, group in enumerate(groups)
            for name, x in self._groups[column][group].items()
        }
        return head, {**arrays, "whole": np.frombuffer(whole.to_bytes(), dtype=np.uint8)}

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a sketch that was saved; damaged and foreign files are refused."""
        head, arrays = read_archive(path, _FILE, "a sketch of groups")
        if head.get("checksum") != checksum(head, arrays):
            raise InputError(
                f"{path} is not a whole sketch: it was altered after it was written, its checksum is that of other "
                "sums or settings. Save the sketch again where it was made"
            )
        try:
            whole = Sketch.from_bytes(arrays.pop("whole").tobytes())
            sketch = object.__new__(cls)._begin(whole._settings)
            sketch.__dict__.update(vars(whole))
            sketch._columns = tuple(GroupColumn.from_plain(plain) for plain in head["columns"])
            names = {str(column): [*map(str, groups)] for column, groups in head["groups"].items()}
            sketch._groups = _read_groups(path, names, arrays, sketch)
        except InputError as error:
            raise InputError(f"{path} is not a whole sketch of groups: {error}") from None
        except Exception as error:  # settings of any shape, which anything may refuse
            raise InputError(f"{path} is not a whole sketch of groups: {type(error).__name__}, {error}") from None
        return sketch


def _read_groups(path: Any, names: dict[str, list[str]], arrays: Arrays, sketch: GroupedSketch) -> Groups:
    """Sums of groups of a file, checked: the rows of the groups of every column are all rows."""
    found: Groups = {column: {group: {} for group in groups} for column, groups in names.items()}
    columns = list(names)
    for key, x in arrays.items():
        c, k, name = key.split(" ", 2)
        found[columns[int(c)]][names[columns[int(c)]][int(k)]][name] = x
    if sketch.n and columns != [column.name for column in sketch._columns]:
        raise InputError("its groups are not those of its columns")
    if not sketch.n or sketch._subject is None:
        return found
    own = _of_groups(sketch._subject, sketch._settings)
    for column, groups in found.items():
        for group, sums in groups.items():
            if sums[SIZES].shape != (DIGITS, NUMBER) or sums[SIZES].dtype != np.int64:
                raise InputError(f"the figures of {column} {group} are not {NUMBER} exact sums")
            check_arrays(path, _without_sizes(sums), sketch._settings, own)
        if sum(int(sums["n"]) for sums in groups.values()) != sketch.n:
            raise InputError(f"the groups of {column} have other rows than all of them together")
    return found


def load_sketch(path: Any) -> Sketch:
    """Read a sketch that was saved, with groups or without.

    Parameters
    ----------
    path : str or path
        Of the file; or its bytes as `kernelcal.files.InMemory`.

    Returns
    -------
    Sketch
        A `GroupedSketch` where groups were saved.

    Raises
    ------
    InputError
        For damaged, altered and foreign files.

    Examples
    --------
    >>> import tempfile, kernelcal as kc
    >>> from kernelcal.sketch import load_sketch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kc.Sketch(kc.Laplacian(0.2)).update([0, 1], [0.3, 0.8]).save(f"{folder}/monday.npz")
    ...     load_sketch(f"{folder}/monday.npz").n
    2
    """
    kind: type[Sketch] = GroupedSketch if format_of(path) == _FILE[0] else Sketch
    return kind.load(path)


def empty_like(case: Case, options: Mapping[str, Any], like: Sketch | None = None) -> Sketch:
    """Empty sketch like some rows of files, with the columns of groups that they have; one option is pool_groups.

    With a sketch `like` this its settings and groups are taken.
    """
    if like is not None:
        empty = like.empty()
        return empty.look_at(case) if isinstance(empty, GroupedSketch) else empty
    own = {name: x for name, x in options.items() if name != "pool_groups"}
    pool = checked_pool(options.get("pool_groups"))
    if not isinstance(case, GroupedCase):
        if pool is not None:
            raise InputError(
                "pool_groups (--pool-groups) says how groups are kept, and none were asked for: say groups"
            )
        return Sketch.like(case.predictions, **own)
    texts = {name: [*map(str, values)] for name, values in (case.groups or {}).items()}
    return GroupedSketch.like(case.predictions, groups=columns_of_text(texts), pool=pool, **own).look_at(case)


def refuse_other_groups(like: Sketch, groups: str | None, name: str = "like=") -> None:
    """Refuse other groups than those of the sums to which rows are to be added; `groups` are names with commas."""
    own = [column.name for column in like.columns] if isinstance(like, GroupedSketch) else []
    asked = [one.strip() for one in (groups or "").split(",") if one.strip()]
    if asked != own:
        listed = ",".join(own)
        cure = f"say groups='{listed}' (--groups {listed})" if own else "leave groups (--groups) out"
        raise InputError(f"{name} holds {_named(own)}, and {_named(asked)} were asked for: {cure}")


def _named(columns: Sequence[str]) -> str:
    return f"groups of {', '.join(columns)}" if columns else "no groups"


def _checked_columns(groups: Any) -> tuple[GroupColumn, ...]:
    one_alone = isinstance(groups, str | GroupColumn) or not isinstance(groups, Iterable)
    given: Sequence[Any] = [groups] if one_alone else list(groups)
    given = [str(one) if isinstance(one, str) else one for one in given]  # also of NumPy
    columns = tuple(one if isinstance(one, GroupColumn) else GroupColumn(one) for one in given)
    if not columns or len({column.name for column in columns}) < len(columns):
        raise InputError(f"groups must name one column or several different ones, got {groups!r:.80}")
    return columns


def _refuse_measured(name: str, values: Sequence[Any]) -> None:
    number = next(value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
    raise InputError(
        f"groups: column {name!r} holds measured numbers, such as {number!r}, and where they are cut must be the same "
        "for all parts: GroupedSketch.like(some_predictions, groups={...}) cuts them at the quartiles of some rows"
    )


def _of_groups(subject: Subject, settings: Settings) -> Subject:
    """The subject of a group: second moments are held where they are small."""
    size = settings.engine.frequencies * (1 if subject.family == "Bernoulli" else subject.columns)
    return replace(subject, second_moments=False) if subject.second_moments and size > _MOMENTS else subject


def _run_of(rows: np.ndarray) -> range | np.ndarray:
    """Rows that follow each other as what is drawn fastest."""
    if rows.dtype != np.uint64 and int(rows[-1]) - int(rows[0]) == len(rows) - 1 and bool(np.all(np.diff(rows) == 1)):
        return range(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _without_sizes(sums: Arrays) -> Arrays:
    return {name: x for name, x in sums.items() if name != SIZES}


def _joined(groups: Groups, more: Groups) -> Groups:
    """Sums of the groups of both, which stay as they are."""
    found = {column: dict(parts) for column, parts in groups.items()}
    for column, parts in more.items():
        own = found.setdefault(column, {})
        for name, sums in parts.items():
            own[name] = added(own.get(name, {}), sums)
    return found


def _plain(columns: tuple[GroupColumn, ...]) -> dict[str, Any]:
    return {"columns": [column.plain() for column in columns]}
