"""Statistics: one file each."""

from kernelcal.statistics.base import CallableStatistic, Estimate, Prepared, Statistic
from kernelcal.statistics.bin_table import BinnedEstimate, BinTable
from kernelcal.statistics.ckce import CKCE, ckce
from kernelcal.statistics.coverage import CentralCoverage, central_coverage
from kernelcal.statistics.crps import crps, crps_rows
from kernelcal.statistics.decomposition import BrierDecomposition, brier_decomposition
from kernelcal.statistics.directed import DirectedScores
from kernelcal.statistics.ece import ECE, ece, mce
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.highest_density import HighestDensityCoverage, highest_density_coverage
from kernelcal.statistics.jkce import JKCE, jkce
from kernelcal.statistics.kccsd import KCCSD, kccsd
from kernelcal.statistics.locations import Locations, draw_locations, normal_locations
from kernelcal.statistics.mmce import MMCE, mmce
from kernelcal.statistics.null_band import NullBand
from kernelcal.statistics.number_rows import coordinate
from kernelcal.statistics.pinball import PinballLoss, pinball_loss
from kernelcal.statistics.pit import pit, pit_intervals
from kernelcal.statistics.pit_histogram import pit_histogram
from kernelcal.statistics.quantile_curve import QuantileCalibration, quantile_calibration
from kernelcal.statistics.rank_histogram import rank_histogram
from kernelcal.statistics.real_directed import RealScores
from kernelcal.statistics.real_scores import (
    mean_squared_error,
    negative_log_likelihood,
    negative_log_likelihood_rows,
)
from kernelcal.statistics.scores import accuracy, brier_score, log_score, log_score_rows
from kernelcal.statistics.skce import SKCE, skce
from kernelcal.statistics.through import Through
from kernelcal.statistics.ucme import UCME, ucme
from kernelcal.statistics.uniform_histogram import UniformHistogram

__all__ = [
    "CKCE",
    "ECE",
    "JKCE",
    "KCCSD",
    "MMCE",
    "SKCE",
    "UCME",
    "BinTable",
    "BinnedEstimate",
    "BrierDecomposition",
    "CallableStatistic",
    "CentralCoverage",
    "DirectedScores",
    "Estimate",
    "HighestDensityCoverage",
    "Locations",
    "NullBand",
    "PinballLoss",
    "Prepared",
    "QuantileCalibration",
    "RealScores",
    "Statistic",
    "Through",
    "UniformHistogram",
    "accuracy",
    "brier_decomposition",
    "brier_score",
    "central_coverage",
    "ckce",
    "coordinate",
    "crps",
    "crps_rows",
    "draw_locations",
    "ece",
    "function_of",
    "highest_density_coverage",
    "jkce",
    "kccsd",
    "log_score",
    "log_score_rows",
    "mce",
    "mean_squared_error",
    "mmce",
    "negative_log_likelihood",
    "negative_log_likelihood_rows",
    "normal_locations",
    "pinball_loss",
    "pit",
    "pit_histogram",
    "pit_intervals",
    "quantile_calibration",
    "rank_histogram",
    "skce",
    "ucme",
]
