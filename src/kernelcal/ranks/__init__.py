"""Ranks: of outcome vectors among draws, of true parameters in simulation-based inference, alone or from draws."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.ranks.bands import SimultaneousBand, chance_inside, simultaneous_band
    from kernelcal.ranks.ecdf import EcdfDifference, ecdf_difference
    from kernelcal.ranks.posteriors import posterior_test, ranks_of_draws
    from kernelcal.ranks.reading import RanksRead, read_ranks
    from kernelcal.ranks.result import ParameterRanks, RanksResult
    from kernelcal.ranks.table import RankTable
    from kernelcal.ranks.uniformity import pit_values_test, rank_test, ranks_tested
    from kernelcal.ranks.vectors import vectors_test, vectors_tested

__all__ = [
    "EcdfDifference",
    "ParameterRanks",
    "RankTable",
    "RanksRead",
    "RanksResult",
    "SimultaneousBand",
    "chance_inside",
    "ecdf_difference",
    "pit_values_test",
    "posterior_test",
    "rank_test",
    "ranks_of_draws",
    "ranks_tested",
    "read_ranks",
    "simultaneous_band",
    "vectors_test",
    "vectors_tested",
]
