"""Colours that the colour-blind can tell apart (Okabe and Ito 2008), and greys that stay apart in print.

Nothing is told by colour alone: what differs in colour differs in shape or in lightness too.
"""

__all__ = ["ACCENT", "BAND", "CLASSES", "EDGE", "INK", "INNER_BAND", "MARKERS", "OBSERVED"]

OBSERVED = "#0072B2"  # blue: what happened
ACCENT = "#D55E00"  # vermilion: what lies outside a band
INK = "#333333"
EDGE = "#8a8a8a"
BAND = "#e3e3e3"  # where calibrated models lie, all at once
INNER_BAND = "#c4c4c4"  # one at a time
CLASSES = ("#0072B2", "#E69F00", "#009E73")
MARKERS = ("o", "s", "^")
