"""The sketch: rows a second, the ratio of 4,000,000 rows to 1,000,000, and memory that does not grow with the rows.

    python benchmarks/sketch.py
    python benchmarks/sketch.py --large      # 10,000,000 rows of ten classes, some minutes

Rows come in batches of 100,000 and are made anew, so that no array of all rows is ever held.
"""

from __future__ import annotations

import argparse
import time

from common import class_data, in_new_process, machine

import kernelcal as kc
from kernelcal.sketch import Sketch

BATCH, FEATURES, DRAWS = 100_000, 100, 199

STREAM = """
import sys; sys.path.insert(0, {folder!r})
from sketch import stream
print(*stream({rows}, {classes}, {moments}))
"""


def stream(rows: int, classes: int, second_moments: bool) -> tuple[float, float]:
    """Seconds of the updates alone, on the clock and of the processor, which other work on the machine changes less."""
    sketch = Sketch(kc.Laplacian(0.3), engine=kc.RandomFourier(FEATURES), draws=DRAWS, second_moments=second_moments)
    clock = processor = 0.0
    for start in range(0, rows, BATCH):
        y, p = class_data(min(BATCH, rows - start), max(classes, 2), concentration=1.0, seed=start)
        batch = kc.Bernoulli(p[:, 1].copy()) if classes == 1 else kc.Categorical(p)
        begun = time.perf_counter(), time.process_time()
        sketch.update(y, batch)
        clock, processor = clock + time.perf_counter() - begun[0], processor + time.process_time() - begun[1]
    sketch.result()
    return clock, processor


def speed() -> None:
    """Rows a second."""
    for classes, moments, rows in ((1, True, 400_000), (1, False, 400_000), (10, False, 200_000), (10, True, 100_000)):
        clock, processor = stream(rows, classes, moments)
        name = "one probability" if classes == 1 else f"{classes} classes"
        held = "with" if moments else "without"
        print(
            f"{name}, {FEATURES} features, {DRAWS} draws, {held} second moments: {rows / clock:,.0f} rows a second; "
            f"{1e6 * processor / rows:.1f} microseconds of the processor a row",
            flush=True,
        )


def growth(classes: int, sizes: tuple[int, ...]) -> None:
    """Time and memory of ever more rows, each in a process of its own."""
    first = None
    for rows in sizes:
        code = STREAM.format(folder=__file__.rsplit("/", 1)[0] or ".", rows=rows, classes=classes, moments=classes == 1)
        text, _, peak = in_new_process(code)
        clock, processor = map(float, text.split())
        first = first or processor
        print(
            f"{rows:,} rows, {'one probability' if classes == 1 else f'{classes} classes'}: {clock:.0f} s, of the "
            f"processor {processor:.1f} s, {processor / first:.2f} times the first; {peak:.0f} MB",
            flush=True,
        )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    large = parser.parse_args().large
    print(machine())
    if large:
        growth(10, (1_000_000, 10_000_000))
    else:
        speed()
        growth(1, (1_000_000, 4_000_000))


if __name__ == "__main__":
    main()
