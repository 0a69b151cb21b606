"""The calibration test, its default family of statistics, and the exact test of PIT values."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.inference.test.calibration import (
        answered,
        asked,
        calibration_test,
        default_law,
        default_statistic,
        draws_in,
        holm_adjusted,
        law_of,
        tested,
    )
    from kernelcal.inference.test.family import (
        DefaultFamily,
        PreparedFamily,
        directions,
        family_of_pairs,
        impossible_note,
        impossible_rows,
        prepared_signals,
        ruled_out_in_words,
        spectral_target,
    )
    from kernelcal.inference.test.given import GivenFamily, joined, refuse_given
    from kernelcal.inference.test.named import STATISTICS, asked_test, register_statistic
    from kernelcal.inference.test.pit import UniformPIT, pit_test, pit_tested
    from kernelcal.inference.test.quantile_family import CLAIMS_ALONE, PreparedQuantileKernels

__all__ = [
    "CLAIMS_ALONE",
    "STATISTICS",
    "DefaultFamily",
    "GivenFamily",
    "PreparedFamily",
    "PreparedQuantileKernels",
    "UniformPIT",
    "answered",
    "asked",
    "asked_test",
    "calibration_test",
    "default_law",
    "default_statistic",
    "directions",
    "draws_in",
    "family_of_pairs",
    "holm_adjusted",
    "impossible_note",
    "impossible_rows",
    "joined",
    "law_of",
    "pit_test",
    "pit_tested",
    "prepared_signals",
    "refuse_given",
    "register_statistic",
    "ruled_out_in_words",
    "spectral_target",
    "tested",
]
