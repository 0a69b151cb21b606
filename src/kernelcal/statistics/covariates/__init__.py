"""What errors have to do with columns that are given: sums in places of them, and rows that are alike in them."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.statistics.covariates.alike import Between, PreparedAlike, kernel_in
    from kernelcal.statistics.covariates.places import ColumnPlace, PreparedPlaces
    from kernelcal.statistics.covariates.scores import RowScores, Saying, scores_of

__all__ = ["Between", "ColumnPlace", "PreparedAlike", "PreparedPlaces", "RowScores", "Saying", "kernel_in", "scores_of"]
