"""Add up all parts on the workers of Dask: parts are mapped, and their sums added in a tree.

Every sum can be made again from its part, so a worker that dies loses time and nothing else. The tree is fixed by the
order of the parts: neither the number of workers nor the order in which they finish changes the result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.pairs import one_thread
from kernelcal.sketch import Sketch
from kernelcal.stream.batches import Roles, SketchedRows, sum_rows
from kernelcal.stream.survey import Compute, Survey

__all__ = ["add_up_here", "add_up_on", "cluster", "compute_on", "current_client", "dask_module"]


def add_up_here(survey: Survey, empty: Sketch, lens: Any, progress: Callable[[int, int], None] | None) -> SketchedRows:
    """Read every part once; no more than a batch is held."""
    sums, done, total = SketchedRows(empty.empty()), 0, survey.rows
    for part in survey.parts:
        for rows in sum_rows(sums, part.batches(survey.roles), part.place, survey.roles, lens):
            done += rows
            if progress is not None:
                progress(done, total)
    return sums


_LEAF = 100_000  # rows of a task, at least, if parts are small
_FAN = 8  # sketches that are added at a time
# Dask tells workers to give every freed array back to the system at once: arrays of a batch are then made anew from
# empty pages each time, which takes half as long again as the work itself. A worker a processor needs one thread
_KEEP = {
    **{"MALLOC_TRIM_THRESHOLD_": 2**28, "MALLOC_MMAP_THRESHOLD_": 2**25},
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), 1),
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


def compute_on(client: Any) -> Compute:
    """Return what calls functions where the parts are: on the cluster, else by the threads of Dask."""
    dask = dask_module()
    own = {} if client is None else {"scheduler": client.get}

    def compute(calls: list[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
        delayed = [dask.delayed(function, pure=False)(*map(_whole, arguments)) for function, arguments in calls]
        return list(dask.compute(*delayed, **own))

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
    for part, count in enumerate(counts):
        group.append(part)
        rows += count
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

    end, *futures = client.compute([root, *leaves])
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
        client.cancel([end])
        _say_more(error)
        raise


def _say_more(error: BaseException) -> None:
    if type(error).__name__ == "KilledWorker":
        raise InputError(
            f"workers that were given one part died again and again, perhaps for lack of memory ({error}): give them "
            "more memory, fewer draws, or smaller row groups"
        ) from None


@contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Connect to the scheduler at an address; without one, start workers on this machine, one a processor."""
    dask = dask_module()
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingExtraError("distributed", "dask", "working on a cluster") from None
    if address:
        with _connected(Client, address) as client:
            yield client
        return
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": _KEEP}),
        LocalCluster(threads_per_worker=1, dashboard_address=":0", silence_logs=50) as workers,
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
