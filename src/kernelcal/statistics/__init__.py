"""Statistics: one file each."""

from kernelcal.statistics.base import CallableStatistic, Estimate, Prepared, Statistic
from kernelcal.statistics.skce import SKCE, skce

__all__ = ["SKCE", "CallableStatistic", "Estimate", "Prepared", "Statistic", "skce"]
