"""Signals: the failures that are met most often, each with a direction."""

from kernelcal.statistics.signals.classes import ClassSignals, PreparedClassSignals
from kernelcal.statistics.signals.numbers import NumberSignals, PreparedNumberSignals
from kernelcal.statistics.signals.quantiles import CellScores, PreparedQuantileSignals, QuantileSignals, skewed

__all__ = [
    "CellScores",
    "ClassSignals",
    "NumberSignals",
    "PreparedClassSignals",
    "PreparedNumberSignals",
    "PreparedQuantileSignals",
    "QuantileSignals",
    "skewed",
]
