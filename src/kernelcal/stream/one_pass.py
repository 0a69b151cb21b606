"""One pass over batches of rows from any engine: what is decided before it, the sums of parts, the result of all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS_OF_A_PASS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.evaluation import Plan, Step
from kernelcal.io import Arrays, ReadOptions, arrow_arrays, how_found
from kernelcal.io.columns import count, identities, mixed
from kernelcal.lenses import Lens
from kernelcal.pairs import RandomFourier
from kernelcal.runs import Run
from kernelcal.sketch import Sketch, empty_like
from kernelcal.stream.adding import SketchedRows, added_parts, sum_rows
from kernelcal.stream.batches import Labels, Place, Roles, batch_of, keys_of, label_columns, roles_of
from kernelcal.stream.formats import HEAD
from kernelcal.stream.main import StreamResult
from kernelcal.stream.options import Asked, with_key
from kernelcal.stream.survey import LOOKED, seconds_and_bytes, smallest
from kernelcal.stream.tables import Batches, columns_of, joined_tables, table_rows

__all__ = ["OnePass", "evaluate_batches", "sample_batches"]


_EACH = 2**36  # numbers of rows that a partition has for its own
_PARTITIONS = 2**16
_SLICE = 65_536  # rows that are looked at together
_BY_PLACE = (
    "rows are known by their place: {}. Another order is another draw of the same test; key= names columns that tell "
    "rows apart, for the same p-value in any order"
)
_FIRST = (
    "lengthscales are chosen from the first {:,} rows, as the batches can be gone through only once, and depend on "
    "their order: pass like=, or what can be gone through again (a list, a relation, a function that returns batches)"
)


@dataclass(frozen=True, eq=False)
class OnePass:
    """What is decided before a pass, and then is the same wherever rows are: columns, classes, lengthscales, seed.

    It travels to the workers of an engine; each gives `sums` of the rows that it has, as bytes, and `result` adds them
    up. A part that is computed twice, because a worker died or was slow, gives the same bytes; only one of them is to
    be handed on, as engines do with what a task returns. Two that are seen to overlap are refused.

    Attributes
    ----------
    roles : Roles
        What the columns hold, and which of them tell rows apart.
    empty : Sketch
        Settings and lengthscales, no rows.
    lens : Lens or None
        What is asked.
    run : Run
        How it is to be done.
    name, description : str
        What was looked at, and what its columns are.
    seconds, size : float
        Time of a row, and bytes of a sketch.
    notes : tuple of str
        What is said beside the result.

    Examples
    --------
    Two workers, each with some of the rows:

    >>> import numpy as np, pyarrow as pa, kernelcal as kc
    >>> from kernelcal.stream import OnePass, evaluate_batches
    >>> p = np.random.default_rng(0).uniform(size=1000)
    >>> table = pa.table({"id": np.arange(1000), "p": p, "y": kc.Bernoulli(p).sample(rng=1)[0]})
    >>> begun = OnePass.of(table, key="id")
    >>> parts = [begun.sums([table[700:]]), begun.sums([table[:700]])]
    >>> begun.result(parts).pvalue == evaluate_batches(table, key="id").pvalue
    True
    """

    roles: Roles
    empty: Sketch
    lens: Lens | None
    run: Run
    name: str
    description: str
    seconds: float
    size: int
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        batches: Any,
        *,
        key: Any = None,
        like: Sketch | None = None,
        lens: Lens | None = None,
        confidence_level: float = CONFIDENCE_LEVEL,
        alpha: float = SIGNIFICANCE,
        draws: int = DRAWS_OF_A_PASS,
        rng: int = 0,
        engine: RandomFourier | None = None,
        sketch: Mapping[str, Any] | None = None,
        pool_groups: int | None = None,
        **columns: Any,
    ) -> Self:
        """Look at some rows, or at all of them, and decide.

        Parameters
        ----------
        batches
            As for `evaluate_batches`: all rows, or what `sample_batches` took from each part. Lengthscales are chosen
            from the 2,048 rows of the smallest identities among them.
        key, like, lens, confidence_level, alpha, draws, rng, engine, sketch, pool_groups, **columns
            As for `evaluate_batches`.

        Returns
        -------
        OnePass
        """
        run = Run(confidence_level=confidence_level, alpha=alpha, draws=draws, rng=rng, engine=engine)
        asked = Asked.of(run, columns, key=key, lens=lens, sketch=sketch, pool_groups=pool_groups, like=like)
        return cls._begun(Batches.of(batches), asked, whole=True)[0]

    @classmethod
    def _begun(cls, batches: Batches, asked: Asked, *, whole: bool) -> tuple[Self, Batches, int]:
        """Look at all batches, or at the first rows alone; also what to go through then, and its rows where known."""
        first, batches = batches.held(HEAD if whole else LOOKED)
        if not sum(table.num_rows for table in first):
            raise InputError(f"{batches.name}: there are no rows")
        head = Arrays(batches.name, arrow_arrays(batches.name, joined_tables(first).slice(0, HEAD)))
        columns, texts = asked.columns, label_columns(head, asked.columns)
        looked = _Looked.of(batches.start() if whole else iter([joined_tables(first).slice(0, LOOKED)]), columns, texts)
        sample = looked.sample
        roles = roles_of(head, Labels.of(looked.labels, texts[0]) if looked.labels else None, columns)
        place = Place("of the rows that were looked at first", 0, 0)
        try:
            found = batch_of(columns_of(sample, roles.names, place.name), roles, place)
        except InputError:
            for number, table in enumerate(batches.start() if whole else first):
                _refuse_wrong(table, number, roles)
            raise
        if found.case is None or len(found.case) < 2:
            raise InputError(
                f"fewer than 2 of the {count(sample.num_rows)} looked at first are left: are target and missing values "
                "as expected?"
            )
        pilot = found.case.through(asked.lens)
        empty = empty_like(pilot, asked.sketch, asked.like)
        size = seconds_and_bytes(pilot, empty, looked.rows if whole else 0)
        notes = () if whole or asked.like is not None else (_FIRST.format(sample.num_rows),)
        run = replace(asked.run, progress=None)
        begun = cls(roles, empty, asked.lens, run, batches.name, found.description, *size, notes)
        return begun, batches, looked.rows if whole else 0

    def sums(self, batches: Any, partition: int | None = None) -> bytes:
        """Sums of some rows, as bytes that `result` and `merged` take.

        Parameters
        ----------
        batches
            As for `evaluate_batches`; gone through once. None of them, or empty ones, give sums of no rows.
        partition : int, optional
            Number of the part, for rows without a key: they are known by it and their place in it.

        Returns
        -------
        bytes
            With a version and a checksum; no pickles.

        Raises
        ------
        InputError
            With the partition, the batch and the row in it, and the remedy.
        """
        return self._sketched(Batches.of(batches), partition, None).marked().to_bytes()

    def merged(self, parts: Iterable[bytes]) -> bytes:
        """Sums of several parts as those of one: a node of a tree, on any worker."""
        return self._added(parts).to_bytes()

    def result(self, parts: Iterable[bytes]) -> StreamResult:
        """What all parts tell, each of them given once.

        Parameters
        ----------
        parts : iterable of bytes
            What `sums` or `merged` returned, in any order.

        Returns
        -------
        StreamResult
        """
        started = time.perf_counter()
        sums = self._added(parts)
        return self._result(sums, f"partition and place in it, in {self.name}", time.perf_counter() - started)

    def _added(self, parts: Iterable[bytes]) -> SketchedRows:
        return added_parts(self.empty.empty(), parts, self.roles.keys)

    def _sketched(
        self, batches: Batches, partition: int | None, progress: Callable[[int], None] | None
    ) -> SketchedRows:
        sums, first = SketchedRows(self.empty.empty()), _first_row(partition, self.roles)
        part = "" if partition is None else f"partition {partition}, "
        for number, table in enumerate(batches.start()):
            place = Place(f"{part}batch {number}", 0, first)
            for rows in sum_rows(sums, table_rows(table, self.roles.names, place.name), place, self.roles, self.lens):
                first += rows
                if progress is not None:
                    progress(rows)
        return sums

    def _result(self, sums: SketchedRows, place: str, seconds: float) -> StreamResult:
        rows = sums.sketch.n + sums.missing + sums.unwanted
        if not sums.sketch.n:
            raise InputError("no rows are left: all parts are empty, or all of their rows were dropped")
        _, _, columns = self.description.partition("; ")
        keys = f"; key {', '.join(self.roles.keys)}" if self.roles.keys else ""
        read = f"read {self.name}: {count(rows)}{keys}; {columns}{how_found(self.roles.choices)}"
        engine = f"random Fourier features, {self.empty.engine.frequencies} frequencies"
        step = Step("one pass", engine, 3e8 + 3 * self.size, self.seconds * rows)
        predictions = sums.sketch.result().family
        planned = Plan(rows, 0, predictions, self.empty.draws, (step,), "batches")
        more = self.notes if self.roles.keys else (*self.notes, _BY_PLACE.format(place))
        return StreamResult.of(sums, self.run, read=read, plan=planned, more=more, seconds=seconds)


def evaluate_batches(
    batches: Any,
    *,
    key: Any = None,
    like: Sketch | None = None,
    lens: Lens | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS_OF_A_PASS,
    rng: int = 0,
    engine: RandomFourier | None = None,
    sketch: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
    pool_groups: int | None = None,
    **columns: Any,
) -> StreamResult:
    """Is the model calibrated whose predictions and targets an engine gives, batch by batch? In one pass.

    Parameters
    ----------
    batches : iterable, reader, relation, frame or function
        Arrow record batches or tables, data frames, or anything that hands out Arrow: an iterable of these, a reader, a
        relation of DuckDB, a frame or lazy frame of polars, or a function that returns one of these anew. What can be
        gone through again is looked at first, as a whole.
    key : str or list of str, optional
        Columns that tell rows apart: integers, text, dates. Then the p-value and every figure are the same for any
        order of the rows, any partition and any engine. Default: the place in the order in which rows come.
    like : Sketch, optional
        One whose settings and lengthscales are taken, and with them draws, seed and engine: rows are then gone through
        once, and the sums can be added to its own.
    lens, confidence_level, alpha, draws, rng, engine, sketch, pool_groups
        As for `evaluate_files`.
    progress : callable, optional
        Called with the rows done and the rows of all, which are 0 where they are not known.
    **columns
        What the columns hold, as for `evaluate_files`.

    Returns
    -------
    StreamResult
        The same as of files with these rows and this key.

    Raises
    ------
    InputError
        With the batch, the row in it and the remedy; for a key that comes twice, where that is seen.
    MissingExtraError
        Without the extra ``frame``.

    Notes
    -----
    With a key a target is drawn from the seed, the number of the draw and the identity of its row
    (`kernelcal.io.identities`), and lengthscales come from the 2,048 rows of the smallest identities. What can
    be gone through only once gives them from the first 2,048 rows, which is said.

    Examples
    --------
    >>> import duckdb, numpy as np, pandas as pd, kernelcal as kc
    >>> from kernelcal.stream import evaluate_batches
    >>> p = np.random.default_rng(0).uniform(size=1000)
    >>> games = pd.DataFrame({"id": np.arange(1000), "p": p, "y": kc.Bernoulli(p).sample(rng=1)[0]})
    >>> by_place, by_chance = (duckdb.sql(f"from games order by {what}") for what in ("id", "hash(id)"))
    >>> results = [evaluate_batches(rows, key="id", target="y", predictions="p") for rows in (by_place, by_chance)]
    >>> [result.n for result in results], results[0].pvalue == results[1].pvalue
    ([1000, 1000], True)
    """
    run = Run(confidence_level=confidence_level, alpha=alpha, draws=draws, rng=rng, progress=progress, engine=engine)
    asked = Asked.of(run, columns, key=key, lens=lens, sketch=sketch, pool_groups=pool_groups, like=like)
    given = Batches.of(batches)
    whole = given.again and like is None
    begun, given, total = OnePass._begun(given, asked, whole=whole)
    started, done = time.perf_counter(), 0

    def tell(rows: int) -> None:
        nonlocal done
        done += rows
        if progress is not None:
            progress(done, total)

    sums = begun._sketched(given, None, tell)
    return begun._result(sums, f"the order in which {given.name} came", time.perf_counter() - started)


def sample_batches(batches: Any, *, key: Any) -> list[Any]:
    """Rows of some batches by whose predictions lengthscales are chosen: of each worker, then of all together.

    Parameters
    ----------
    batches
        As for `evaluate_batches`.
    key : str or list of str
        Columns that tell rows apart.

    Returns
    -------
    list of pyarrow.RecordBatch
        All columns of at most 2,048 rows, those of the smallest identities; nothing of no rows. The same for any order,
        and of samples of parts what it gives of the whole: `OnePass.of` takes them for all rows.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from kernelcal.stream import sample_batches
    >>> table = pa.table({"id": np.arange(10_000)})
    >>> parts = [batch for some in (table[:300], table[300:]) for batch in sample_batches(some, key="id")]
    >>> sample_batches(parts, key="id") == sample_batches(table, key="id")
    True
    """
    asked = with_key(ReadOptions(), key)
    if not asked.row_id:
        raise InputError("key= is missing: a sample that is the same for any order needs columns that tell rows apart")
    sample = _Looked.of(Batches.of(batches).start(), asked, []).sample
    return [] if sample is None else sample.combine_chunks().to_batches()


@dataclass(frozen=True, eq=False)
class _Looked:
    """Rows of the smallest identities, labels that are text, and the number of rows."""

    sample: Any
    labels: list[list[Any]]
    rows: int

    @classmethod
    def of(cls, tables: Iterable[Any], asked: ReadOptions, texts: list[str]) -> Self:
        keys, labels, rows = list(keys_of(asked)), [], 0

        def parts() -> Iterator[tuple[np.ndarray, Any]]:
            nonlocal rows
            for number, table in enumerate(tables):
                for first in range(0, table.num_rows, _SLICE):
                    some, place = table.slice(first, _SLICE), Place(f"batch {number}", first, 0)
                    with place.naming():
                        own = (
                            identities(columns_of(some, keys, place.name)) if keys else _by_number(rows, some.num_rows)
                        )
                    rows += some.num_rows
                    for column in columns_of(some, texts, place.name).values():
                        if column.dtype.kind == "O":
                            labels.append(list(set(column.tolist())))
                    yield own, some

        _, sample = smallest(parts(), lambda table, places: table.take(places), joined_tables)
        return cls(sample, labels, rows)


def _by_number(first: int, rows: int) -> np.ndarray:
    """Numbers in an order that is none: rows that are spread over all."""
    return mixed(np.arange(first, first + rows, dtype=np.uint64))


def _refuse_wrong(table: Any, number: int, roles: Roles) -> None:
    """Refuse what is wrong with the rows of a batch, with the row."""
    place = Place(f"batch {number}", 0, 0)
    for columns in table_rows(table, roles.names, place.name):
        batch_of(columns, roles, place)
        place = place.after(len(next(iter(columns.values()))))


def _first_row(partition: int | None, roles: Roles) -> int:
    if partition is None or roles.keys:
        return 0
    if isinstance(partition, bool) or not isinstance(partition, int | np.integer) or not 0 <= partition < _PARTITIONS:
        raise InputError(f"partition must be a whole number from 0 to {_PARTITIONS - 1:,}, got {partition!r}")
    return int(partition) * _EACH
