"""Where a model is wrong: regions of predictions, classes, groups, rows."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.explanation.findings import ByGroup, GroupDifference, GroupFinding
    from kernelcal.explanation.group_test import by_group
    from kernelcal.explanation.groups import (
        Group,
        Grouping,
        checked_groups,
        columns_of_text,
        cuts_of,
        number_of_text,
        ranges_in_words,
        refuse_ungrouped,
        values_of_groups,
    )
    from kernelcal.explanation.main import explain, explained
    from kernelcal.explanation.regions import Region
    from kernelcal.explanation.result import Explanation
    from kernelcal.explanation.shares import ClassShare, RowShare
    from kernelcal.explanation.sizes import (
        GAPS,
        SCORES,
        Sizes,
        claims_of,
        gap_variances,
        has_ties,
        hits,
        kind_of,
    )
    from kernelcal.explanation.witness import Witness, furthest_outside

__all__ = [
    "GAPS",
    "SCORES",
    "ByGroup",
    "ClassShare",
    "Explanation",
    "Group",
    "GroupDifference",
    "GroupFinding",
    "Grouping",
    "Region",
    "RowShare",
    "Sizes",
    "Witness",
    "by_group",
    "checked_groups",
    "claims_of",
    "columns_of_text",
    "cuts_of",
    "explain",
    "explained",
    "furthest_outside",
    "gap_variances",
    "has_ties",
    "hits",
    "kind_of",
    "number_of_text",
    "ranges_in_words",
    "refuse_ungrouped",
    "values_of_groups",
]
