"""Numbers that hold everywhere unless a caller says otherwise."""

from __future__ import annotations

__all__ = ["CONFIDENCE_LEVEL", "DRAWS", "DRAWS_OF_A_PASS", "SIGNIFICANCE"]


DRAWS = 999
DRAWS_OF_A_PASS = 199  # of rows that are read once: every draw costs memory and time for as long as the pass lasts
CONFIDENCE_LEVEL = 0.95
SIGNIFICANCE = 0.05  # at which verdicts reject
