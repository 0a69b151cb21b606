"""What columns hold where it was not said, by the names that people give them."""

from kernelcal.io.roles.main import resolved
from kernelcal.io.roles.vocabulary import says_right

__all__ = ["resolved", "says_right"]
