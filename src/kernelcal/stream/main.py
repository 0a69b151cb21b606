"""Evaluate files and data frames that are larger than memory, in one pass."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS_OF_A_PASS, SIGNIFICANCE
from kernelcal.dependence import suspicions
from kernelcal.errors import InputError
from kernelcal.evaluation import Plan, Step
from kernelcal.files import size_in_words
from kernelcal.io import ReadOptions, explained, how_found
from kernelcal.io.columns import count
from kernelcal.lenses import Lens
from kernelcal.pairs import RandomFourier, thread_count, threaded_stream
from kernelcal.predictions import is_in_chunks, is_in_parts
from kernelcal.runs import Progress, Run
from kernelcal.sketch import GroupedSketch, Sketch, SketchResult, empty_like
from kernelcal.stream.adding import SketchedRows, placed_batches, sum_rows
from kernelcal.stream.batches import Place
from kernelcal.stream.formats import BATCH_BYTES, Columns
from kernelcal.stream.on_dask import ChunkFrame, add_up_on, current_client, getting_ready, survey_frame, threads_of
from kernelcal.stream.options import Asked
from kernelcal.stream.survey import Survey, pilot_of, seconds_and_bytes, survey_files

__all__ = [
    "Pass",
    "StreamResult",
    "evaluate_files",
    "evaluate_frame",
    "explain_files",
    "prepared",
]


@dataclass(frozen=True, repr=False, kw_only=True)
class StreamResult(SketchResult):
    """What `evaluate_files` and `evaluate_frame` found.

    Attributes
    ----------
    read : str
        What was read: files, rows, columns, classes, and what was dropped.
    plan : Plan
        What was planned.
    sketch : Sketch
        The sums themselves, to be saved, or added to those of other days.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.sketch import SketchResult
    >>> issubclass(kc.stream.StreamResult, SketchResult)
    True
    """

    read: str
    plan: Plan
    sketch: Sketch = field(repr=False, compare=False)

    @classmethod
    def of(
        cls, sums: SketchedRows, run: Run, *, read: str, plan: Plan, more: Sequence[str] = (), seconds: float
    ) -> Self:
        """Make the result of all sums, with what was read and planned, and notes besides."""
        found = sums.sketch.result(run.confidence_level, run.alpha)
        own = {f.name: getattr(found, f.name) for f in fields(found)}
        dropped = [
            f"{count(number)} {what}"
            for number, what in ((sums.missing, "with missing values"), (sums.unwanted, "with the target to drop"))
            if number
        ]
        end = f"; dropped {', '.join(dropped)}" if dropped else ""
        notes = (*found.notes, *([f"dropped {', '.join(dropped)}"] if dropped else []), *more)
        shown = {**own, "notes": notes, "seconds": seconds}
        return cls(**shown, read=read + end, plan=plan, sketch=sums.sketch)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that are not finite become None."""
        return {"read": self.read, "plan": self.plan.to_dict(), **super().to_dict()}


_LIBRARIES = 1e8  # bytes of Python and the libraries
_BYTES = _LIBRARIES + 2e8  # and of what is at work for a batch
LEAST = _BYTES - _LIBRARIES + 3 * BATCH_BYTES  # bytes of any pass, beside the libraries
_EQUAL = re.compile(r", [\d,]+ rows? with equal neighbouring quantiles")


