"""Files larger than memory: time and memory of a pass over Parquet, speed of two Dask workers, and a worker killed.

    python benchmarks/stream.py                  # 1,000,000 rows
    python benchmarks/stream.py --large          # 10,000,000 rows of ten classes in one process, some minutes
    python benchmarks/stream.py --before SRC     # one process beside an earlier version, whose src folder is named

Files are written once to ``--folder`` and kept there.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from common import class_data, in_new_process, machine

from kernelcal import RandomFourier
from kernelcal.stream import evaluate_files

FEATURES, CLASSES, FILE = 100, 10, 1_000_000
SETTINGS = {"engine": RandomFourier(FEATURES), "sketch": {"second_moments": False}}
PASS = """
import sys, time; sys.path[:0] = {folders!r}
from stream import SETTINGS, evaluate_files
result = evaluate_files({data!r}, **SETTINGS)
print(result.n, result.pvalue, float(result.estimate), result.seconds, time.process_time())
"""


def written(folder: Path, rows: int, group: int) -> Path:
    """Folder with files of ten classes, a million rows each."""
    data = folder / f"{rows}_{group}"
    data.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, rows, FILE)):
        path = data / f"part{number:04}.parquet"
        if path.exists():
            continue
        y, p = class_data(min(FILE, rows - start), CLASSES, concentration=1.0, seed=number)
        columns = {"y": y, **{f"p{k}": p[:, k] for k in range(CLASSES)}}
        pyarrow.parquet.write_table(pyarrow.table(columns), path.with_suffix(".part"), row_group_size=group)
        path.with_suffix(".part").replace(path)
    return data


def one_process(data: Path, before: str | None = None) -> float:
    """Time and memory of one process; returns the seconds of the processor."""
    folders = [*([] if before is None else [before]), str(Path(__file__).parent.resolve())]
    text, _, peak = in_new_process(PASS.format(folders=folders, data=str(data)))
    rows, pvalue, value, clock, processor = map(float, text.split())
    size = sum(path.stat().st_size for path in data.iterdir())
    print(
        f"{rows:,.0f} rows, {CLASSES} classes, {size / 1e6:,.0f} MB of Parquet, {FEATURES} features, 199 draws: "
        f"{clock:.0f} s, of the processor {processor:.1f} s; {peak:.0f} MB; SKCE {value:.4e}, p {pvalue:.3f}",
        flush=True,
    )
    return processor


def on_dask(data: Path, workers: int, kill_after: float | None = None) -> tuple[float, float, tuple[float, float], int]:
    """Seconds on the clock, of the processor along the longest way, p-value and estimate, and workers killed.

    The longest way is this process and the worker that was busiest: what the clock would show if nothing else ran.
    One worker is killed once a share of the rows is done.
    """
    from kernelcal.stream.on_dask import workers_here

    killed: list[int] = []
    with workers_here(workers) as client:

        def progress(done: int, total: int) -> None:
            if kill_after is not None and not killed and done >= kill_after * total:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        began, own = client.run(time.process_time), time.process_time()
        started = time.perf_counter()
        result = evaluate_files(data, **SETTINGS, client=client, progress=progress)
        seconds, own = time.perf_counter() - started, time.process_time() - own
        ended = client.run(time.process_time)
    busiest = max(after - began.get(worker, 0.0) for worker, after in ended.items())
    return seconds, own + busiest, (result.pvalue, float(result.estimate)), len(killed)


def speed_up(data: Path, repeats: int) -> None:
    """One worker and two, in turns."""
    found, ratios = set(), []
    for _ in range(repeats):
        pair = []
        for workers in (1, 2):
            clock, processor, numbers, _ = on_dask(data, workers)
            pair.append((clock, processor))
            found.add(numbers)
            print(f"{workers} workers: {clock:.1f} s; longest way {processor:.1f} s of the processor", flush=True)
        ratios.append([one / two for one, two in zip(*pair, strict=True)])
    clock, processor = np.array(ratios).T
    print(f"two workers, times as fast: by the clock {np.round(clock, 2)}, of the processor {np.round(processor, 2)}")
    (numbers,) = found
    seconds, _, after, killed = on_dask(data, 2, kill_after=0.3)
    print(f"two workers, {killed} killed after 30 % of the rows: {seconds:.1f} s; same result: {after == numbers}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--before", help="src folder of an earlier version")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "kernelcal_stream")
    options = parser.parse_args()
    rows = options.rows or (10_000_000 if options.large else 1_000_000)
    print(machine(), f"load {os.getloadavg()[0]:.1f}")
    data = written(options.folder, rows, 100_000)
    if options.before:
        times = [(one_process(data, options.before), one_process(data)) for _ in range(options.repeats)]
        print(f"times as fast, of the processor: {', '.join(f'{old / new:.2f}' for old, new in times)}")
        return
    one_process(data)
    if not options.large:
        speed_up(data, options.repeats)


if __name__ == "__main__":
    main()
