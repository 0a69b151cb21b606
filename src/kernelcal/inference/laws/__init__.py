"""Null laws: from a statistic to its p-value, and what is known of it under calibration. A new law is a file here."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.inference.laws.chi_square import ChiSquareSum
    from kernelcal.inference.laws.dependent import (
        Dependent,
        Gate,
        coupled,
        effective_clusters,
        not_redrawn,
        ordinal,
        refuse_dependent,
        refuse_few_clusters,
        residual_variances,
        simpler,
        thinned_in_words,
    )
    from kernelcal.inference.laws.exact import (
        STOP_ABOVE,
        DrawnValues,
        Exact,
        Swap,
        draws_at_once,
        exact_notes,
        exact_null,
    )
    from kernelcal.inference.laws.law import NullLaw, Outcome, Problem, one_member
    from kernelcal.inference.laws.mean_embedding import CME
    from kernelcal.inference.laws.named import NULL_LAWS
    from kernelcal.inference.laws.null_moments import KnownNull, known_null
    from kernelcal.inference.laws.ranking import decisive, family_wise_pvalues, merged_pvalue, merged_ranks, ranks
    from kernelcal.inference.laws.resampled import Bootstrap, Consistency, Wild
    from kernelcal.inference.laws.undrawn import (
        Block,
        Bound,
        GammaFit,
        Pearson,
        Saddlepoint,
        Spectrum,
        far_note,
        pair_bound,
    )

__all__ = [
    "CME",
    "NULL_LAWS",
    "STOP_ABOVE",
    "Block",
    "Bootstrap",
    "Bound",
    "ChiSquareSum",
    "Consistency",
    "Dependent",
    "DrawnValues",
    "Exact",
    "GammaFit",
    "Gate",
    "KnownNull",
    "NullLaw",
    "Outcome",
    "Pearson",
    "Problem",
    "Saddlepoint",
    "Spectrum",
    "Swap",
    "Wild",
    "coupled",
    "decisive",
    "draws_at_once",
    "effective_clusters",
    "exact_notes",
    "exact_null",
    "family_wise_pvalues",
    "far_note",
    "known_null",
    "merged_pvalue",
    "merged_ranks",
    "not_redrawn",
    "one_member",
    "ordinal",
    "pair_bound",
    "ranks",
    "refuse_dependent",
    "refuse_few_clusters",
    "residual_variances",
    "simpler",
    "thinned_in_words",
]
