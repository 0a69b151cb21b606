"""Confidence intervals, paired differences, and tests of being calibrated enough."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.inference.intervals.confidence import (
        Interval,
        confidence_interval,
        default_method,
        interval_of,
        spread_of,
    )
    from kernelcal.inference.intervals.equivalence import (
        Equivalence,
        checked_bound,
        equivalence_of,
        equivalence_test,
        equivalent,
        method_that_keeps_the_level,
    )
    from kernelcal.inference.intervals.means import UnitMean, ends_of_mean, mean_of_units
    from kernelcal.inference.intervals.methods import (
        INTERVAL_METHODS,
        IntervalMethod,
        Request,
        Spread,
        block_spread,
        block_spread_of,
        of_draws,
        root_spread,
        source_of,
    )
    from kernelcal.inference.intervals.own_outcomes import OwnSurprises
    from kernelcal.inference.intervals.paired import (
        Contrast,
        PairedDifference,
        PairedSurprises,
        difference_of_draws,
        difference_of_pairs,
        mean_difference,
    )
    from kernelcal.inference.intervals.paired_along import Along
    from kernelcal.inference.intervals.paired_blocks import BlockSurprises
    from kernelcal.inference.intervals.row_bootstrap import (
        BOOTSTRAP,
        OPERATOR_METHODS,
        RowBootstrap,
        bootstrap_cost,
        in_words,
        say_bootstrap_cost,
        seconds_of,
    )
    from kernelcal.inference.intervals.surprises import (
        LabelLaw,
        ScoreSurprises,
        Surprises,
        expected,
        hoeffding,
        hoeffding_parts,
        hoeffding_sums,
        label_law,
        label_law_of_sums,
        surprises_of,
    )

__all__ = [
    "BOOTSTRAP",
    "INTERVAL_METHODS",
    "OPERATOR_METHODS",
    "Along",
    "BlockSurprises",
    "Contrast",
    "Equivalence",
    "Interval",
    "IntervalMethod",
    "LabelLaw",
    "OwnSurprises",
    "PairedDifference",
    "PairedSurprises",
    "Request",
    "RowBootstrap",
    "ScoreSurprises",
    "Spread",
    "Surprises",
    "UnitMean",
    "block_spread",
    "block_spread_of",
    "bootstrap_cost",
    "checked_bound",
    "confidence_interval",
    "default_method",
    "difference_of_draws",
    "difference_of_pairs",
    "ends_of_mean",
    "equivalence_of",
    "equivalence_test",
    "equivalent",
    "expected",
    "hoeffding",
    "hoeffding_parts",
    "hoeffding_sums",
    "in_words",
    "interval_of",
    "label_law",
    "label_law_of_sums",
    "mean_difference",
    "mean_of_units",
    "method_that_keeps_the_level",
    "of_draws",
    "root_spread",
    "say_bootstrap_cost",
    "seconds_of",
    "source_of",
    "spread_of",
    "surprises_of",
]
