"""Figure 4: CKCE with kernel (8), with its linear part alone and with its Gaussian part alone."""

from __future__ import annotations

from common import reference, write
from simulation import beside_reference, simulate, spread, summarised

import kernelcal as kc
from kernelcal.kernels import Linear
from kernelcal.statistics import CKCE

CHOICES = {
    "linear plus Gaussian": CKCE(),
    "linear": CKCE(prediction_kernel=Linear()),
    "Gaussian": CKCE(prediction_kernel=kc.Gaussian()),
}
COLUMNS = (0, 1, 2)  # of the reference


def main(options):
    values = simulate(CHOICES.values(), options.trials)
    write("kernels", *summarised(values, CHOICES))
    if known := reference():
        write("kernels_reference", *beside_reference(CHOICES, COLUMNS, known))
    for name, factor in zip(CHOICES, spread(values), strict=True):
        print(f"{name}: largest mean over smallest {factor:.2f}")
