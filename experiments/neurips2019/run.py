"""Figures 1, 2, 3 to 34 (as one, 3), 35, 36 and 37 of Widmann, Lindsten, Zachariah (NeurIPS 2019).

    python experiments/neurips2019/run.py                        # all of them, some minutes on two cores
    python experiments/neurips2019/run.py --figure 1 2 --repetitions 10000

Writes a picture and a table for each beside this file. Every data set has its own seed, so that numbers (but for the
times of Figure 37) do not depend on the number of processes.
"""

from __future__ import annotations

import argparse
import os
import time

import common  # first: it sets the threads of the linear algebra library before NumPy is loaded
import figure1
import figure2
import figure35
import figure36
import figure37
import supplement

FIGURES = {1: figure1, 2: figure2, 3: supplement, 35: figure35, 36: figure36, 37: figure37}
NEED_NETWORKS = (35, 36)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--figure", type=int, nargs="+", choices=list(FIGURES), default=list(FIGURES))
    parser.add_argument(
        "--repetitions", type=int, help="data sets a model; default 10,000 in Figure 1, 200 in Figure 2"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    for number in options.figure:
        if number in NEED_NETWORKS and not common.networks():
            print(f"Figure {number} needs the networks' predictions in {common.SHARED}/data/cifar10_networks: left out")
            continue
        start = time.perf_counter()
        FIGURES[number].main(options)
        print(f"Figure {number}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