def evaluate_files(
    paths: Any,
    *,
    key: Any = None,
    lens: Lens | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS_OF_A_PASS,
    rng: int = 0,
    engine: RandomFourier | None = None,
    sketch: Mapping[str, Any] | None = None,
    client: Any = None,
    progress: Callable[[int, int], None] | None = None,
    memory: int | None = None,
    pool_groups: int | None = None,
    **columns: Any,
) -> StreamResult:
    """Is the model calibrated that made the predictions in these files? In one pass, in a memory that does not grow.

    Parameters
    ----------
    paths : str, path, or sequence of these
        Parquet, csv, tsv and txt files, folders of them, or globs such as ``"data/*.parquet"``; all are parts of one
        table. Its rows are numbered in the order of the names of the files, however they are given.
    key : str or list of str, optional
        Columns that tell rows apart, in place of numbers: then the p-value and every figure are the same for any order
        of the rows, and the same as of `evaluate_batches` on any engine. Files are read twice.
    lens : Lens, optional
        A simpler question, such as `TopLabel`.
    confidence_level : float
        Nominal coverage of the interval.
    alpha : float
        Level at which the verdict rejects.
    draws, rng : int
        Sets of redrawn targets of the exact test, and their seed.
    engine : RandomFourier, optional
        Number of features and the seed of their frequencies; 256 by default.
    sketch : mapping, optional
        Further options of `kernelcal.sketch.Sketch.like`: ``prediction_kernel``, ``second_moments``, ...
    client : distributed.Client, optional
        Cluster of Dask that does the work; it must see the files under the same names. Default: this process.
    progress : callable, optional
        Called with the rows done and the rows of all.
    memory : int, optional
        Bytes that the pass may take beside what Python and the libraries do, or it is refused before the work.
    pool_groups : int, optional
        Of the columns of ``groups`` keep so many values, the most frequent of the rows that are looked at first, and
        pool all others. Default: every value is a group, and more than 50 are refused.
    **columns
        What the files hold, as on the command line: ``target``, ``predictions``, ``groups``, ``kind``, ``classes``,
        ``mean``, ``std``, ``quantiles``, ``drop_missing``, ... Names are text ``"a,b"``, a glob ``"p*"``, or a list.

    Returns
    -------
    StreamResult
        Prints as a short table; ``result.sketch`` holds the sums.

    Raises
    ------
    InputError
        With the file, the row in it and the remedy; for a damaged file with the row group.
    MissingExtraError
        Without the extra ``frame``.

    Notes
    -----
    The result is that of a `Sketch` of all rows in their order, to the last digit, for any
    partition of the rows into files and row groups, in one process or on a cluster. A row that is dropped keeps its
    number. Lengthscales are chosen from the predictions of 2,048 rows that are spread over all; with a key, of those
    with the smallest identities.

    Examples
    --------
    >>> import tempfile, numpy as np, kernelcal as kc
    >>> from kernelcal.stream import evaluate_files
    >>> folder = tempfile.TemporaryDirectory()
    >>> p = np.random.default_rng(0).uniform(size=1000)
    >>> y = kc.Bernoulli(p).sample(rng=1)[0]
    >>> for part, rows in enumerate(np.split(np.arange(1000), [700])):
    ...     table = np.column_stack([p[rows], y[rows]])
    ...     np.savetxt(f"{folder.name}/part{part}.csv", table, delimiter=",", header="p,y", comments="")
    >>> result = evaluate_files(folder.name)
    >>> result.n, result.verdict
    (1000, 'No evidence against calibration (p = ..., exact test).')
    >>> folder.cleanup()
    """
    run = Run(confidence_level=confidence_level, alpha=alpha, draws=draws, rng=rng, progress=progress, engine=engine)
    asked = Asked.of(run, columns, key=key, lens=lens, sketch=sketch, pool_groups=pool_groups)
    given = [paths] if isinstance(paths, str) or hasattr(paths, "__fspath__") else list(paths)
    with getting_ready(client):
        survey = survey_files(given, asked.columns)
        begun = prepared(
            survey,
            lambda _: lens,
            why=f"{size_in_words(survey.bytes)} in {count(survey.files, 'file')}",
            run=run,
            options=asked.sketch,
            dask=client is not None,
            client=client,
        )
    keep_within(begun, memory)
    return begun.result(run.progress)


