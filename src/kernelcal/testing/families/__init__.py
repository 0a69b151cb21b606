"""The check of a family of predictions: of classes, and what numbers add."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.testing.families.family import check_family

__all__ = ["check_family"]
