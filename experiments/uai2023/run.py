"""Section 6 of Glaser, Widmann, Lindsten, Gretton (UAI 2023).

    python experiments/uai2023/run.py                      # Figures 1 and 2: a quarter of an hour on one core
    python experiments/uai2023/run.py --part langevin --repetitions 20   # into a scratch folder, which it names

Writes the tables docs/tables/uai2023_*.csv and, from them, docs/images/uai2023.png. Every data set has its own seed.
The exit status is 1 if a rate disagrees with that of the authors' code, or a calibrated model is not at the level.
"""

from __future__ import annotations

import argparse
import importlib
import time

import common  # noqa: F401  first: it sets the threads of the linear algebra library before NumPy is loaded

PARTS = ("rates", "variants", "langevin", "picture")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--repetitions", type=int, default=100, help="data sets a setting; 100 as in the paper")
    options = parser.parse_args()
    failed = 0
    for name in options.part:
        start = time.perf_counter()
        failed |= importlib.import_module(name).main(options) or 0
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
