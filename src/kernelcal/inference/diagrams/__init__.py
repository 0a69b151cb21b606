"""Reliability diagrams: of one question, of every class, of three classes at once, with bands of calibrated models."""

from kernelcal.inference.diagrams.curves import class_reliability, class_reliability_of, reliability, reliability_of
from kernelcal.inference.diagrams.result import ClassReliability, Reliability
from kernelcal.inference.diagrams.simplex import SimplexCalibration, simplex_calibration, simplex_of

__all__ = [
    "ClassReliability",
    "Reliability",
    "SimplexCalibration",
    "class_reliability",
    "class_reliability_of",
    "reliability",
    "reliability_of",
    "simplex_calibration",
    "simplex_of",
]