def evaluate_frame(
    frame: Any,
    *,
    key: Any = None,
    lens: Lens | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS_OF_A_PASS,
    rng: int = 0,
    engine: RandomFourier | None = None,
    sketch: Mapping[str, Any] | None = None,
    client: Any = None,
    progress: Callable[[int, int], None] | None = None,
    pool_groups: int | None = None,
    **columns: Any,
) -> StreamResult:
    """Is the model calibrated whose predictions and targets are columns of a Dask data frame?

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Or another frame with ``npartitions`` and ``to_delayed`` whose partitions are pandas frames; or two Dask arrays
        ``(y, probabilities)``. Rows are numbered in the order of the partitions.
    key, lens, confidence_level, alpha, draws, rng, engine, sketch, progress, pool_groups
        As for `evaluate_files`; without a cluster there is no progress.
    client : distributed.Client, optional
        Default: the client that the program has, else the threads of Dask.
    **columns
        What the columns hold, as for `evaluate_files`.

    Returns
    -------
    StreamResult
        The same as of files with these rows.

    Raises
    ------
    InputError
        With the partition, the row in it and the remedy.
    MissingExtraError
        Without the extras ``dask`` and ``frame``.

    Notes
    -----
    A partition is computed once to count it (only its column of labels, or the first) and once to add it up, and some
    for a first look. ``frame.persist()`` helps where that is dear.

    Examples
    --------
    >>> import numpy as np, pandas as pd, dask.dataframe as dd, kernelcal as kc
    >>> from kernelcal.stream import evaluate_frame
    >>> p = np.random.default_rng(0).uniform(size=1000)
    >>> table = pd.DataFrame({"p": p, "y": kc.Bernoulli(p).sample(rng=1)[0]})
    >>> result = evaluate_frame(dd.from_pandas(table, npartitions=3), target="y", predictions="p")
    >>> result.n, result.verdict
    (1000, 'No evidence against calibration (p = ..., exact test).')
    """
    run = Run(confidence_level=confidence_level, alpha=alpha, draws=draws, rng=rng, progress=progress, engine=engine)
    of_arrays = isinstance(frame, tuple) and len(frame) == 2 and all(map(is_in_chunks, frame))
    if of_arrays:  # what is said beside them is an array too, and refused by its name
        columns = {name: name if getattr(x, "shape", ()) else x for name, x in columns.items()}
    asked = Asked.of(run, columns, key=key, lens=lens, sketch=sketch, pool_groups=pool_groups)
    if of_arrays:
        frame = ChunkFrame(*frame)
    if not is_in_parts(frame):
        raise InputError(
            f"a data frame in partitions is expected, such as dask.dataframe.from_pandas(frame, npartitions=8), got "
            f"{type(frame).__name__}: use kernelcal.evaluate(y, predictions) for arrays, evaluate_batches for batches"
        )
    client = current_client() if client is None else client
    survey = survey_frame(frame, asked.columns, client)
    begun = prepared(
        survey,
        lambda _: lens,
        why=survey.name,
        run=run,
        options=asked.sketch,
        dask=True,
        client=client,
    )
    return begun.result(run.progress)


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass over parts, ready to begin.

    Attributes
    ----------
    survey : Survey
        What is to be read.
    empty : Sketch
        Lengthscales and settings, no rows.
    lens : Lens or None
        What is asked.
    read : str
        The sentence that says what is read.
    plan : Plan
        What will be done.
    run : Run
        How it is to be done.
    dask, client
        Whether Dask does it, and on which cluster.
    suspicions : tuple of str
        Whether rows look as if they depended on each other, by the rows that were looked at.
    """

    survey: Survey
    empty: Sketch
    lens: Lens | None
    read: str
    plan: Plan
    run: Run
    dask: bool
    client: Any
    suspicions: tuple[str, ...] = ()

    def result(self, progress: Progress | None = None) -> StreamResult:
        """Add up all parts."""
        started, asked = time.perf_counter(), (self.survey, self.empty, self.lens, progress)
        sums = add_up_on(self.client, *asked) if self.dask else _add_up_here(*asked)
        told: dict[str, Any] = {"read": self.read, "plan": self.plan, "more": self.suspicions}
        return StreamResult.of(sums, self.run, **told, seconds=time.perf_counter() - started)


def _add_up_here(survey: Survey, empty: Sketch, lens: Any, progress: Progress | None) -> SketchedRows:
    """Read every part once; no more than a batch a thread is held, and one."""
    sums, done, total = SketchedRows(empty.empty()), 0, survey.rows
    batches = (placed for part in survey.parts for placed in placed_batches(part.batches(survey.roles), part.place))

    def added_up(placed: tuple[Columns, Place]) -> tuple[SketchedRows, int]:
        columns, place = placed
        found = SketchedRows(empty.empty())
        return found, sum(sum_rows(found, [columns], place, survey.roles, lens))

    for found, rows in threaded_stream(added_up, batches, None):
        sums.merge(found)
        done += rows
        if progress is not None:
            progress(done, total)
    return sums


def prepared(
    survey: Survey,
    make_lens: Callable[[Any], Lens | None],
    *,
    why: str,
    run: Run,
    options: Mapping[str, Any],
    dask: bool = False,
    client: Any = None,
    like: Sketch | None = None,
) -> Pass:
    """Look at some rows and decide what will be done; `make_lens` is given the predictions of some rows.

    With a sketch `like` this its settings and groups are taken, so that the sums can be added to its own.
    """
    pilot, description = pilot_of(survey)
    lens = make_lens(pilot.predictions)
    pilot = pilot.through(lens)
    empty = empty_like(pilot, options, like)
    plan = _plan(survey, pilot, empty, why, client if dask else None)
    seen = () if survey.roles.keys else suspicions(pilot.predictions, pilot.targets)  # keys shuffle what was looked at
    return Pass(survey, empty, lens, _read(survey, description), plan, run, dask, client, seen)


def keep_within(begun: Pass, memory: int | None) -> None:
    """Refuse a limit of memory that the pass does not keep: nothing takes less; and groups that it has no room for."""
    planned, taken = begun.plan, begun.plan.bytes - _LIBRARIES
    if memory is not None and taken > memory:
        raise InputError(
            f"one pass over {planned.n:,} rows takes about {size_in_words(taken)} beside the libraries, more than "
            f"--memory {size_in_words(memory)}: the least that works is {least_in_words(taken)}; fewer --draws or "
            f"--features (of groups, --pool-groups) take less, down to {size_in_words(LEAST)}"
        )
    if memory is not None and isinstance(begun.empty, GroupedSketch):
        begun.empty.within_bytes((memory - taken) / (thread_count(None) + 3))


def least_in_words(size: float) -> str:
    """Return the option that allows so many bytes, as it is typed."""
    return f"--memory {math.ceil(size / 1e6)}MB"


def explain_files(paths: Any, options: ReadOptions, command: Sequence[str]) -> str:
    """Which columns of files that are read in parts are taken for what and why, and the command that states it."""
    survey = survey_files(paths, options)
    _, description = pilot_of(survey)
    return explained(_read(survey, description), survey.roles.choices, command)


def _plan(survey: Survey, pilot: Case, empty: Sketch, why: str, client: Any) -> Plan:
    seconds, size = seconds_and_bytes(pilot, empty, survey.rows)
    workers = thread_count(None) if client is None else threads_of(client)
    where = "" if client is None else f", Dask on {count(workers, 'thread')}"
    groups = f", {empty.held_in_words}" if isinstance(empty, GroupedSketch) else ""
    engine = f"{empty.engine.describe(pilot.predictions)}{groups}{where}"
    here = thread_count(None) + 1  # batches at work or read, and the sums of each beside those of all
    step = Step("one pass", engine, _BYTES + here * (BATCH_BYTES + size) + 2 * size, seconds * survey.rows / workers)
    return Plan(survey.rows, pilot.predictions.columns, type(pilot.predictions).__name__, empty.draws, (step,), why)


def _read(survey: Survey, description: str) -> str:
    """Return the sentence that says what was read, with all rows in the place of the first ones."""
    _, _, columns = description.partition("; ")
    found = how_found(survey.roles.choices)
    keys = f"; key {', '.join(survey.roles.keys)}" if survey.roles.keys else ""
    return f"read {survey.name}: {count(survey.rows)}{keys}; {_EQUAL.sub('', columns)}{survey.aside}{found}"
