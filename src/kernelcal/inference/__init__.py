"""From a statistic to a p-value."""

from kernelcal.inference.calibration import calibration_test
from kernelcal.inference.draws import Draws
from kernelcal.inference.exact import ExactNull, exact_null
from kernelcal.inference.family import DefaultFamily
from kernelcal.inference.result import Member, TestResult

__all__ = ["DefaultFamily", "Draws", "ExactNull", "Member", "TestResult", "calibration_test", "exact_null"]
