"""Errors over bins: ECE, MCE, the Brier decomposition, bands of calibrated models."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.statistics.binned.bands import CountLaw, NullBand, drawn_band, multinomial_band
    from kernelcal.statistics.binned.bin_table import BinnedEstimate, BinTable, plain_values
    from kernelcal.statistics.binned.binned_error import ECE, BinnedPart, ece, mce, question_in_words
    from kernelcal.statistics.binned.brier import BrierDecomposition, brier_decomposition, brier_decomposition_of
    from kernelcal.statistics.binned.questions import Part, asked, parts_of, usual_questions

__all__ = [
    "ECE",
    "BinTable",
    "BinnedEstimate",
    "BinnedPart",
    "BrierDecomposition",
    "CountLaw",
    "NullBand",
    "Part",
    "asked",
    "brier_decomposition",
    "brier_decomposition_of",
    "drawn_band",
    "ece",
    "mce",
    "multinomial_band",
    "parts_of",
    "plain_values",
    "question_in_words",
    "usual_questions",
]
