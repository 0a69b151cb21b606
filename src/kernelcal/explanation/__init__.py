"""Where a model is wrong: regions of predictions, classes, groups, rows."""

from kernelcal.explanation.findings import ByGroup, GroupDifference, GroupFinding
from kernelcal.explanation.group_test import by_group
from kernelcal.explanation.groups import Group, Grouping, checked_groups, columns_of_text, refuse_ungrouped
from kernelcal.explanation.main import explain, explained
from kernelcal.explanation.regions import Region
from kernelcal.explanation.result import Explanation
from kernelcal.explanation.shares import ClassShare, RowShare
from kernelcal.explanation.sizes import has_ties
from kernelcal.explanation.witness import Witness, furthest_outside

__all__ = [
    "ByGroup",
    "ClassShare",
    "Explanation",
    "Group",
    "GroupDifference",
    "GroupFinding",
    "Grouping",
    "Region",
    "RowShare",
    "Witness",
    "by_group",
    "checked_groups",
    "columns_of_text",
    "explain",
    "explained",
    "furthest_outside",
    "has_ties",
    "refuse_ungrouped",
]
