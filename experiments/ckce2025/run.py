"""Moskvichev and Sejdinovic (2025), sections 3.3 and 5.

    python experiments/ckce2025/run.py                        # all parts
    python experiments/ckce2025/run.py --part shift kernels   # Figures 2 and 4

Writes the tables docs/tables/ckce2025_*.csv and, from them, docs/images/ckce2025_*.png. Every draw has its own seed.
"""

from __future__ import annotations

import argparse
import importlib
import time

import common  # noqa: F401  first: it sets the threads of the linear algebra library before NumPy is loaded

PARTS = ("shift", "kernels", "models", "networks", "agreement", "ranking", "noise", "convergence", "picture")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--trials", type=int, default=20, help="data sets a location; 20 as in the paper")
    parser.add_argument("--halves", type=int, default=50, help="halves of the rows that show the noise of tau")
    options = parser.parse_args()
    for name in options.part:
        start = time.perf_counter()
        importlib.import_module(name).main(options)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
