"""Which of several models is better calibrated, and how certainly."""

from kernelcal.comparison.figures import cost_in_words
from kernelcal.comparison.main import compare, compared, refuse_run
from kernelcal.comparison.models import Models, asked_alike, named_case, naming, refuse_names, refuse_unlike, seen_alike
from kernelcal.comparison.result import ComparedModel, Comparison, shared_figures, surest_pairs
from kernelcal.comparison.scores import ScoreComparison, compared_by_scores, with_ties

__all__ = [
    "ComparedModel",
    "Comparison",
    "Models",
    "ScoreComparison",
    "asked_alike",
    "compare",
    "compared",
    "compared_by_scores",
    "cost_in_words",
    "named_case",
    "naming",
    "refuse_names",
    "refuse_run",
    "refuse_unlike",
    "seen_alike",
    "shared_figures",
    "surest_pairs",
    "with_ties",
]
