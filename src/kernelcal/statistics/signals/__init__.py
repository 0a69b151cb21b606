"""Signals: the failures that are met most often, each with a direction."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.statistics.signals.class_words import bias_in_words
    from kernelcal.statistics.signals.classes import ClassSignals, PreparedClassSignals
    from kernelcal.statistics.signals.number_words import (
        FAR,
        far_in_words,
        far_outside_in_words,
        few_far,
        of_shape,
        shift_in_words,
        width_in_words,
    )
    from kernelcal.statistics.signals.numbers import NumberSignals, PreparedNumberSignals
    from kernelcal.statistics.signals.quantiles import (
        SIDES,
        CellScores,
        PreparedQuantileSignals,
        QuantileSignals,
        level_in_words,
        level_tails,
        side_in_words,
        skewed,
    )

__all__ = [
    "FAR",
    "SIDES",
    "CellScores",
    "ClassSignals",
    "NumberSignals",
    "PreparedClassSignals",
    "PreparedNumberSignals",
    "PreparedQuantileSignals",
    "QuantileSignals",
    "bias_in_words",
    "far_in_words",
    "far_outside_in_words",
    "few_far",
    "level_in_words",
    "level_tails",
    "of_shape",
    "shift_in_words",
    "side_in_words",
    "skewed",
    "width_in_words",
]
