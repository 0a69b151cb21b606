"""Sums over pairs of predictions: the only hot code."""

from kernelcal.pairs.base import Engine, QuadraticForms, Sums
from kernelcal.pairs.features import Nystrom, RandomFourier
from kernelcal.pairs.tiles import ExactPairs

__all__ = ["Engine", "ExactPairs", "Nystrom", "QuadraticForms", "RandomFourier", "Sums"]
