"""What columns hold where it was not said, by the names that people give them."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.io.roles.doubts import doubts_of, other_scale, other_units
    from kernelcal.io.roles.joined import Joined, WithOutcomes, with_outcomes
    from kernelcal.io.roles.main import columns_of_models, resolved
    from kernelcal.io.roles.vocabulary import is_target, percent_is_said, plain, says_right

__all__ = [
    "Joined",
    "WithOutcomes",
    "columns_of_models",
    "doubts_of",
    "is_target",
    "other_scale",
    "other_units",
    "percent_is_said",
    "plain",
    "resolved",
    "says_right",
    "with_outcomes",
]
