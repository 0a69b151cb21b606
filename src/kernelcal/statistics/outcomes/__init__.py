"""Where outcomes lie in their predicted distributions: coverage, PIT, ranks, quantile calibration."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.statistics.outcomes.central import (
        CentralCoverage,
        central_coverage,
        central_coverage_of,
    )
    from kernelcal.statistics.outcomes.highest_density import (
        HighestDensityCoverage,
        highest_density_coverage,
        highest_density_coverage_of,
    )
    from kernelcal.statistics.outcomes.histograms import (
        UniformHistogram,
        pit_histogram,
        pit_histogram_of,
        rank_histogram,
        rank_histogram_of,
    )
    from kernelcal.statistics.outcomes.levels import (
        ClaimedLevels,
        claimed_levels,
        claimed_levels_of,
        refuse_other_than_quantiles,
    )
    from kernelcal.statistics.outcomes.quantile_curves import (
        QuantileCalibration,
        quantile_calibration,
        quantile_calibration_of,
    )
    from kernelcal.statistics.outcomes.transform import (
        PreparedUniformity,
        RandomisedPIT,
        ends_of,
        kuiper,
        normal_moments,
        normal_quantiles,
        pit,
        pit_intervals,
        pit_intervals_of,
        pit_of,
    )

__all__ = [
    "CentralCoverage",
    "ClaimedLevels",
    "HighestDensityCoverage",
    "PreparedUniformity",
    "QuantileCalibration",
    "RandomisedPIT",
    "UniformHistogram",
    "central_coverage",
    "central_coverage_of",
    "claimed_levels",
    "claimed_levels_of",
    "ends_of",
    "highest_density_coverage",
    "highest_density_coverage_of",
    "kuiper",
    "normal_moments",
    "normal_quantiles",
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
    "refuse_other_than_quantiles",
]
