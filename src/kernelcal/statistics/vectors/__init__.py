"""Vectors: energy and variogram score, pre-ranks and distances to reference points, rank histograms by them."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.statistics.vectors.histograms import pre_rank_case, pre_rank_histogram, pre_rank_histogram_of
    from kernelcal.statistics.vectors.pre_ranks import (
        DEFAULT_PRE_RANKS,
        PRE_RANKS,
        checked_pre_ranks,
        pre_ranks_of,
        register_pre_rank,
    )
    from kernelcal.statistics.vectors.scores import (
        energy_score,
        energy_score_of,
        energy_score_rows,
        energy_score_rows_of,
        energy_scores,
        variogram_score,
        variogram_score_of,
        variogram_score_rows,
        variogram_score_rows_of,
        variogram_scores,
    )
    from kernelcal.statistics.vectors.statistic import (
        ENDS,
        TARP,
        PreparedPreRanks,
        PreRanks,
        RanksOfMembers,
        ensemble_of,
        members_of,
        shifted_in_words,
    )

__all__ = [
    "DEFAULT_PRE_RANKS",
    "ENDS",
    "PRE_RANKS",
    "TARP",
    "PreRanks",
    "PreparedPreRanks",
    "RanksOfMembers",
    "checked_pre_ranks",
    "energy_score",
    "energy_score_of",
    "energy_score_rows",
    "energy_score_rows_of",
    "energy_scores",
    "ensemble_of",
    "members_of",
    "pre_rank_case",
    "pre_rank_histogram",
    "pre_rank_histogram_of",
    "pre_ranks_of",
    "register_pre_rank",
    "shifted_in_words",
    "variogram_score",
    "variogram_score_of",
    "variogram_score_rows",
    "variogram_score_rows_of",
    "variogram_scores",
]
