"""Means over pairs of rows: SKCE, KCCSD, MMCE."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.statistics.pairwise.apart import Apart, layered, steps_alike
    from kernelcal.statistics.pairwise.pair_means import SKCE, PairMean, PreparedPairMean, not_definite, skce
    from kernelcal.statistics.pairwise.stein import KCCSD, kccsd
    from kernelcal.statistics.pairwise.top_label import MMCE, mmce

__all__ = [
    "KCCSD",
    "MMCE",
    "SKCE",
    "Apart",
    "PairMean",
    "PreparedPairMean",
    "kccsd",
    "layered",
    "mmce",
    "not_definite",
    "skce",
    "steps_alike",
]
