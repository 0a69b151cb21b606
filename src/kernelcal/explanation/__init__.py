"""Where a model is wrong: regions of predictions, classes, groups, rows."""

from kernelcal.explanation.claims import claim_gap, claim_gaps, has_ties
from kernelcal.explanation.groups import Group, GroupFinding, above_claims, checked_groups
from kernelcal.explanation.main import explain, explained
from kernelcal.explanation.regions import Region
from kernelcal.explanation.result import Explanation
from kernelcal.explanation.shares import ClassShare, RowShare
from kernelcal.explanation.witness import Witness, furthest_outside

__all__ = [
    "ClassShare",
    "Explanation",
    "Group",
    "GroupFinding",
    "Region",
    "RowShare",
    "Witness",
    "above_claims",
    "checked_groups",
    "claim_gap",
    "claim_gaps",
    "explain",
    "explained",
    "furthest_outside",
    "has_ties",
]
