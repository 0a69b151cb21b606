"""One pass over any number of rows, in parts that can be added up."""

from kernelcal.sketch.findings import SketchResult
from kernelcal.sketch.main import Sketch

__all__ = ["Sketch", "SketchResult"]
