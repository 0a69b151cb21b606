"""One pass through each engine: processor time of a further row in all processes, and the tree of 10,000 parts.

python benchmarks/engines.py                     # every engine that is there
python benchmarks/engines.py duckdb polars       # some
python benchmarks/engines.py tree                # 10,000 parts added up in one process and in a tree
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow
import pyarrow.parquet
from common import machine

import kernelcal as kc
from kernelcal.stream import OnePass, evaluate_batches, evaluate_files, sample_batches

SIZES = 100_000, 300_000
COLUMNS = {"key": "id", "target": "won", "predictions": "p"}
Go = Callable[[Path], Any]
OPEN = ExitStack()  # what stays until the end


def table_of(rows: int) -> pyarrow.Table:
    """Calibrated events with keys in no order."""
    p = np.random.default_rng(0).uniform(size=rows)
    ids, won = np.random.default_rng(1).permutation(rows), kc.Bernoulli(p).sample(rng=1)[0].astype(int)
    return pyarrow.table({"id": ids, "p": p, "won": won})


def in_memory(path: Path, *, keyed: bool = True) -> Any:
    """A sketch by hand, of arrays."""
    columns = {name: column.to_numpy() for name, column in zip("ipw", pyarrow.parquet.read_table(path), strict=True)}
    sketch = kc.Sketch.like(columns["p"][:2048])
    for first in range(0, len(columns["p"]), 65_536):
        rows = slice(first, first + 65_536)
        known = {"keys": columns["i"][rows]} if keyed else {}
        sketch.update(columns["w"][rows], columns["p"][rows], **known)
    return sketch.result()


def duckdb() -> Go:
    import duckdb

    return lambda path: evaluate_batches(duckdb.sql(f"from '{path}'"), **COLUMNS)


def polars() -> Go:
    import polars

    return lambda path: evaluate_batches(polars.scan_parquet(path), **COLUMNS)


def dask() -> Go:
    from kernelcal.stream import cluster

    client = OPEN.enter_context(cluster(""))  # workers on this machine, one a processor
    return lambda path: evaluate_files(path, client=client, **COLUMNS)


def spark() -> Go:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    built = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name in ("spark.driver.bindAddress", "spark.driver.host"):
        built = built.config(name, "127.0.0.1")
    session = built.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def go(path: Path) -> Any:
        frame = session.read.parquet(str(path)).repartition(8)
        looked = frame.mapInArrow(lambda batches: sample_batches(batches, key="id"), frame.schema).toArrow()
        begun = OnePass.of(looked, **COLUMNS)

        def add_up(batches: Any) -> Any:
            yield pyarrow.RecordBatch.from_pydict({"sums": [begun.sums(batches)]})

        return begun.result(row.sums for row in frame.mapInArrow(add_up, "sums binary").toLocalIterator())

    return go


def ray() -> Go:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    blocks = {"batch_format": "pyarrow", "batch_size": None}

    def look(block: Any) -> Any:
        return pyarrow.Table.from_batches(sample_batches([block], key="id"), block.schema)

    def go(path: Path) -> Any:
        rows = ray.data.read_parquet(str(path), override_num_blocks=8)
        begun = OnePass.of(list(rows.map_batches(look, **blocks).iter_batches(batch_format="pyarrow")), **COLUMNS)
        sums = rows.map_batches(lambda block: {"sums": [begun.sums([block])]}, **blocks)
        return begun.result(row["sums"] for row in sums.iter_rows())

    return go


ENGINES: dict[str, Callable[[], Go]] = {
    "numbers": lambda: lambda path: in_memory(path, keyed=False),
    "memory": lambda: in_memory,
    "files": lambda: lambda path: evaluate_files(path, **COLUMNS),
    **{"duckdb": duckdb, "polars": polars, "dask": dask, "spark": spark, "ray": ray},
}


def spent() -> float:
    """Processor seconds of this process and of all that it began."""
    own, total = psutil.Process(), 0.0
    for process in [own, *own.children(recursive=True)]:
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


def one(name: str, folder: Path) -> None:
    """Time of a further row, by two sizes, after a first run that pays for what is made once."""
    go, found = ENGINES[name](), []
    for rows in (SIZES[0], *SIZES):
        before = spent()
        result = go(folder / f"{rows}.parquet")
        found.append(spent() - before)
    more = (found[2] - found[1]) / (SIZES[1] - SIZES[0])
    print(
        f"{name:8} {more * 1e6:6.1f} microseconds a row, {1 / more:9,.0f} rows a second, p {result.pvalue}", flush=True
    )


def tree() -> None:
    """Parts of 100 rows each, added up in one process and in two levels of a tree."""
    table, nodes, made, merging, sent = table_of(1_000_000), [], 0.0, 0.0, 0
    begun = OnePass.of(table, sketch={"second_moments": False}, **COLUMNS)
    for node in range(100):
        clock = time.process_time()
        parts = [
            begun.sums([table[first : first + 100]]) for first in range(node * 10_000, node * 10_000 + 10_000, 100)
        ]
        made, sent = made + time.process_time() - clock, sent + sum(map(len, parts))
        clock = time.process_time()
        nodes.append(begun.merged(parts))
        merging += time.process_time() - clock
    clock = time.process_time()
    result = begun.result(nodes)
    print(
        f"10,000 parts, {sent / 1e9:.1f} GB: made in {made:.0f} s, added up by 100 nodes in {merging:.0f} s, and their "
        f"{sum(map(len, nodes)) / 1e6:.0f} MB in {time.process_time() - clock:.2f} s; p {result.pvalue}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", metavar="ENGINE", help=f"of {', '.join([*ENGINES, 'tree'])}")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        with OPEN:
            one(given.engines[0], given.one)
        return
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        for rows in SIZES:
            pyarrow.parquet.write_table(table_of(rows), Path(folder, f"{rows}.parquet"), row_group_size=25_000)
        for name in given.engines or [*ENGINES, "tree"]:
            if name == "tree":
                tree()
            else:  # a process each: engines leave threads and settings behind
                subprocess.run(
                    [sys.executable, __file__, name, "--one", folder], stderr=subprocess.DEVNULL, check=False
                )


if __name__ == "__main__":
    main()
