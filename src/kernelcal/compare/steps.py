"""Progress over several pieces of work as one bar."""

from __future__ import annotations

from kernelcal.runs import Progress

__all__ = ["Steps"]


class Steps:
    """Pieces of equal length, reported as one: a piece that ends early counts as whole."""

    def __init__(self, progress: Progress | None, pieces: int, length: int) -> None:
        self.progress, self.pieces, self.length, self.done = progress, pieces, length, 0

    def next(self) -> Progress | None:
        """Progress of the next piece."""
        if self.progress is None:
            return None
        start, self.done = self.done * self.length, self.done + 1
        report, total = self.progress, self.pieces * self.length
        report(start, total)
        return lambda done, of: report(start + min(self.length, self.length * done // max(of, 1)), total)

    def finish(self) -> None:
        """Say that all is done."""
        if self.progress is not None:
            self.progress(self.pieces * self.length, self.pieces * self.length)
