"""What will be done and why, before it is done."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["StreamPlan", "size_in_words"]

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def size_in_words(size: float) -> str:
    """Return a number of bytes as 4.2 GB."""
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit < 3 else f"{size:.1f} {_UNITS[unit]}"


@dataclass(frozen=True)
class StreamPlan:
    """Plan of a pass over parts.

    Attributes
    ----------
    rows : int
        Rows of all parts.
    of : str
        What is predicted, such as "10 classes".
    engine : str
        What adds the parts up.
    why : str
        Why the rows are read in parts.
    memory : int
        Bytes that a process takes, about.
    seconds : float
        How long it takes, about.

    Examples
    --------
    >>> from kernelcal.stream import StreamPlan
    >>> print(StreamPlan(10_000_000, "10 classes", "one pass, 256 features, 199 draws", "800 MB of files", 2e8, 240.0))
    plan: 10,000,000 rows of 10 classes; one pass, 256 features, 199 draws (800 MB of files); about 200 MB of memory and
    240 seconds
    """

    rows: int
    of: str
    engine: str
    why: str
    memory: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"plan: {self.rows:,} rows of {self.of}; {self.engine} ({self.why}); about {size_in_words(self.memory)} of "
            f"memory and {self.seconds:,.0f} seconds"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)
