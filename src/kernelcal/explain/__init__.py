"""Where a model is wrong: at which predictions, in which classes, groups and rows."""

from kernelcal.explain.explanation import Explanation
from kernelcal.explain.group_test import GroupFinding
from kernelcal.explain.main import explain
from kernelcal.explain.regions import Region
from kernelcal.explain.shares import ClassShare, RowShare
from kernelcal.explain.witness import Witness

__all__ = ["ClassShare", "Explanation", "GroupFinding", "Region", "RowShare", "Witness", "explain"]
