"""Rows on Dask: a part is a partition of a data frame, and workers add up parts, of frames and of files, in a tree.

Every sum can be made again from its part, so a worker that dies loses time and nothing else. Sums are exact: neither
the number of workers nor the order in which they finish changes the result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate
from typing import Any, Self

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.io import Arrays, ReadOptions, arrow_arrays
from kernelcal.io.columns import count
from kernelcal.pairs import one_thread
from kernelcal.sketch import Sketch
from kernelcal.stream.adding import SketchedRows, sum_rows
from kernelcal.stream.batches import Labels, Place, Roles, label_columns, roles_of
from kernelcal.stream.formats import HEAD, Columns, rows_of_batch
from kernelcal.stream.survey import Compute, Survey

__all__ = [
    "ChunkFrame",
    "add_up_on",
    "cluster",
    "current_client",
    "getting_ready",
    "survey_frame",
    "threads_of",
    "workers_here",
]


@dataclass(frozen=True, eq=False)
class FramePart:
    """One partition, where its rows stand, and how many there were."""

    partition: Any
    place: Place
    counted: int

    def batches(self, roles: Roles) -> Iterator[Columns]:
        """Columns of its rows, some at a time."""
        found = _rows(self.partition)
        if found != self.counted:
            raise InputError(
                f"{self.place.name}: {count(self.counted)} when the data frame was counted, {found:,} now: what makes "
                "its partitions gives others each time, such as random numbers without a seed or files that change: "
                "frame = frame.persist() keeps them"
            )
        columns = roles.names
        step = rows_of_batch(len(columns))
        for start in range(0, _rows(self.partition), step):
            yield _arrays(self.partition, columns, slice(start, start + step), self.place.name)


def survey_frame(frame: Any, options: ReadOptions, client: Any) -> Survey:
    """Recognise columns, count the rows of every partition and learn labels."""
    compute = compute_on(client)
    _refuse_numbers([*frame.columns])
    head = Arrays("data frame", _first_head(frame.to_delayed(), compute))
    texts = label_columns(head, options)
    counted = frame[texts or [*frame.columns][:1]].to_delayed()
    found = compute([(_counted, (partition, texts)) for partition in counted])
    counts = [rows for rows, _ in found]
    if not sum(counts):
        raise InputError("the data frame has no rows: are its partitions empty?")
    known = [learned for _, learned in found if learned is not None]
    roles = roles_of(head, Labels.of(known, texts[0]) if known else None, options)
    parts = list(_parts(_needed(frame, roles), counts))
    return Survey(f"a data frame of {count(len(parts), 'partition')}", parts, counts, roles, compute=compute)


def _parts(partitions: Sequence[Any], counts: Sequence[int]) -> Iterator[Any]:
    """Partitions with the number of their first row, once they are computed."""
    make, wrap = (dask_module().delayed(what, pure=False) for what in (FramePart, Place))
    for k, (partition, first) in enumerate(zip(partitions, accumulate(counts, initial=0), strict=False)):
        yield make(partition, wrap(f"partition {k}", 0, first), counts[k])


def _refuse_numbers(names: Sequence[Any]) -> None:
    other = next((name for name in names if not isinstance(name, str)), None)
    if other is not None:
        raise InputError(f"the data frame has a column {other!r}, whose name is no text: frame.rename(columns=str)")


def _needed(frame: Any, roles: Roles) -> Any:
    return frame[roles.names].to_delayed()


def _first_head(partitions: Sequence[Any], compute: Any) -> Columns:
    """First rows of the first partition that has any."""
    first: Columns = {}
    for partition in partitions:
        (head,) = compute([(_head, (partition,))])
        first = first or head
        if len(next(iter(head.values()), ())):
            return dict(head)
    return first


def _head(partition: Any) -> Columns:
    return _arrays(partition, list(partition), slice(HEAD), "data frame")


def _counted(partition: Any, texts: Sequence[str]) -> tuple[int, list[Any] | None]:
    """Rows, and the different labels where they are no numbers."""
    columns = _arrays(partition, list(texts), slice(None), "data frame") if texts else {}
    labels = [set(column.tolist()) for column in columns.values() if column.dtype.kind == "O"]
    return _rows(partition), list(set.union(*labels)) if labels else None


def _rows(partition: Any) -> int:
    return len(next(iter(partition.values()))) if isinstance(partition, dict) else len(partition)


def _arrays(partition: Any, names: list[str], rows: slice, where: str) -> Columns:
    """Columns of some rows: of arrays as they are, of a pandas frame with missing values of any kind as None or NaN."""
    if isinstance(partition, dict):
        return {name: partition[name][rows] for name in names}
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "frame", "reading a data frame in parts") from None
    return arrow_arrays(where, pyarrow.Table.from_pandas(partition[names].iloc[rows], preserve_index=False))


class ChunkFrame:
    """Columns y and p (one probability) or p0, p1, ... of two arrays whose rows belong together."""

    def __init__(self, y: Any, predictions: Any) -> None:
        if y.ndim != 1 or predictions.ndim not in (1, 2):
            raise InputError(
                f"targets of shape (n,) and predictions of shape (n,) or (n, classes) are expected, got "
                f"{y.ndim} and {predictions.ndim} axes: pass arrays of one row a sample"
            )
        self._y, self._predictions = y, _aligned(y, predictions)
        wide = predictions.ndim == 2
        self.columns = ["y", *([f"p{k}" for k in range(predictions.shape[1])] if wide else ["p"])]

    def __getitem__(self, names: Sequence[str]) -> Self:
        other = object.__new__(type(self))
        other._y, other._predictions, other.columns = self._y, self._predictions, list(names)
        return other

    @property
    def npartitions(self) -> int:
        """Chunks."""
        return len(self._y.chunks[0])

    def to_delayed(self) -> list[Any]:
        """Partitions with the columns that were asked for."""
        make = dask_module().delayed(_partition, pure=False)
        pairs = zip(self._y.to_delayed().ravel(), self._predictions.to_delayed().ravel(), strict=True)
        return [make(y, p, self.columns) for y, p in pairs]


def _aligned(y: Any, predictions: Any) -> Any:
    """Predictions in the chunks of the targets, rows whole."""
    rows, others = y.chunks[0], predictions.chunks[0]
    unknown = np.isnan([*rows, *others]).any()
    if unknown and len(rows) != len(others):
        raise InputError(
            f"targets come in {len(rows)} chunks of unknown length, predictions in {len(others)}: say "
            "compute_chunk_sizes() of both"
        )
    if not unknown and sum(rows) != sum(others):
        raise InputError(
            f"{sum(rows):,} targets, but predictions of {sum(others):,} rows: one row a target is expected"
        )
    whole = {1: -1} if predictions.ndim == 2 else {}
    return predictions.rechunk(whole if unknown else {0: rows, **whole})


def _partition(y: Any, predictions: Any, names: list[str]) -> Columns:
    columns = np.asarray(predictions)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if len(y) != len(columns):
        raise InputError(
            f"a chunk of {len(y):,} targets goes with {len(columns):,} predictions: give both equal chunks"
        )
    numbers = {f"p{k}" if predictions.ndim == 2 else "p": column for k, column in enumerate(columns.T)}
    every = {"y": np.asarray(y), **numbers}
    return {name: every[name] for name in names}


_LEAF = 100_000  # rows of a task, at least, if parts are small
_FAN = 8  # sketches that are added at a time
# Dask tells workers to give every freed array back to the system at once: arrays of a batch are then made anew from
# empty pages each time, which takes half as long again as the work itself. A worker a processor needs one thread
_KEEP = {
    **{"MALLOC_TRIM_THRESHOLD_": 2**28, "MALLOC_MMAP_THRESHOLD_": 2**25},
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), 1),
}
# Beside its task a process of Dask looks at its stack a hundred times a second, fifty times at the clock, ten times at
# its memory: a twentieth of a processor in each process, and the thread that adds up is stopped every time
_QUIET = {
    "distributed.nanny.pre-spawn-environ": _KEEP,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "2s",
}


@dataclass(frozen=True, eq=False)
class _Common:
    """What all tasks share."""

    roles: Roles
    empty: Sketch
    lens: Any


def dask_module() -> Any:
    """Return Dask, or say which extra brings it."""
    try:
        import dask
        import dask.delayed
    except ImportError:
        raise MissingExtraError("dask", "dask", "working on a cluster") from None
    return dask


def current_client() -> Any:
    """Return the client of a cluster that the program has connected to, None without one."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.get_client()
    except ValueError:
        return None


