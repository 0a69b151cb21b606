"""Statistics: one file each."""

from kernelcal.statistics.base import CallableStatistic, Estimate, Prepared, Statistic
from kernelcal.statistics.directed import DirectedScores
from kernelcal.statistics.ece import ece
from kernelcal.statistics.scores import accuracy, brier_score, log_score
from kernelcal.statistics.skce import SKCE, skce

__all__ = [
    "SKCE",
    "CallableStatistic",
    "DirectedScores",
    "Estimate",
    "Prepared",
    "Statistic",
    "accuracy",
    "brier_score",
    "ece",
    "log_score",
    "skce",
]
