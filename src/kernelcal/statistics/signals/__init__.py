"""Signals: the failures that are met most often, each with a direction."""

from kernelcal.statistics.signals.classes import ClassSignals, PreparedClassSignals
from kernelcal.statistics.signals.numbers import NumberSignals, PreparedNumberSignals

__all__ = ["ClassSignals", "NumberSignals", "PreparedClassSignals", "PreparedNumberSignals"]
