"""Figure 2: CKCE, JKCE and ECE while the law of the inputs moves."""

from __future__ import annotations

from common import PAPER, reference, write
from simulation import beside_reference, simulate, spread, summarised

COLUMNS = (0, 3, 4)  # of the reference


def main(options):
    values = simulate(PAPER.values(), options.trials)
    write("shift", *summarised(values, PAPER))
    if known := reference():
        write("shift_reference", *beside_reference(PAPER, COLUMNS, known))
    for name, factor in zip(PAPER, spread(values), strict=True):
        print(f"{name}: largest mean over smallest {factor:.2f}")
