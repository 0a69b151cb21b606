"""The sketch: rows a second, the ratio of 4,000,000 rows to 1,000,000, and memory that does not grow with the rows.

    python benchmarks/sketch.py
    python benchmarks/sketch.py --large          # 10,000,000 rows of ten classes, some minutes
    python benchmarks/sketch.py --before SRC     # beside an earlier version, whose src folder is named

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
import sys; sys.path[:0] = {folders!r}
from sketch import stream
print(*stream({rows}, {classes}, {moments}, {features}))
"""
HERE = __file__.rsplit("/", 1)[0] or "."
CASES = (  # classes, second moments, features, rows
    (1, True, FEATURES, 400_000),
    (1, False, FEATURES, 400_000),
    (10, False, FEATURES, 200_000),
    (10, False, FEATURES // 2, 200_000),
    (10, True, FEATURES, 50_000),
    (100, False, FEATURES, 20_000),
)


def stream(rows: int, classes: int, second_moments: bool, features: int = FEATURES) -> tuple[float, float]:
    """Seconds of the updates alone, on the clock and of the processor, which other work on the machine changes less."""
    sketch = Sketch(kc.Laplacian(0.3), engine=kc.RandomFourier(features), draws=DRAWS, second_moments=second_moments)
    clock = processor = 0.0
    for start in range(0, rows, BATCH):
        y, p = class_data(min(BATCH, rows - start), max(classes, 2), concentration=1.0, seed=start)
        batch = kc.Bernoulli(p[:, 1].copy()) if classes == 1 else kc.Categorical(p)
        begun = time.perf_counter(), time.process_time()
        sketch.update(y, batch)
        clock, processor = clock + time.perf_counter() - begun[0], processor + time.process_time() - begun[1]
    sketch.result()
    return clock, processor


def name_of(classes: int, moments: bool, features: int) -> str:
    """What is measured, in words."""
    name = "one probability" if classes == 1 else f"{classes} classes"
    return f"{name}, {features} features, {DRAWS} draws, {'with' if moments else 'without'} second moments"


def speed() -> None:
    """Rows a second."""
    for classes, moments, features, rows in CASES:
        clock, processor = stream(rows, classes, moments, features)
        print(
            f"{name_of(classes, moments, features)}: {rows / clock:,.0f} rows a second; "
            f"{1e6 * processor / rows:.1f} microseconds of the processor a row",
            flush=True,
        )


def beside(before: str, repeats: int) -> None:
    """Microseconds of the processor a row, of an earlier version and of this one in turns, each in its own process."""
    for classes, moments, features, rows in CASES:
        times: list[list[float]] = [[], []]
        for _ in range(repeats):
            for found, folders in zip(times, ([before, HERE], [HERE]), strict=True):
                code = STREAM.format(folders=folders, rows=rows, classes=classes, moments=moments, features=features)
                found.append(1e6 * float(in_new_process(code)[0].split()[1]) / rows)
        old, new = map(min, times)
        print(
            f"{name_of(classes, moments, features)}: {old:.1f} and {new:.1f}, {old / new:.2f} times as fast", flush=True
        )


def growth(classes: int, sizes: tuple[int, ...]) -> None:
    """Time and memory of ever more rows, each in a process of its own."""
    first = None
    for rows in sizes:
        moments = classes == 1
        code = STREAM.format(folders=[HERE], rows=rows, classes=classes, moments=moments, features=FEATURES)
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
    parser.add_argument("--before", help="src folder of an earlier version")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(machine())
    if options.before:
        beside(options.before, options.repeats)
    elif options.large:
        growth(10, (1_000_000, 10_000_000))
    else:
        speed()
        growth(1, (1_000_000, 4_000_000))


if __name__ == "__main__":
    main()
