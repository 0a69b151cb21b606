"""Reliability of classes, with bands of calibrated models."""

from kernelcal.inference.reliable.diagrams import class_reliability, class_reliability_of, reliability, reliability_of
from kernelcal.inference.reliable.result import ClassReliability, Reliability
from kernelcal.inference.reliable.simplex import SimplexCalibration, simplex_calibration, simplex_of

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
