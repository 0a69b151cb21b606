"""Exact sums over all pairs of points on a line, in n log n."""

from kernelcal.pairs.line.scan import ScanForms

__all__ = ["ScanForms"]
