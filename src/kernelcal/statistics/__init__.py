"""Statistics and scores: one file each. ``x_of(case)`` is the core of ``x(y, predictions)``: it checks nothing."""

from kernelcal.statistics.base import CallableStatistic, Estimate, Prepared, Statistic
from kernelcal.statistics.bin_table import BinnedEstimate, BinTable
from kernelcal.statistics.ckce import CKCE, ckce
from kernelcal.statistics.class_scores import (
    accuracy,
    accuracy_of,
    brier_score,
    brier_score_of,
    log_score,
    log_score_of,
    log_score_rows,
    log_score_rows_of,
)
from kernelcal.statistics.class_signals import ClassSignals
from kernelcal.statistics.coverage import CentralCoverage, central_coverage, central_coverage_of
from kernelcal.statistics.crps import crps, crps_of, crps_rows, crps_rows_of
from kernelcal.statistics.decomposition import BrierDecomposition, brier_decomposition, brier_decomposition_of
from kernelcal.statistics.ece import ECE, ece, mce
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.highest_density import (
    HighestDensityCoverage,
    highest_density_coverage,
    highest_density_coverage_of,
)
from kernelcal.statistics.jkce import JKCE, jkce
from kernelcal.statistics.kccsd import KCCSD, kccsd
from kernelcal.statistics.locations import Locations, draw_locations, normal_locations
from kernelcal.statistics.mmce import MMCE, mmce
from kernelcal.statistics.null_band import NullBand
from kernelcal.statistics.number_rows import coordinate
from kernelcal.statistics.number_scores import (
    mean_squared_error,
    mean_squared_error_of,
    negative_log_likelihood,
    negative_log_likelihood_of,
    negative_log_likelihood_rows,
    negative_log_likelihood_rows_of,
)
from kernelcal.statistics.number_signals import NumberSignals
from kernelcal.statistics.pinball import PinballLoss, pinball_loss, pinball_loss_of
from kernelcal.statistics.pit import pit, pit_intervals, pit_intervals_of, pit_of
from kernelcal.statistics.pit_histogram import pit_histogram, pit_histogram_of
from kernelcal.statistics.quantile_curve import QuantileCalibration, quantile_calibration, quantile_calibration_of
from kernelcal.statistics.rank_histogram import rank_histogram, rank_histogram_of
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
    "ClassSignals",
    "Estimate",
    "HighestDensityCoverage",
    "Locations",
    "NullBand",
    "NumberSignals",
    "PinballLoss",
    "Prepared",
    "QuantileCalibration",
    "Statistic",
    "Through",
    "UniformHistogram",
    "accuracy",
    "accuracy_of",
    "brier_decomposition",
    "brier_decomposition_of",
    "brier_score",
    "brier_score_of",
    "central_coverage",
    "central_coverage_of",
    "ckce",
    "coordinate",
    "crps",
    "crps_of",
    "crps_rows",
    "crps_rows_of",
    "draw_locations",
    "ece",
    "function_of",
    "highest_density_coverage",
    "highest_density_coverage_of",
    "jkce",
    "kccsd",
    "log_score",
    "log_score_of",
    "log_score_rows",
    "log_score_rows_of",
    "mce",
    "mean_squared_error",
    "mean_squared_error_of",
    "mmce",
    "negative_log_likelihood",
    "negative_log_likelihood_of",
    "negative_log_likelihood_rows",
    "negative_log_likelihood_rows_of",
    "normal_locations",
    "pinball_loss",
    "pinball_loss_of",
    "pit",
    "pit_histogram",
    "pit_histogram_of",
    "pit_intervals",
    "pit_intervals_of",
    "pit_of",
    "quantile_calibration",
    "quantile_calibration_of",
    "rank_histogram",
    "rank_histogram_of",
    "skce",
    "ucme",
]