@contextmanager
def getting_ready(client: Any) -> Iterator[None]:
    """Let every worker import what it will need while this process looks at rows: neither then waits for the other."""
    futures: list[Any] = []
    with suppress(Exception):  # of a client that is closed or has no workers: told when these are asked for sums
        if client is not None:
            futures += [client.submit(_imported, workers=[worker], pure=False) for worker in client.nthreads()]
    try:
        yield
    finally:
        for future in futures:
            future.release()


def _imported() -> None:
    """Import what adding up files takes, beside what this module has imported."""
    for name in ("pyarrow.parquet", "scipy.sparse", "scipy.special"):
        with suppress(ImportError):
            import_module(name)


def threads_of(client: Any) -> int:
    """Return how many tasks the workers take at once."""
    try:
        return max(1, sum(client.nthreads().values()))
    except BaseException as error:
        _say_more(error, client)
        raise


def compute_on(client: Any) -> Compute:
    """Return what calls functions where the parts are: on the cluster, else by the threads of Dask."""
    dask = dask_module()
    own = {} if client is None else {"scheduler": client.get}

    def compute(calls: list[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
        delayed = [dask.delayed(function, pure=False)(*map(_whole, arguments)) for function, arguments in calls]
        try:
            return list(dask.compute(*delayed, **own))
        except BaseException as error:
            _say_more(error, client)
            raise

    return compute


def _whole(argument: Any) -> Any:
    """An argument as it is: Dask is not to look for tasks inside, but for a task itself."""
    dask = dask_module()
    return argument if dask.is_dask_collection(argument) else dask.delayed(argument, pure=False, traverse=False)


def add_up_on(
    client: Any, survey: Survey, empty: Sketch, lens: Any, progress: Callable[[int, int], None] | None
) -> SketchedRows:
    """Map and add up, on a cluster or, without a client, with the threads of Dask."""
    dask = dask_module()
    common = dask.delayed(_Common(survey.roles, empty, lens), pure=False, traverse=False)
    groups = list(_groups(survey.counts))
    sum_up, add = dask.delayed(_sum_of, pure=False), dask.delayed(_added, pure=False)
    leaves = [sum_up([_whole(survey.parts[k]) for k in group], common) for group in groups]
    root = _tree(leaves, add)
    if client is None:
        (sums,) = dask.compute(root)
        return sums
    rows = [sum(survey.counts[k] for k in group) for group in groups]
    return _watched(client, root, leaves, rows, progress)


def _groups(counts: Sequence[int]) -> Iterator[list[int]]:
    """Neighbouring parts, as many as make a task worth its while."""
    group: list[int] = []
    rows = 0
    for part, more in enumerate(counts):
        group.append(part)
        rows += more
        if rows >= _LEAF or part == len(counts) - 1:
            yield group
            group, rows = [], 0


def _tree(nodes: list[Any], add: Callable[[list[Any]], Any]) -> Any:
    nodes = [add(nodes[k : k + _FAN]) for k in range(0, len(nodes), _FAN)]
    return nodes[0] if len(nodes) == 1 else _tree(nodes, add)


def _sum_of(parts: list[Any], common: _Common) -> SketchedRows:
    sums = SketchedRows(common.empty.empty())
    with one_thread():  # Dask fills the processors with tasks
        for part in parts:
            for _ in sum_rows(sums, part.batches(common.roles), part.place, common.roles, common.lens):
                pass
    return sums


def _added(parts: list[SketchedRows]) -> SketchedRows:
    """Sum of sums, which stay as they are: they may be asked for again."""
    total = SketchedRows(parts[0].sketch.empty())
    for part in parts:
        total.merge(part)
    return total


def _watched(
    client: Any, root: Any, leaves: list[Any], rows: list[int], progress: Callable[[int, int], None] | None
) -> SketchedRows:
    """Wait, report rows, and let go of every sum that has been added; stop the others where one has failed."""
    from distributed import as_completed

    try:
        end, *futures = client.compute([root, *leaves])
    except BaseException as error:
        _say_more(error, client)
        raise
    place, done = {future.key: n for future, n in zip(futures, rows, strict=True)}, 0
    try:
        waiting = as_completed(futures)
        del futures
        for future in waiting:
            if future.status == "error":
                break
            done += place[future.key]
            if progress is not None:
                progress(done, sum(rows))
            future.release()
        return end.result()
    except BaseException as error:
        with suppress(Exception):  # of a client that is gone: what happened first is told
            client.cancel([end])
        _say_more(error, client)
        raise


def _say_more(error: BaseException, client: Any) -> None:
    """Tell the cause of what a cluster alone could not."""
    if isinstance(error, InputError) or not isinstance(error, Exception):
        return
    if getattr(client, "status", "running") in ("closed", "closing"):
        raise InputError(
            "the client of Dask is closed, so that its workers cannot be asked: connect another, "
            f"distributed.Client(...), and give it as client= ({type(error).__name__})"
        ) from error
    if type(error).__name__ == "KilledWorker":
        raise InputError(
            f"workers that were given one part died again and again, perhaps for lack of memory ({error}): give them "
            "more memory, fewer draws, or smaller partitions or smaller row groups, and see whether what makes the "
            "part ends the process"
        ) from None


@contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Connect to the scheduler at an address; without one, start workers on this machine, one a processor."""
    dask_module()
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("distributed", "dask", "working on a cluster") from None
    with _connected(Client, address) if address else workers_here() as client:
        yield client


@contextmanager
def workers_here(number: int | None = None) -> Iterator[Any]:
    """Start workers on this machine, one a processor or as many as asked for, that do little but add up."""
    from distributed import Client, LocalCluster

    with (
        dask_module().config.set(_QUIET),
        LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as workers,
        Client(workers) as client,
    ):
        yield client


def _connected(client: Any, address: str) -> Any:
    try:
        return client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise InputError(
            f"--dask {address}: no Dask scheduler answers ({type(error).__name__}): give its address, such as "
            "tcp://10.0.0.1:8786, or no address for workers on this machine"
        ) from None
