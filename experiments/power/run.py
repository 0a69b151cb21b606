"""Power of the default family beside the best single tests, for classes and numbers, in groups and given columns.

    python experiments/power/run.py                          # 1,000 data sets a cell: about an hour on two cores
    python experiments/power/run.py --sets 100 --no-write    # a look
    python experiments/power/run.py --families classes given

Writes docs/tables/power_<family>.csv (of classes and numbers the default family, the best single test, points lost),
the same with all tests in experiments/power/<family>.csv, and docs/images/power.png. Groups and given columns have
tests and scripts of their own, `groups.py` and `given.py`, and a fifth of the data sets.
"""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from pathlib import Path

from common import TABLES, outputs, picture, powers, write

HERE = Path(__file__).resolve().parent
FAMILIES = [name for name in ("classes", "real_numbers") if (HERE / f"{name}.py").exists()]
OF_COLUMNS = ["groups", "given"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=1000, help="data sets of every alternative")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--families", nargs="*", default=[*FAMILIES, *OF_COLUMNS])
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--no-write", action="store_true", help="tables and picture stay as they are")
    options = parser.parse_args()
    found = []
    for family in options.families:
        if family in OF_COLUMNS:
            rows = list(import_module(family).table(max(1, options.sets // 5)))
            if not options.no_write:
                write(TABLES / f"power_{family}.csv", rows)
            continue
        found.append(powers(family, options.sets, options.seed, options.processes))
        print(found[-1].sentence(), flush=True)
        if not options.no_write:
            write(TABLES / f"power_{family}.csv", found[-1].rows())
            write(outputs.folder(HERE) / f"{family}.csv", found[-1].every())
    if not options.no_write and [f.family for f in found] == FAMILIES:
        picture(found, TABLES.parent / "images" / "power.png")
    broken = [f for f in found if (f.shares[f.calibrated] > f.bounds[1]).any()]
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
