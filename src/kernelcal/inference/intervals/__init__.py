"""Confidence intervals, paired differences, and tests of being calibrated enough."""

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
    method_that_keeps_the_level,
)
from kernelcal.inference.intervals.methods import (
    INTERVAL_METHODS,
    IntervalMethod,
    Request,
    Spread,
    block_spread,
    block_spread_of,
    of_draws,
    root_spread,
)
from kernelcal.inference.intervals.paired import (
    Contrast,
    PairedDifference,
    PairedSurprises,
    ScoreSurprises,
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
    Surprises,
    expected,
    hoeffding,
    hoeffding_sums,
    label_law,
    label_law_of_sums,
    surprises_of,
)
from kernelcal.inference.intervals.units import mean_of_units

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
    "PairedDifference",
    "PairedSurprises",
    "Request",
    "RowBootstrap",
    "ScoreSurprises",
    "Spread",
    "Surprises",
    "block_spread",
    "block_spread_of",
    "bootstrap_cost",
    "checked_bound",
    "confidence_interval",
    "default_method",
    "difference_of_draws",
    "difference_of_pairs",
    "equivalence_of",
    "equivalence_test",
    "expected",
    "hoeffding",
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
    "spread_of",
    "surprises_of",
]
