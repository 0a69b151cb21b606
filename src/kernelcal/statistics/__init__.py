"""Statistics: one file each."""

from kernelcal.statistics.base import CallableStatistic, Estimate, Prepared, Statistic
from kernelcal.statistics.bin_table import BinnedEstimate, BinTable
from kernelcal.statistics.decomposition import BrierDecomposition, brier_decomposition
from kernelcal.statistics.directed import DirectedScores
from kernelcal.statistics.ece import ECE, ece, mce
from kernelcal.statistics.mmce import MMCE, mmce
from kernelcal.statistics.scores import accuracy, brier_score, log_score
from kernelcal.statistics.skce import SKCE, skce
from kernelcal.statistics.through import Through

__all__ = [
    "ECE",
    "MMCE",
    "SKCE",
    "BinTable",
    "BinnedEstimate",
    "BrierDecomposition",
    "CallableStatistic",
    "DirectedScores",
    "Estimate",
    "Prepared",
    "Statistic",
    "Through",
    "accuracy",
    "brier_decomposition",
    "brier_score",
    "ece",
    "log_score",
    "mce",
    "mmce",
    "skce",
]
