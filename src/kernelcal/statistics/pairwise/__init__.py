"""Means over pairs of rows: SKCE, KCCSD, MMCE."""

from kernelcal.statistics.pairwise.pair_means import SKCE, PairMean, PreparedPairMean, not_definite, skce
from kernelcal.statistics.pairwise.stein import KCCSD, kccsd
from kernelcal.statistics.pairwise.top_label import MMCE, mmce

__all__ = ["KCCSD", "MMCE", "SKCE", "PairMean", "PreparedPairMean", "kccsd", "mmce", "not_definite", "skce"]
