"""Sums over pairs of predictions: the only hot code."""

from kernelcal.pairs.base import Engine, KernelProducts, QuadraticForms, Sums
from kernelcal.pairs.exact import ExactPairs
from kernelcal.pairs.fourier import RandomFourier
from kernelcal.pairs.matrix import PairMatrix
from kernelcal.pairs.named import ENGINES
from kernelcal.pairs.nystrom import Nystrom
from kernelcal.pairs.superdiagonals import BandMatrix, SuperDiagonals

__all__ = [
    "ENGINES",
    "BandMatrix",
    "Engine",
    "ExactPairs",
    "KernelProducts",
    "Nystrom",
    "PairMatrix",
    "QuadraticForms",
    "RandomFourier",
    "Sums",
    "SuperDiagonals",
]
