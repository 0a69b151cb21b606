"""From a statistic to a p-value."""

from kernelcal.inference.block import Block
from kernelcal.inference.bootstrap import Bootstrap, Wild
from kernelcal.inference.bound import Bound
from kernelcal.inference.calibration import calibration_test
from kernelcal.inference.chi_square import ChiSquareSum
from kernelcal.inference.class_reliability import ClassReliability
from kernelcal.inference.cme import CME
from kernelcal.inference.consistency import Consistency
from kernelcal.inference.drawn import DrawnValues
from kernelcal.inference.draws import Draws
from kernelcal.inference.equivalence import Equivalence, equivalence_test
from kernelcal.inference.exact import Exact, exact_null
from kernelcal.inference.family import DefaultFamily
from kernelcal.inference.fits import Gamma, Pearson, Spectrum
from kernelcal.inference.interval import Interval, confidence_interval
from kernelcal.inference.interval_methods import INTERVAL_METHODS, IntervalMethod, Request, Spread, block_spread
from kernelcal.inference.known_null import KnownNull, known_null
from kernelcal.inference.law import NullLaw, Outcome, Problem, one_member
from kernelcal.inference.laws import NULL_LAWS
from kernelcal.inference.named import STATISTICS, register_statistic
from kernelcal.inference.paired import PairedDifference
from kernelcal.inference.pit_test import UniformPIT, pit_test
from kernelcal.inference.reliability import class_reliability, reliability
from kernelcal.inference.reliability_result import Reliability
from kernelcal.inference.result import Member, TestResult
from kernelcal.inference.saddlepoint import Saddlepoint
from kernelcal.inference.simplex import simplex_calibration
from kernelcal.inference.simplex_result import SimplexCalibration
from kernelcal.inference.swap import Swap

__all__ = [
    "CME",
    "INTERVAL_METHODS",
    "NULL_LAWS",
    "STATISTICS",
    "Block",
    "Bootstrap",
    "Bound",
    "ChiSquareSum",
    "ClassReliability",
    "Consistency",
    "DefaultFamily",
    "DrawnValues",
    "Draws",
    "Equivalence",
    "Exact",
    "Gamma",
    "Interval",
    "IntervalMethod",
    "KnownNull",
    "Member",
    "NullLaw",
    "Outcome",
    "PairedDifference",
    "Pearson",
    "Problem",
    "Reliability",
    "Request",
    "Saddlepoint",
    "SimplexCalibration",
    "Spectrum",
    "Spread",
    "Swap",
    "TestResult",
    "UniformPIT",
    "Wild",
    "block_spread",
    "calibration_test",
    "class_reliability",
    "confidence_interval",
    "equivalence_test",
    "exact_null",
    "known_null",
    "one_member",
    "pit_test",
    "register_statistic",
    "reliability",
    "simplex_calibration",
]
