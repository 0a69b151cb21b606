"""Which of several models is better calibrated, and how certainly."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.comparison.figures import cost_in_words
    from kernelcal.comparison.main import compare, compared
    from kernelcal.comparison.models import (
        Models,
        checked_models,
        named_case,
        naming,
        outcomes_of,
        refuse_names,
        refuse_statistics,
        refuse_unlike,
        seen_alike,
    )
    from kernelcal.comparison.result import ComparedModel, Comparison, shared_figures, surest_pairs
    from kernelcal.comparison.scores import ScoreComparison
    from kernelcal.comparison.standing import Standing

__all__ = [
    "ComparedModel",
    "Comparison",
    "Models",
    "ScoreComparison",
    "Standing",
    "checked_models",
    "compare",
    "compared",
    "cost_in_words",
    "named_case",
    "naming",
    "outcomes_of",
    "refuse_names",
    "refuse_statistics",
    "refuse_unlike",
    "seen_alike",
    "shared_figures",
    "surest_pairs",
]
