"""Appendix A of Widmann, Lindsten, Zachariah (ICLR 2021).

    python experiments/iclr2021/run.py                      # all of it, about an hour on two quiet cores
    python experiments/iclr2021/run.py --part ols --repetitions 50

Writes tables and pictures into docs/tables and docs/images, and every number into this folder. Every data set has its
own seed, so that numbers (but for times) do not depend on the number of processes.
"""

from __future__ import annotations

import argparse
import importlib
import os
import time

import common  # noqa: F401  first: it sets the threads of the linear algebra library before NumPy is loaded

PARTS = ("ols", "ols_picture", "estimates", "error_rates", "locations", "times", "friedman")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=(*PARTS, "synthetic"), default=["ols", "synthetic", "friedman"])
    parser.add_argument("--repetitions", type=int, help="data sets a setting; default 500 as in the paper")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    for name in options.part:
        start = time.perf_counter()
        importlib.import_module(name).main(options)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
